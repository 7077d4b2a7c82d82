"""A comparison with a search, from Python to the report."""

import json

import pytest
import yaml

import tf_adapt as ta
from tf_adapt.comparison.diagnosis.report_reading import read_content
from tf_adapt.errors import ConfigError

SEARCH = {
    "trials": 2,
    "sampler": "random",
    "space": {
        "training.learning_rate": {"low": 1e-3, "high": 1e-1, "log": True},
        "head_dropout": {"choices": [0.0, 0.3]},
    },
}


@pytest.mark.slow
def test_a_search_from_python_to_the_report(write_config, workers_here, tmp_path):
    changes = {"adaptations": ["freeze"], "learning_rates": None, "seeds": 1}
    config = yaml.safe_load(write_config(training={"epochs": 1}, **changes).read_text("utf-8"))
    out = tmp_path / "out"
    result = ta.compare(config, out, jobs=1, search=SEARCH)
    (cell,) = result.content.search.cells.values()
    assert [trial.number for trial in cell.trials] == [0, 1]
    chosen = next(trial for trial in cell.trials if trial.chosen)
    assert chosen.score == max(trial.score for trial in cell.trials)
    assert list(result.runs["trial"]) == [True, True, False]
    assert result.runs["setting"][2] == chosen.values
    saved = (out / "runs").rglob("seed_0/config.yaml")
    trained = yaml.safe_load(next(saved).read_text("utf-8"))
    assert trained["head_dropout"] == chosen.values["head_dropout"]
    assert read_content(out).search == result.content.search
    assert "## The search" in (out / "report.md").read_text("utf-8")
    # The same again trains nothing; more trials keep those that are there; another space is another
    # comparison.
    before = {path: path.stat().st_mtime_ns for path in (out / "runs").rglob("metrics.json")}
    assert ta.compare(out / "compare.yaml", out).content.search == result.content.search
    after = {path: path.stat().st_mtime_ns for path in (out / "runs").rglob("metrics.json")}
    assert before == after
    assert json.loads((out / "comparison.json").read_text())["looks"] == []
    with pytest.raises(ConfigError, match="search that this comparison was begun with.*sampler"):
        ta.compare(config, out, search=SEARCH | {"sampler": "tpe"})


def test_a_search_is_said_once(write_config, tmp_path):
    with pytest.raises(ConfigError, match="compare.search: expected no such key together with"):
        ta.compare(write_config(search=SEARCH), tmp_path / "out", search=SEARCH)
