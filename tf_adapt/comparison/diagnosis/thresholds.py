"""From which values on a symptom is one, and a cause is named: committed before they were proven.

Chosen on SST-2 and TREC; `python -m benchmarks.diagnosis` tries them on other data: the outcome is
in docs/diagnosis.json.
"""

# A cause is named where its counter-run gains at least so many points of the metric on dev, and
# significantly.
GAIN = 3
# One-sided level of all counter-runs of a run together.
LEVEL = 0.025
# A learning rate this many times above or below the default ones is suspected.
FAR_FROM_DEFAULT = 3.0
# The training loss has hardly fallen, as a share of that of the first epoch.
LITTLE_FALL = 0.1
# It has risen, by the same measure.
RISE = 0.02
# The encoder's share of the gradient's norm.
VANISHED = 0.05
# It does not fit its training data.
UNFIT_LOSS = 0.5
FEW_STEPS = 100
# Relative distance of the encoder's weights from the pretrained ones.
FAR_FROM_START = 0.05
# Cross-validated answers agree with the labels of dev more often than with those of train.
LABEL_GAP, LABEL_GAP_Z = 0.1, 2.5
# Without the suspicious labels, though fewer, the score is lower by so many points at most.
NOTHING_LOST = -2
# Lower end of the interval of the area under the ROC curve of train against test.
OTHER_DOMAIN = 0.75
