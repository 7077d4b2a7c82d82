"""What frozen states told of the labels before training."""
