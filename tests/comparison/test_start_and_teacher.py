"""A comparison whose runs start from a run and have a teacher: both are in its report."""

import json
import shutil

import pytest
import yaml
from made_runs import make_run

import tf_adapt as ta
from tf_adapt.comparison.comparing import compare
from tf_adapt.comparison.settings import load_comparison
from tf_adapt.config.reading import load_config
from tf_adapt.errors import ConfigError
from tf_adapt.training.train import train

pytestmark = pytest.mark.slow


def test_the_report_shows_start_and_teacher(write_config, tmp_path, tiny_bert):
    path = write_config(learning_rates=[1.0e-2], seeds=1, adaptations=["fine_tuning"])
    content = yaml.safe_load(path.read_text())
    shared = {key: value for key, value in content.items() if key != "compare"}
    single = shared | {"encoder": {"handle": str(tiny_bert)}, "adaptation": "fine_tuning"}
    single["training"] = single["training"] | {"learning_rate": 1.0e-2, "epochs": 1}
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(single), "utf-8")
    run, out = tmp_path / "first", tmp_path / "out"
    before = train(load_config(tmp_path / "run.yaml"), run)
    content |= {"start": {"run": str(run), "head": False}, "teacher": {"run": str(run)}}
    path.write_text(yaml.safe_dump(content), "utf-8")
    compare(load_comparison(path), out)
    report = json.loads((out / "report.json").read_text())
    assert report["start"].startswith(f"{run}: sample_classification, fine_tuning, accuracy")
    teacher = report["teacher"]
    assert teacher["score"] == pytest.approx(before["dev"]["accuracy"])
    assert teacher["parameters"] == before["parameters"]["total"]
    text = (out / "report.md").read_text()
    assert "Every run starts from" in text and "Teacher and students: temperature 2" in text
    shutil.rmtree(run)
    with pytest.raises(ConfigError, match="start.run: expected the folder of a finished run"):
        load_comparison(path)


def test_an_ensemble_teaches_all_runs_and_is_asked_once(write_config, tmp_path, tiny_bert):
    members = [make_run(tmp_path / str(n), tiny_bert, "classification", n) for n in (0, 1)]
    teacher, out = tmp_path / "both", tmp_path / "out"
    made = ta.ensemble(members, teacher)
    path = write_config(learning_rates=[1.0e-2], seeds=2, adaptations=["fine_tuning", "bitfit"])
    content = yaml.safe_load(path.read_text()) | {"teacher": {"run": str(teacher)}}
    path.write_text(yaml.safe_dump(content), "utf-8")
    compare(load_comparison(path), out, cache=tmp_path / "cache")
    # Seconds are measured when the teacher is asked: no two are equal.
    runs = sorted(out.glob("runs/*/*/*/metrics.json"))
    taught = [json.loads(run.read_text())["taught"]["teacher"] for run in runs]
    assert len(taught) == 4 and all(one == taught[0] for one in taught)
    assert len(list((tmp_path / "cache").glob("teacher_*"))) == 1
    report = json.loads((out / "report.json").read_text())
    assert report["teacher"]["score"] == pytest.approx(made.results["dev"].ensemble)
    total = sum(report["cells"][0]["costs"]["total_parameters"] for _ in members)
    assert report["teacher"]["parameters"] == total
