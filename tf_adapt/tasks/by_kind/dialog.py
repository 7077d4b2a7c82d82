"""The setting of the published dialogue recipe. Imports no TensorFlow.

Source: Wolf et al. 2019, "TransferTransfo"; its implementation, transfer-learning-conv-ai.
"""

# `<bos>`, `<eos>`, and what begins a turn of the other and a turn of the one with the persona.
NEW_TOKENS = 4
SEGMENTS = 2
# Exchanges before the other's last turn.
EXCHANGES = 2
# Wrong replies beside the right one in training, and all replies that a test chooses among.
DISTRACTORS = 3
CANDIDATES = 20
# The weights of both losses.
LANGUAGE_MODEL_WEIGHT, CHOICE_WEIGHT = 2.0, 1.0
MAX_NEW_TOKENS = 40
