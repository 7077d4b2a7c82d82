"""Hidden states of a lower layer as an encoder's input, in place of computing them, and a
perturbation that is added to the lowest one."""

from keras import ops

# The key of a perturbation of the lowest hidden states among an encoder's inputs.
PERTURBATION = "perturbation"


def states_key(layer: str) -> str:
    """The key of the hidden states of a layer group among an encoder's inputs."""
    return f"states_of_{layer}"


def given_states(inputs: dict, layers: list[str]) -> tuple:
    """The number of the layer whose hidden states are in the inputs, and these; else `(0, None)`.

    Args:
        inputs: of an encoder.
        layers: names of the layer groups that return hidden states, bottom to top.
    """
    for number, name in enumerate(layers):
        if states_key(name) in inputs:
            return number, inputs[states_key(name)]
    return 0, None


def perturbed(inputs: dict, states, frozen: bool) -> tuple:
    """The lowest hidden states plus the perturbation in the inputs, if there is one, and whether no
    gradient is needed of them: one may be asked for the perturbation's.

    Shapes: states and perturbation `[batch, time, width]`.

    Args:
        frozen: the same of the states alone.
    """
    if PERTURBATION not in inputs:
        return states, frozen
    return states + ops.cast(inputs[PERTURBATION], states.dtype), False
