"""What is done with a family of encoders whose modules are ours, one file a family."""
