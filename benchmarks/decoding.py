"""Continuations of a causal language model beside transformers."""

from collections.abc import Iterator

import numpy as np

from benchmarks.settings import Settings
from benchmarks.side_by_side.measurement import Contestant, Measurement

ABOUT = (
    "lm_small continues rows of 40 tokens by 60, greedy and by four beams, with cached keys and "
    "values; transformers' `generate` on the same weights. Compared are all tokens."
)
PROMPT, NEW = 40, 60


def measurements(settings: Settings) -> Iterator[Measurement]:
    """One row and sixteen, greedy and by beams."""
    huggingface = settings.made("lm_small", "huggingface_folder.py", module="lm_small")
    for rows in (1, 16):
        ids = np.random.default_rng(rows).integers(1, 8000, (rows, PROMPT)).tolist()
        for beams in (1, 4):
            yield Measurement(
                f"{'one row' if rows == 1 else f'{rows} rows'}, "
                f"{'greedy' if beams == 1 else f'{beams} beams'}",
                [
                    Contestant("ours", "decode_ours.py"),
                    Contestant("transformers", "decode_transformers.py", "pytorch"),
                ],
                job={
                    "module": "lm_small",
                    "huggingface": huggingface,
                    "rows": settings.file(f"rows_{rows}", ids),
                    "new": settings.of(NEW, 4),
                    "beams": beams,
                },
                rounds=settings.rounds(3),
                calls=settings.of(5, 1),
                compared="all tokens",
                unit="tokens",
                at_least={"transformers": 1.0},
            )
