"""What kinds of task ask of a head, beyond what the table says. Imports no TensorFlow."""
