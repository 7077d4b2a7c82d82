"""The arguments of `Task` that only some kinds of task have. Imports no TensorFlow."""
