"""A comparison whose runs start from a run and have a teacher: both are in its report."""

import json
import shutil

import pytest
import yaml
from made_runs import make_run

import tf_adapt as ta
from tf_adapt.comparison.comparing import compare
from tf_adapt.comparison.plan.settings import load_comparison
from tf_adapt.errors import ConfigError


@pytest.mark.slow
def test_the_report_shows_start_and_teacher(
    write_config, workers_here, sketched, tmp_path, shallow_bert
):
    """The teacher is an ensemble; it is asked once, by the workers of two cells."""
    first, second = (make_run(tmp_path / str(n), shallow_bert, "classification", n) for n in (0, 1))
    teacher, out = tmp_path / "both", tmp_path / "out"
    made = ta.ensemble([first, second], teacher)
    path = write_config(seeds=1, adaptations=["fine_tuning", "bitfit"])
    content = yaml.safe_load(path.read_text())
    content |= {"start": {"run": str(first), "head": False}, "teacher": {"run": str(teacher)}}
    path.write_text(yaml.safe_dump(content), "utf-8")
    compare(load_comparison(path), out, cache=tmp_path / "cache")
    # Seconds are measured when the teacher is asked: no two are equal.
    runs = sorted(out.glob("runs/*/*/*/metrics.json"))
    taught = [json.loads(run.read_text())["taught"]["teacher"] for run in runs]
    assert len(taught) == 2 and taught[0] == taught[1]
    assert len(list((tmp_path / "cache").glob("teacher_*"))) == 1
    report = json.loads((out / "report.json").read_text())
    assert report["start"].startswith(f"{first}: classification, ")
    assert report["teacher"]["score"] == pytest.approx(made.results["dev"].ensemble)
    total = report["cells"][0]["costs"]["total_parameters"]
    assert report["teacher"]["parameters"] == 2 * total
    text = (out / "report.md").read_text()
    assert "Every run starts from" in text and "Teacher and students: temperature 2" in text
    shutil.rmtree(first)
    with pytest.raises(ConfigError, match="start.run: expected the folder of a finished run"):
        load_comparison(path)
