"""The graphs of several models as files of OpenVINO's format with one file of weights."""

import hashlib
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from hub_modules.engines.compiled_graph import save
from tf_adapt.light.layout import GRAPHS, WEIGHTS

_ALIGNMENT = 64


def write_graphs(models: Iterable[Any], folder: Path) -> list[str]:
    """Writes OpenVINO's models below a folder, a weight that several have once; their paths.

    In the format a constant is a place in the file of weights: `offset` and `size` in bytes.
    """
    (folder / GRAPHS).mkdir()
    places: dict[bytes, int] = {}
    paths = []
    with open(folder / WEIGHTS, "wb") as weights:
        for number, model in enumerate(models):
            paths.append(f"{GRAPHS}/{number}.xml")
            _write(model, folder / paths[-1], weights, places)
    return paths


def _write(model: Any, path: Path, weights: Any, places: dict[bytes, int]) -> None:
    with tempfile.TemporaryDirectory(prefix="tf_adapt_graph_") as aside:
        save(model, Path(aside) / "graph.xml")
        tree = ElementTree.parse(Path(aside) / "graph.xml")
        content = (Path(aside) / "graph.bin").read_bytes()
    # The graphs in loops have constants too.
    for constant in tree.iter("data"):
        if {"offset", "size"} <= set(constant.keys()):
            start, size = int(constant.get("offset")), int(constant.get("size"))
            array = content[start : start + size]
            constant.set("offset", str(_place(array, weights, places)))
    tree.write(path, "utf-8", xml_declaration=True)


def _place(array: bytes, weights: Any, places: dict[bytes, int]) -> int:
    """Where these bytes are in the file; they are added where they are new."""
    digest = hashlib.sha256(array).digest()
    if digest not in places:
        weights.write(b"\0" * (-weights.tell() % _ALIGNMENT))
        places[digest] = weights.tell()
        weights.write(array)
    return places[digest]
