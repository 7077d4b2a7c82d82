"""A run of three kinds of tasks: trained, exported once, served, and asked by name."""

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the extra [serve] is not installed")

from servers import running, server_of  # noqa: E402

import tf_adapt as ta  # noqa: E402
from tf_adapt.config.reading import config_from  # noqa: E402
from tf_adapt.training.finished.run_export import export_run  # noqa: E402
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
def run(tiny_bert, tmp_path_factory):
    folder = tmp_path_factory.mktemp("three") / "run"
    tasks = {
        name: {"data": {"dataset": f"sample_{kind}", "source": "sample", "train_examples": 24}}
        for name, kind in KINDS.items()
    }
    training = {"epochs": 1, "steps_per_epoch": 12, "batch_size": 8, "learning_rate": 1e-2}
    content = {
        "tasks": tasks,
        "target": "question",
        "sampling": "uniform",
        "task_attention": 3,
        "encoder": {"handle": str(tiny_bert)},
        "adaptation": "fine_tuning",
        "training": training,
    }
    train(config_from(content, "test"), folder)
    return folder


def test_each_is_answered_as_its_model_answers(run, tmp_path):
    export_run(run, tmp_path / "three")
    with running(server_of({"three": tmp_path / "three"})) as served:
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
