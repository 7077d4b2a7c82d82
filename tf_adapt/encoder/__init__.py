"""The encoder as one Keras layer, and the cached hidden states of a frozen one."""
