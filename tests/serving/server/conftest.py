"""One export of each kind of task, for the tests of the server."""

from pathlib import Path

import pytest

import tf_adapt as ta
from tf_adapt.serving.shared_export import ServedTask, export_shared

TASKS = {
    "films": (ta.Task("classification", labels=["bad", "<i>good</i>"]), "linear"),
    "same": (ta.Task("pair_classification", labels=["no", "yes"]), "linear"),
    "alike": (ta.Task("pair_regression", label_range=(0, 5)), "linear"),
    "names": (ta.Task("tagging", labels=["O", "B-PER", "I-PER"]), "linear_tagger"),
    "found": (ta.Task("span_extraction"), "span_extractor"),
    "grades": (ta.Task("regression"), "linear"),
    "topics": (ta.Task("multilabel_classification", labels=["a", "b", "c"]), "linear"),
}


@pytest.fixture(scope="package")
def exports(tiny_bert, tmp_path_factory) -> dict[str, Path]:
    """The folder above the versions of each model; `both` has two signatures."""
    folder = tmp_path_factory.mktemp("exports")
    encoder = ta.HubEncoder(tiny_bert, trainable=False)
    models = {name: ta.build_model(task, encoder, head) for name, (task, head) in TASKS.items()}
    for name, model in models.items():
        data = {"dataset": "sst2"} if name == "films" else None
        ta.export(model, folder / name / "1", data=data)
    shared = {name: ServedTask(models[name]) for name in ("films", "names")}
    export_shared(shared, folder / "both" / "3")
    return {name: folder / name for name in (*TASKS, "both")}
