"""Which layer groups are trainable when, learning rates, penalties, and what stays frozen."""
