"""`tf-adapt estimate`: a row for each layer and their mean, of runs' and comparisons' configs."""

import json

import pytest
import yaml
from click.testing import CliRunner

from tf_adapt.analysis.estimate import estimating
from tf_adapt.commands.main import cli
from tf_adapt.report.estimate.measures import MEASURES


@pytest.fixture(autouse=True)
def nothing_published(monkeypatch):
    """The table that ships grows."""
    monkeypatch.setattr(estimating, "published", list)


def estimated(tmp_path, content: dict, *more):
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(content), "utf-8")
    return CliRunner().invoke(cli, ["estimate", str(path), *more])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["classification", "tagging", "regression"])
def test_every_layer_of_every_kind(tiny_bert, tmp_path, kind):
    data = {"dataset": f"sample_{kind}", "source": "sample"}
    content = {"data": data, "encoder": {"handle": str(tiny_bert)}}
    content |= {"adaptation": "feature_extraction", "training": {"epochs": 1}}
    result = estimated(tmp_path, content, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    layers = [row["layer"] for row in found["ranking"]]
    assert "mean" in layers and len(layers) == len(set(layers)) > 2
    probes = [row["probe"] for row in found["ranking"]]
    assert probes == sorted(probes, reverse=True)
    assert all(set(MEASURES) < set(row) for row in found["ranking"])
    assert all(row["family"] == "bert" for row in found["ranking"])
    assert found["predictions"]["rules"] is None


@pytest.mark.slow
def test_a_comparisons_encoders_are_ranked_together(tiny_bert, tmp_path):
    more = {"data": {"dataset": "sample_regression", "source": "sample"}}
    content = {
        "data": {"dataset": "sample_classification", "source": "sample"},
        "compare": {
            "encoders": [
                str(tiny_bert),
                {"handle": str(tiny_bert), "pretrained": False},
                {"handle": str(tiny_bert), "prompts": "query: "},
            ],
            "adaptations": ["fine_tuning"],
            "signals": {"alone": {}, "together": {"tasks": {"more": more}, "target": "own"}},
        },
    }
    result = estimated(tmp_path, content)
    assert result.exit_code == 0, result.output
    assert "linear probe" in result.stdout and "is not predicted" in result.stdout
    rows = [line for line in result.stdout.splitlines() if ", layer " in line]
    named = {line.partition(", layer")[0].strip() for line in rows}
    assert named == {"pretrained", "untrained", 'pretrained, prompts ["query: "]'}
