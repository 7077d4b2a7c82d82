"""What cannot be compared within minutes, by name. Imports no TensorFlow."""

import math
from collections.abc import Mapping
from typing import Any

from tf_adapt.comparison.kinds import KINDS
from tf_adapt.comparison.plan.cells import Comparison
from tf_adapt.comparison.plan.default_heads import kind_of_data
from tf_adapt.errors import ConfigError


def check_minutes(name: str, minutes: Any) -> None:
    """Checks a number of minutes.

    Raises:
        ConfigError: it is none above 0.
    """
    is_number = isinstance(minutes, (int, float)) and not isinstance(minutes, bool)
    if not is_number or not math.isfinite(minutes) or minutes <= 0:
        raise ConfigError(f"{name}: expected a number above 0, got {minutes!r}")


def check_budget(
    name: str,
    comparison: Comparison,
    slurm: Mapping[str, Any] | None,
    cluster: str | None = None,
) -> None:
    """Checks that a comparison can be made within minutes.

    Args:
        name: of the option, for messages.

    Raises:
        ConfigError: it cannot.
    """
    cells = comparison.cells
    no_parts = KINDS[kind_of_data(comparison.data.model_dump())].no_parts
    refused = {
        no_parts: bool(no_parts),
        "compare.search, whose own key minutes bounds its trials": comparison.search is not None,
        "several compare.train_examples: name one": len(comparison.sizes) > 1,
        "start.config, which is trained first: train it, and give start.run": comparison.starts,
        "a teacher that is a signal: give teacher.run": any(cell.teacher for cell in cells),
        "ensembles in compare.signals, which are trained as a whole": any(
            cell.together for cell in cells
        ),
        "--slurm, whose queue has a clock of its own": slurm is not None,
        "--cluster, whose nodes come and go": cluster is not None,
    }
    for what, is_there in refused.items():
        if is_there:
            raise ConfigError(f"{name}: expected a comparison without {what}; or leave {name} out")
