"""What each adaptation costs beside tuning everything, over several comparisons."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from benchmarks.results.blocks import NOTHING, Contents, as_table
from benchmarks.results.published import beginning
from tf_adapt.analysis.pooling.effects import arm_of, order
from tf_adapt.analysis.pooling.layouts import named_arm
from tf_adapt.paper import TUNED
from tf_adapt.printing import words
from tf_adapt.report.content import Content
from tf_adapt.report.scored_cells import ScoredCell


def costs_block(contents: Contents, prefix: str) -> str:
    """Of each encoder and adaptation the weights that it trains, and the time of a training, of
    that of 🔥 in the same comparison: the geometric mean over data sets."""
    ratios: dict[tuple[str, str], list[float]] = defaultdict(list)
    weights: dict[tuple[str, str], list[int]] = defaultdict(list)
    for content in beginning(contents, prefix).values():
        for encoder, arm, cell, ratio in _beside_tuned(content):
            ratios[encoder, arm].append(ratio)
            weights[encoder, arm].append(cell.costs.trainable_parameters)
    if not ratios:
        return NOTHING
    rows = [
        [
            encoder,
            named_arm(arm),
            words.parameters(int(np.median(weights[encoder, arm]))),
            f"{np.exp(np.mean(np.log(ratios[encoder, arm]))):.2f}",
        ]
        for encoder, arm in sorted(ratios, key=lambda one: (one[0], order(one[1])))
    ]
    return as_table(["encoder", "adaptation", "weights trained", "time, of 🔥"], rows)


def _beside_tuned(content: Content) -> Iterator[tuple[str, str, ScoredCell, float]]:
    """Encoder, adaptation and cell of each that has an encoder's 🔥 beside it, with the ratio."""
    timed = [cell for cell in content.cells if cell.costs.training_seconds]
    arms = {cell.id: arm_of(cell, content.kind) for cell in timed}
    tuned = {cell.encoder: cell for cell in timed if arms[cell.id] == TUNED}
    for cell in timed:
        if cell.encoder in tuned:
            whole = tuned[cell.encoder].costs.training_seconds
            yield cell.encoder, arms[cell.id], cell, cell.costs.training_seconds / whole
