"""What the sections of a config share: their class, bounds, and a field for whole numbers."""

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

# Generous bounds, against typing errors that would exhaust the memory.
MOST_EPOCHS = MOST_EXAMPLES = 1_000_000
VERY_MANY = 1_000_000_000
WIDEST = 10_000
MOST_FOLDS = 100


def whole(lowest: int, highest: int, more: str = "", **settings) -> Any:
    """A field for a whole number from `lowest` to `highest`; `more` ends its description."""
    words = f"a whole number from {lowest} to {highest}{more}"
    return Field(ge=lowest, le=highest, description=words, **settings)


class Section(BaseModel):
    """A section of a config: typed keys, no others, no conversions.

    Attributes:
        PATHS: the keys whose values are paths.
        NAMED_PATHS: the keys whose values are paths by name.
    """

    PATHS: ClassVar[tuple[str, ...]] = ()
    NAMED_PATHS: ClassVar[tuple[str, ...]] = ()
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)
