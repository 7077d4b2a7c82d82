"""A comparison whose runs start from a run and have a teacher: both are in its report."""

import json
import shutil

import pytest
import yaml

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
