"""Exports for the tests of the server: two of one task, and one of several; and in the light format
one of each."""

from pathlib import Path

import pytest
from openvino_engine import HAS_OPENVINO

import tf_adapt as ta
from tf_adapt.runs.export_files import DEFAULT
from tf_adapt.serving.exports.shared_export import ServedTask, export_shared
from tf_adapt.serving.light_exports.export import export_light

TASKS = {
    "films": (ta.Task("classification", labels=["bad", "<i>good</i>"]), "linear"),
    "topics": (ta.Task("multilabel_classification", labels=["a", "b", "c"]), "linear"),
    "alike": (ta.Task("pair_regression", label_range=(0, 5)), "linear"),
    "names": (ta.Task("tagging", labels=["O", "B-PER", "I-PER"]), "linear_tagger"),
    "found": (ta.Task("span_extraction"), "span_extractor"),
}


@pytest.fixture(scope="package")
def exports(tiny_bert, tmp_path_factory) -> dict[str, Path]:
    """The folder above the versions of each model; `all` has a signature for each task but one.

    `light` is `topics`, and `light_all` is `all`, where openvino is installed.
    """
    folder = tmp_path_factory.mktemp("exports")
    encoder = ta.HubEncoder(tiny_bert, trainable=False)
    models = {name: ta.build_model(task, encoder, head) for name, (task, head) in TASKS.items()}
    for name, data in (("films", {"dataset": "sst2"}), ("topics", None)):
        ta.export(models[name], folder / name / "1", data=data)
    shared = {name: ServedTask(models[name]) for name in ("films", "alike", "names", "found")}
    export_shared(shared, folder / "all" / "3")
    if HAS_OPENVINO:
        export_light({DEFAULT: ServedTask(models["topics"])}, folder / "light" / "1", "")
        export_light(shared, folder / "light_all" / "3", "")
    return {name: folder / name for name in ("films", "topics", "all", "light", "light_all")}
