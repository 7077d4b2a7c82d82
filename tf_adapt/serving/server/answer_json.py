"""A signature's outputs → the JSON of an answer, in TensorFlow Serving's formats."""

from typing import Any

from tf_adapt.serving.kinds import KINDS
from tf_adapt.serving.server.limits import RefusedError

# Name of an output → one value a row.
Outputs = dict[str, list]


def predictions(outputs: Outputs, by_row: bool) -> dict[str, Any]:
    """The answer of `:predict`; a single output goes without its name."""
    single = next(iter(outputs.values())) if len(outputs) == 1 else None
    if not by_row:
        return {"outputs": outputs if single is None else single}
    if single is not None:
        return {"predictions": single}
    rows = zip(*outputs.values(), strict=True)
    return {"predictions": [dict(zip(outputs, row, strict=True)) for row in rows]}


def check_method(method: str, kind: str) -> None:
    """Checks that a kind of task has answers for `:classify` or `:regress`.

    Raises:
        RefusedError: it has not.
    """
    if method not in ("predict", *KINDS[kind].methods):
        kinds = [name for name, row in KINDS.items() if method in row.methods]
        raise RefusedError(400, f":{method}: expected one of {', '.join(kinds)}, got {kind}")


def classifications(labels: tuple[str, ...], outputs: Outputs) -> dict[str, Any]:
    """The answer of `:classify`: for each row every label with its probability."""
    rows = [[list(pair) for pair in zip(labels, row, strict=True)] for row in outputs["scores"]]
    return {"results": rows}


def regressions(outputs: Outputs) -> dict[str, Any]:
    """The answer of `:regress`: a number for each row."""
    return {"results": outputs["score"]}
