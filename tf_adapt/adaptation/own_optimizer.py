"""One weight with the optimizer that is its own."""

import keras

from tf_adapt.adaptation.slots import SavedSlots


class OwnOptimizer:
    """One weight, its group and its optimizer, in a class that Keras does not track.

    Args:
        optimizer: not yet built.

    Attributes:
        slots: variables of its optimizer.
        sums: the sum of its gradients since the last update, and their number; empty without
            accumulation.
        number: its index in the file that the optimizer was loaded from; None: not in a file.
    """

    def __init__(
        self,
        group: str,
        variable: keras.Variable,
        optimizer: keras.optimizers.Optimizer,
        sums: list[keras.Variable],
        number: int | None,
    ):
        optimizer.build([variable])
        # Keras leaves Nadam's product of momenta out of `variables`.
        attributes = [v for v in vars(optimizer).values() if isinstance(v, keras.Variable)]
        slots = {id(slot): slot for slot in (*optimizer.variables, *attributes)}
        self.group, self.variable, self.optimizer = group, variable, optimizer
        self.slots, self.sums, self.number = list(slots.values()), sums, number

    @property
    def own(self) -> list[keras.Variable]:
        """All variables that are the weight's own."""
        return [*self.sums, *self.slots]

    def take_saved(self, saved: SavedSlots) -> None:
        """Assigns the values that a loaded file has of these variables, once."""
        values = saved.values.pop(self.number, None)
        if values is not None:
            for variable, value in zip(self.own, values, strict=True):
                variable.assign(value)


def path_of(variable) -> str:
    """The path of a weight."""
    return getattr(variable, "path", variable.name)  # a tf.Variable has only a name


def number_of(value) -> float:
    """A variable or tensor with one value as a number."""
    return float(keras.ops.convert_to_numpy(value))  # works for mirrored variables too
