"""Layers and metrics whose config is their arguments."""

import inspect


class ArgumentsInConfig:
    """Of a class of Keras: its config holds each argument, an attribute of the same name.

    Arguments that a constructor passes on in `**kwargs` to a class of ours are among them, but
    those of `fixed_arguments`, which have one value in a subclass.
    """

    fixed_arguments = ()

    def get_config(self) -> dict:
        return super().get_config() | {name: getattr(self, name) for name in arguments(type(self))}


def arguments(made: type) -> dict[str, inspect.Parameter]:
    """The arguments of a class of ours, without those of Keras' own classes."""
    found: dict[str, inspect.Parameter] = {}
    for base in made.__mro__[: made.__mro__.index(ArgumentsInConfig)]:
        parameters = inspect.signature(base.__init__).parameters if "__init__" in vars(base) else {}
        found = dict(parameters) | found
    return {n: found[n] for n in found if n not in ("self", "kwargs", *made.fixed_arguments)}
