"""A run of three kinds of tasks: trained, exported once, served, and asked by name."""

from pathlib import Path

import numpy as np
import pytest
from eager import without_graphs

pytest.importorskip("starlette", reason="the extra [serve] is not installed")

from servers import running, server_of  # noqa: E402

import tf_adapt as ta  # noqa: E402
from tf_adapt.config.reading import config_from  # noqa: E402
from tf_adapt.data.catalogue import SAMPLE_FOLDER  # noqa: E402
from tf_adapt.data.formats import read_conll  # noqa: E402
from tf_adapt.errors import ConfigError  # noqa: E402
from tf_adapt.training.finished.run_export import export_run, export_runs  # noqa: E402
from tf_adapt.training.finished.trained_run import predict_file  # noqa: E402
from tf_adapt.training.train import train  # noqa: E402

# Nearly every one trains a model or more.
pytestmark = pytest.mark.slow

TEXTS = {
    "question": ["who wrote this ?", "where is it", "why \u00e9t\u00e9 ?"],
    "same": [("a man sings .", "someone sings ."), ("the cat", "a dog runs")],
    "name": [["Ann", "lives", "in", "Paris", "."], ["no"]],
}
KINDS = {"question": "classification", "same": "pair_regression", "name": "tagging"}


@pytest.fixture(scope="module")
def run(shallow_bert, tmp_path_factory):
    folder = tmp_path_factory.mktemp("three") / "run"
    tasks = {
        name: {"data": {"dataset": f"sample_{kind}", "source": "sample", "train_examples": 24}}
        for name, kind in KINDS.items()
    }
    training = {"epochs": 1, "steps_per_epoch": 4, "batch_size": 8, "learning_rate": 1e-2}
    content = {
        "tasks": tasks,
        "target": "question",
        "sampling": "uniform",
        "task_attention": 3,
        "encoder": {"handle": str(shallow_bert)},
        "adaptation": "fine_tuning",
        "training": training,
    }
    # What is tested begins with a finished run: no graphs for its few steps.
    with without_graphs():
        train(config_from(content, "test"), folder)
    return folder


@pytest.fixture(scope="module")
def exported(run) -> Path:
    return export_run(run, run.with_name("three"))


def test_each_is_answered_as_its_model_answers(run, exported):
    with running(server_of({"three": exported.parent})) as served:
        signatures = served.get("/v1/models/three/metadata").json["metadata"]["signature_def"]
        assert set(signatures["signature_def"]) == set(KINDS)
        client = ta.Client(f"http://127.0.0.1:{served.port}")
        for name, texts in TEXTS.items():
            expected = ta.predict(ta.load_run(run, task=name), texts)
            found = client.predict(texts, signature=name)
            for one, two in zip(found, expected, strict=True):
                if name == "same":
                    assert one == pytest.approx(two.label, abs=1e-4)
                elif name == "question":
                    assert one["label"] == two.label
                    np.testing.assert_allclose(one["scores"], two.scores, atol=1e-4)
                else:  # the model has the score of the tag that was chosen
                    assert one["tags"] == list(two.label)
                    np.testing.assert_allclose(np.max(one["scores"], -1), two.scores, atol=1e-4)
        refused = served.predict("three", instances=["who ?"])
        assert refused.status == 400
        for name in KINDS:
            assert name in refused.error


def test_a_file_is_predicted_by_a_signature(run, exported, tmp_path):
    dev = SAMPLE_FOLDER / "tagging" / "dev.txt"
    predict_file(exported, dev, tmp_path / "out.tsv", signature="name")
    files = (tmp_path / "out.tsv", dev)
    found, given = ([one.words for one in read_conll(file)] for file in files)
    assert found == given
    for problem, given in (
        ("expected no --task for an export, got 'name'", {"name": "name"}),
        ("expected --signature with one of question, same, name", {}),
    ):
        with pytest.raises(ConfigError, match=problem):
            predict_file(exported, dev, tmp_path / "other.tsv", **given)
    with pytest.raises(ConfigError, match="run of one task, got one of question, same, name"):
        export_runs([run, run], tmp_path / "other")
