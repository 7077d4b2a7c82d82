"""Task-specific models on top of an encoder, one head a file."""
