"""A hash of examples, by which it is known whether data have changed."""

import hashlib
import json
from collections.abc import Iterable

from tf_adapt.data.formats import Record, TaggedSentence


def fingerprint(examples: Iterable[Record | TaggedSentence]) -> str:
    """SHA-256 of texts, labels, groups and documents in order, without file names."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update(json.dumps(example.content, ensure_ascii=True).encode("ascii") + b"\n")
    return digest.hexdigest()
