"""Exports for the tests of the server: two of one task, and one of several; some as light ones."""

from pathlib import Path

import pytest

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
def served_tasks(shallow_bert) -> dict[str, ServedTask]:
    """A model of each task, on one encoder."""
    encoder = ta.HubEncoder(shallow_bert, trainable=False)
    return {
        name: ServedTask(ta.build_model(task, encoder, head))
        for name, (task, head) in TASKS.items()
    }


@pytest.fixture(scope="package")
def exports(served_tasks, tmp_path_factory) -> dict[str, Path]:
    """The folder above the versions of each model; `all` has a signature for each task but one."""
    folder = tmp_path_factory.mktemp("exports")
    for name, data in (("films", {"dataset": "sst2"}), ("topics", None)):
        ta.export(served_tasks[name].model, folder / name / "1", data=data)
    export_shared(_all(served_tasks), folder / "all" / "3")
    return {name: folder / name for name in ("films", "topics", "all")}


@pytest.fixture(scope="package")
def light_exports(served_tasks, tmp_path_factory) -> dict[str, Path]:
    """`topics` and `all` as light exports."""
    folder = tmp_path_factory.mktemp("light_exports")
    export_light({DEFAULT: served_tasks["topics"]}, folder / "topics" / "1", "")
    export_light(_all(served_tasks), folder / "all" / "3", "")
    return {name: folder / name for name in ("topics", "all")}


def _all(tasks: dict[str, ServedTask]) -> dict[str, ServedTask]:
    return {name: task for name, task in tasks.items() if name != "topics"}
