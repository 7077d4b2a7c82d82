"""Records from TensorFlow Datasets."""
