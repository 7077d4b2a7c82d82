"""A kind of task that is only a row of each table trains, predicts, is served and compared."""

import json

import ordinal_regression
import pytest
import yaml
from click.testing import CliRunner

pytest.importorskip("starlette", reason="the extra [serve] is not installed")

from servers import running, server_of  # noqa: E402

import tf_adapt as ta  # noqa: E402
from tf_adapt.commands.main import cli  # noqa: E402
from tf_adapt.comparison import comparing, written_report  # noqa: E402
from tf_adapt.comparison.plan.settings import load_comparison  # noqa: E402
from tf_adapt.config.reading import config_from  # noqa: E402
from tf_adapt.training.finished.run_export import export_run  # noqa: E402
from tf_adapt.training.train import train  # noqa: E402

pytestmark = pytest.mark.slow

LABELS = ["bad", "fair", "good", "great"]
TEXTS = ["a dull film", "it will do", "a good film", "the best of all films"]


@pytest.fixture(autouse=True)
def new_kind(monkeypatch):
    ordinal_regression.add(monkeypatch)


@pytest.fixture
def data(tmp_path) -> dict:
    """The section of the four texts, six times in each split."""
    lines = [json.dumps({"text_a": a, "label": b}) for a, b in zip(TEXTS, LABELS, strict=True)]
    paths = {name: str(tmp_path / f"{name}.jsonl") for name in ("train", "dev", "test")}
    for number, path in enumerate(paths.values()):
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(line.replace("film", f"film {number}") + "\n" for line in lines * 6)
    columns = {"text_a": "text_a", "label": "label"}
    about = {"format": "jsonl", "kind": ordinal_regression.KIND, "labels": LABELS}
    return about | {"columns": columns} | paths


def test_it_trains_predicts_exports_and_is_served(data, shallow_bert, tmp_path):
    training = {"epochs": 1, "batch_size": 8, "learning_rate": 1e-2}
    content = {"data": data, "encoder": {"handle": str(shallow_bert)}, "training": training}
    run, name = tmp_path / "run", ordinal_regression.METRIC
    train(config_from(content | {"adaptation": "fine_tuning"}, "test"), run)
    scores = json.loads((run / "metrics.json").read_text("utf-8"))
    assert scores["metric"] == name and 0 < scores["test"][name] <= 1
    model = ta.load_run(run)
    assert model.task.num_outputs == 3
    expected = ta.predict(model, TEXTS)
    assert all(len(one.scores) == len(LABELS) for one in expected)
    assert [sum(one.scores) for one in expected] == pytest.approx([1] * 4)
    export_run(run, tmp_path / "export")
    with running(server_of({"films": tmp_path / "export"})) as served:
        found = ta.Client(f"http://127.0.0.1:{served.port}").predict(TEXTS)
    assert [one["label"] for one in found] == [one.label for one in expected]
    for one, two in zip(found, expected, strict=True):
        assert one["scores"] == pytest.approx(two.scores, abs=1e-4)


def test_it_stands_in_the_report_of_a_comparison(data, shallow_bert, tmp_path, monkeypatch):
    # Other processes do not know the kind.
    monkeypatch.setattr(comparing, "run_all", in_this_process)
    monkeypatch.setattr(written_report, "export_best", lambda outcomes, content, anyway: None)
    compare = {"encoders": [str(shallow_bert)], "adaptations": ["freeze", "tune"]}
    compare |= {"heads": ["linear"], "learning_rates": [1e-2], "seeds": 1}
    content = {"data": data, "compare": compare, "training": {"epochs": 1, "batch_size": 8}}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(content), "utf-8")
    out = tmp_path / "out"
    comparing.compare(load_comparison(tmp_path / "config.yaml"), out)
    report = json.loads((out / "report.json").read_text("utf-8"))
    assert [len(cell["scores"]) for cell in report["cells"]] == [1, 1]
    assert ordinal_regression.METRIC in (out / "report.md").read_text("utf-8")


def in_this_process(outcomes, executor, display, until) -> None:
    """As `run_all`, without processes."""
    while run := next(outcomes.waiting(), None):
        ended = CliRunner().invoke(cli, run.arguments(executor.cache), catch_exceptions=False)
        assert ended.exit_code == 0, ended.output
