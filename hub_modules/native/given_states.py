"""Hidden states of a lower layer as an encoder's input, in place of computing them."""


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
