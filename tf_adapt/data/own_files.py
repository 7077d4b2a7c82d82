"""Defaults for a user's own files: their columns, a dev split."""

from collections.abc import Callable, Sequence
from typing import Any

from tf_adapt.data.datasets import DEV_PERCENT, DEV_SEED
from tf_adapt.data.kinds import KINDS
from tf_adapt.data.splits.cut import FEWEST, SplitError, cut_off
from tf_adapt.data.splits.strata import Strata
from tf_adapt.data.stored.sequences import at
from tf_adapt.errors import DataError
from tf_adapt.printing.words import counted

# Where a part of train is scored; and with so many, the standard error of an accuracy is at most
# 2.5 points.
SCORED_SEED, ENOUGH_TO_SCORE = 17, 400


def recognised(data: Any) -> Any:
    """A config's `data` section with the columns inferred from its train file.

    CoNLL files without `columns` have the words in their first column and the tags in the last.
    Other sections, and given values, are not changed.

    Raises:
        DataError: the file cannot be read.
    """
    return KINDS[data.kind].recognised(data) if hasattr(data, "format") else data


def labelled_only(data: Any, examples: Sequence, description: str) -> tuple[Sequence, str]:
    """With `data.skip_unlabelled` the examples with a label; how many had none is described.

    Raises:
        DataError: none has one.
    """
    if not getattr(data, "skip_unlabelled", False):
        return examples, description
    kept = at(examples, (n for n, one in enumerate(examples) if one.target is not None))
    if not kept:
        raise DataError(f"{description}: expected labelled examples, got {len(examples)} without")
    skipped = len(examples) - len(kept)
    note = f": {counted(skipped, 'example')} without a label left out" if skipped else ""
    return kept, description + note


def with_dev(
    examples: dict[str, list],
    descriptions: dict[str, str],
    where: str,
    reason: str = "there is no dev file",
    scored: bool = False,
    strata: Callable[[list], Strata | None] = lambda examples: None,
) -> None:
    """Cuts a part off train to serve as dev; the description of dev ends with the reason.

    Args:
        scored: whether scores count: the part is then another one, and larger: half of train, but
            no more than `ENOUGH_TO_SCORE` or a tenth.
        strata: examples → as in `cut_off`.

    Raises:
        SplitError: train has too few examples or too few groups of them.
    """
    train = examples["train"]
    if len(train) < FEWEST:
        raise SplitError(
            f"{where}: expected at least {FEWEST} examples, of which a part plays dev, got "
            f"{len(train)}; add examples, or give others as data.dev"
        )
    count = round(len(train) * DEV_PERCENT / 100)
    seed = SCORED_SEED if scored else DEV_SEED
    count = max(count, min(len(train) // 2, ENOUGH_TO_SCORE)) if scored else count
    of_each = strata(train)
    examples["dev"], examples["train"] = cut_off(train, count, seed, where, of_each)
    part = f"{len(examples['dev'])} of its {len(train)} examples"
    evenly = "about its share of each label, " if of_each and any(of_each) else ""
    descriptions["dev"] = (
        f"dev, a part of {descriptions['train']}: {part}, picked by a hash of the text (seed "
        f"{seed}), {evenly}{train[0].kept_together} together; {reason}"
    )
    descriptions["train"] += f": without {part}, which play dev"
