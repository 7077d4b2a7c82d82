"""Where features are cached: in memory, on disk, or nowhere."""

from dataclasses import dataclass
from typing import Literal

Home = Literal["memory", "disk"]
# By default; from disk an epoch takes no longer than from memory (docs/speed.md).
LIMIT_MB, DISK_LIMIT_MB = 500, 20_000


@dataclass(frozen=True)
class Budget:
    """Most megabytes of each split and text column, in memory and on disk.

    Attributes:
        has_folder: whether there is a folder to write to; several processes that train one model
            have none but that of a cache.
    """

    limit_mb: float
    disk_limit_mb: float
    has_folder: bool = True

    @property
    def most(self) -> float:
        """Megabytes that can be kept anywhere."""
        return max(self.limit_mb, self.disk_limit_mb if self.has_folder else 0)

    def home(self, needed: float, cached: bool) -> Home | None:
        """Where so many megabytes are kept; None: nowhere, the encoder reads the texts again.

        Args:
            cached: whether a cache on disk is wanted; else memory comes first.
        """
        fits: dict[Home, bool] = {
            "memory": needed <= self.limit_mb,
            "disk": self.has_folder and needed <= self.disk_limit_mb,
        }
        order: tuple[Home, ...] = ("disk", "memory") if cached else ("memory", "disk")
        return next((home for home in order if fits[home]), None)

    def too_large(self, what: str, needed: float) -> str:
        """The message for features that are too large to be cached."""
        disk = f" and features.disk_limit_mb: {self.disk_limit_mb} (disk)"
        wanted = [f"features.disk_limit_mb: {int(needed) + 1}"]
        if not self.has_folder:
            disk = ", and several processes (training.strategy) keep none on disk without a cache"
            wanted = ["features.cache", *(wanted if needed > self.disk_limit_mb else [])]
        return (
            f"{what} need {needed:.0f} MB, over features.limit_mb: {self.limit_mb} (memory){disk}, "
            f"so that the encoder reads the texts in every epoch; set {' and '.join(wanted)} to "
            "keep them"
        )
