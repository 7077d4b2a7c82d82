"""Which kinds of task have contrastive tuning. Imports no TensorFlow."""

from tf_adapt.heads.kinds import KINDS


def refuse_kind(kind: str) -> str:
    """The message for a kind of task whose row has no `contrastive` head."""
    fitting = " and ".join(kind for kind, row in KINDS.items() if row.contrastive is not None)
    return f"contrastive is for {fitting}, got {kind}; take fine_tuning, or feature_extraction"
