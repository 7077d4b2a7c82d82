"""Data: bytes to records (formats), labels, named datasets, and batches for `model.fit`."""
