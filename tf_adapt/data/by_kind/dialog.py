"""Dialogues: the replies among which the right one is to be chosen. Imports no TensorFlow."""

from collections.abc import Sequence

import numpy as np

from tf_adapt.data.formats.dialogues import Exchange
from tf_adapt.errors import DataError
from tf_adapt.tasks.by_kind.dialog import CANDIDATES, DISTRACTORS

# Of the wrong replies that are drawn.
SEED = 47


def wrong_replies(records: Sequence[Exchange]) -> list[tuple[str, ...]]:
    """Of each exchange the right reply, and `CANDIDATES − 1` wrong ones: those of the data, else
    replies of other dialogues, drawn with a fixed seed; none where there is no reply.

    With fewer other replies there are fewer wrong ones.

    Raises:
        DataError: there are fewer than `DISTRACTORS`.
    """
    pool = [record for record in records if record.reply is not None]
    documents = np.array([record.document for record in pool])
    found: list[tuple[str, ...]] = []
    for number, record in enumerate(records):
        if record.reply is None:
            found.append(())
            continue
        wrong = [text for text in record.others if text != record.reply]
        random = np.random.default_rng([SEED, number])
        others = np.flatnonzero(documents != record.document)
        for place in random.permutation(others)[: 4 * CANDIDATES]:
            text = pool[place].reply
            if text != record.reply and text not in wrong:
                wrong.append(text)
        found.append((record.reply, *wrong[: CANDIDATES - 1]))
    fewest = min((len(replies) for replies in found if replies), default=0)
    if 0 < fewest <= DISTRACTORS:
        raise DataError(
            f"{records[0].where}: expected at least {DISTRACTORS} replies of other dialogues "
            f"beside each, among which the right one is chosen, got {fewest - 1}; add dialogues"
        )
    return [replies[:fewest] for replies in found]
