"""Run folders, checkpoints, predictions, and signal handling. Imports no TensorFlow."""
