"""What is too large for memory, in files: examples, tokens. Results have the same bits."""
