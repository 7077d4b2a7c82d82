"""A report on the data of a comparison, tokenized by each encoder. Trains nothing."""

from dataclasses import replace
from typing import Any

from tf_adapt.comparison.inputs import comparison_splits
from tf_adapt.comparison.plan.cells import Cell, Comparison, short_name
from tf_adapt.comparison.plan.scored_split import settled
from tf_adapt.data.check import check_data, token_lengths
from tf_adapt.data.packing.prepare import checked_limit
from tf_adapt.training.resolving.data_report import read_by


def inspect_comparison_data(comparison: Comparison) -> dict[str, Any]:
    """The report of `tf_adapt.data.check`; under `encoders` the token lengths for each encoder.

    Raises:
        ConfigError, DataError, ArtifactError: as
            `tf_adapt.training.resolving.data_report.inspect_data`.
    """
    comparison = settled(comparison)
    splits = comparison_splits(comparison)
    if comparison.folds:  # each example trains, chooses and is scored in turn
        described = {"train": splits.descriptions["test"]}
        splits = replace(splits, examples={"train": splits.pool}, descriptions=described)
    report = check_data(splits) | {"encoders": {}}
    for name, config in {reading(cell): cell.config for cell in comparison.cells}.items():
        encoder, prepared = read_by(config.encoder, config.training, splits)
        report["encoders"][name] = {
            "limit": checked_limit(config.training.max_length, encoder),
            **{split: token_lengths(part) for split, part in prepared.items()},
        }
    return report


def reading(cell: Cell) -> str:
    """A name for a cell's tokenization: its encoder, and the settings that affect lengths."""
    encoder, limit = cell.config.encoder, cell.config.training.max_length
    parts = [short_name(encoder.handle), encoder.pairs, encoder.execution]
    parts += ["long"] if encoder.long else []
    parts += encoder.prompts or []
    parts.append(None if limit is None else f"max_length_{limit}")
    return "-".join(part for part in parts if part)
