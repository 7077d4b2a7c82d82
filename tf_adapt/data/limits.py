"""Bounds that configs and data share."""

# Largest training.max_length: tokens (words or word pieces) of one example.
MOST_TOKENS = 1_000_000
# Megabytes of examples, and of tokens, of each split in memory; more are on disk.
MEMORY_MB = 1024
# Of a file that is read once, from the first row to the last, to predict them.
ROWS_MB = 64
# Characters of one text; a tokenizer takes up to 90 bytes for each.
LONGEST_TEXT = 10_000_000
