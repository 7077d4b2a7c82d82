"""The linear layers of a transformer layer that LoRA can be added to. Imports no TensorFlow."""

# In the order of computation.
TARGETS = ("query", "key", "value", "attention_output", "intermediate", "output")
