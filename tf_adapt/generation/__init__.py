"""Text from a language model: greedy, by sampling, by beam search, with cached keys and values."""
