"""Where an encoder's outputs are kept: in memory, on disk, or nowhere."""

from dataclasses import dataclass
from typing import Literal

Home = Literal["memory", "disk"]


@dataclass(frozen=True)
class Budget:
    """Most megabytes of each split and text column, in memory and on disk."""

    limit_mb: float
    disk_limit_mb: float

    @property
    def most(self) -> float:
        """Megabytes that can be kept anywhere."""
        return max(self.limit_mb, self.disk_limit_mb)

    def home(self, needed: float, cached: bool, may_write: bool = True) -> Home | None:
        """Where so many megabytes are kept; None: nowhere, the encoder reads the texts again.

        Args:
            cached: whether a cache on disk is wanted; else memory comes first.
            may_write: whether there is a folder to write to.
        """
        fits: dict[Home, bool] = {
            "memory": needed <= self.limit_mb,
            "disk": may_write and needed <= self.disk_limit_mb,
        }
        order: tuple[Home, ...] = ("disk", "memory") if cached else ("memory", "disk")
        return next((home for home in order if fits[home]), None)

    def too_large(self, what: str, needed: float) -> str:
        """The sentence for what is kept nowhere."""
        return (
            f"{what} need {needed:.0f} MB, over features.limit_mb: {self.limit_mb} (memory) and "
            f"features.disk_limit_mb: {self.disk_limit_mb} (disk), so that the encoder reads the "
            f"texts in every epoch; set features.disk_limit_mb: {int(needed) + 1} to keep them"
        )
