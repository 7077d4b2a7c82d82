"""States of a layer that an encoder is given, in place of computing them and what is below."""


def states_key(layer: str) -> str:
    """The key of an encoder's inputs under which it takes the states of a layer group."""
    return f"states_of_{layer}"


def given_states(inputs: dict, layers: list[str]) -> tuple:
    """The number of the layer whose states are in the inputs, and they; else `(0, None)`.

    Args:
        inputs: of an encoder.
        layers: names of the layer groups that states come out of, bottom to top.
    """
    for number, name in enumerate(layers):
        if states_key(name) in inputs:
            return number, inputs[states_key(name)]
    return 0, None
