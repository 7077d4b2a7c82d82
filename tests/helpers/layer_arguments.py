"""The arguments of a layer, from the constructors of its classes."""

import inspect


def arguments_of(layer: type) -> dict[str, inspect.Parameter]:
    """The arguments of a layer, and those that it passes on to a layer of ours."""
    arguments = {}
    for base in layer.__mro__:
        ours = base.__module__.startswith(("hub_modules.", "tf_adapt."))
        if ours and "__init__" in vars(base):
            arguments = dict(inspect.signature(base.__init__).parameters) | arguments
    return {n: p for n, p in arguments.items() if n not in ("self", "args", "kwargs")}
