"""What a column of a table says of all simulated comparisons of a row."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Per cent: what a verdict may decide falsely, of all that is asked of one comparison.
GOAL = 6.0
QUANTILES = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class Share:
    """Per cent of the comparisons, and its standard error.

    Attributes:
        most: per cent; a share above it is printed bold. None: any is fine.
    """

    most: float | None = None

    def summary(self, values: Sequence[bool]) -> dict[str, float]:
        rate = float(np.mean(values))
        error = np.sqrt(rate * (1 - rate) / len(values))
        return {"value": 100 * rate, "error": 100 * float(error)}

    def text(self, found: dict[str, float]) -> str:
        said = f"{found['value']:.1f} ± {found['error']:.1f}"
        return f"**{said}**" if self.is_above(found) else said

    def is_above(self, found: dict[str, float]) -> bool:
        return self.most is not None and found["value"] > self.most


@dataclass(frozen=True)
class Mean:
    """The mean over the comparisons, and its standard error."""

    def summary(self, values: Sequence[float]) -> dict[str, float]:
        error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
        return {"value": float(np.mean(values)), "error": float(error)}

    def text(self, found: dict[str, float]) -> str:
        return f"{found['value']:.2f} ± {found['error']:.2f}"


@dataclass(frozen=True)
class Quantiles:
    """Median (10 % to 90 %) of numbers of seeds; infinite where more than 100 are needed."""

    def summary(self, values: Sequence[float]) -> dict[str, float]:
        found = np.quantile(values, QUANTILES, method="inverted_cdf")
        return dict(zip(("low", "value", "high"), map(float, found), strict=True))

    def text(self, found: dict[str, float]) -> str:
        low, median, high = (
            f"{found[key]:.0f}" if np.isfinite(found[key]) else "> 100"
            for key in ("low", "value", "high")
        )
        return f"{median} ({low} to {high})"


Column = Share | Mean | Quantiles
