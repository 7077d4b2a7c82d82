"""How often each label occurs among targets. Imports no TensorFlow."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the help of the command line waits for these imports
    import numpy as np


def of_classes(targets: "np.ndarray", labels: int) -> "np.ndarray":
    """The number of targets with each label.

    Shapes: class ids of any shape, −1 at padding → `[labels] int`.
    """
    import numpy as np

    ids = np.reshape(targets, -1)
    return np.bincount(ids[ids >= 0].astype("int64"), minlength=labels)


def of_sets(targets: "np.ndarray", labels: int) -> "np.ndarray":
    """The number of examples without each label, and with it.

    Shapes: `[examples, labels]` 0 or 1 → `[labels, 2] int`.
    """
    import numpy as np

    having = np.reshape(targets, (-1, labels)).sum(axis=0).astype("int64")
    return np.stack([len(targets) - having, having], axis=1)
