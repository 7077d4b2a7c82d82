"""`tf-adapt estimate`: a row for each layer and their mean, of runs' and comparisons' configs."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
import yaml
from click.testing import CliRunner

from tf_adapt.analysis.estimate import estimating
from tf_adapt.analysis.layers import items_of
from tf_adapt.commands.main import cli
from tf_adapt.data.formats import TaggedSentence
from tf_adapt.errors import DataError
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
@pytest.mark.parametrize("kind", ["tagging", "regression"])
def test_every_layer_of_a_kind(shallow_bert, tmp_path, kind):
    data = {"dataset": f"sample_{kind}", "source": "sample", "train_examples": 60}
    content = {"data": data, "encoder": {"handle": str(shallow_bert)}}
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
def test_a_comparisons_encoders_are_ranked_together(shallow_bert, tmp_path):
    sample = {"source": "sample", "train_examples": 60}
    more = {"data": {"dataset": "sample_regression", "source": "sample"}}
    content = {
        "data": {"dataset": "sample_classification", **sample},
        "compare": {
            "encoders": [
                str(shallow_bert),
                {"handle": str(shallow_bert), "pretrained": False},
                {"handle": str(shallow_bert), "prompts": "query: "},
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
    starts = ("pretrained", "untrained", 'pretrained, prompts ["query: "]')
    assert named == {f"shallow_bert, {start}" for start in starts}


@pytest.mark.slow
def test_examples_of_one_group_do_not_answer_for_each_other(shallow_bert, tmp_path):
    """Texts of a group are alike, and have one label, of no relation to that of others."""
    random = np.random.default_rng(0)
    words = list("abcdefghijklmnopqrstuvwx")
    lines = ["text\tlabel\ttopic"]
    for word, label in zip(words, random.permutation(np.arange(24) % 2), strict=True):
        texts = [f"{word} {word} {word} {other}" for other in random.choice(words, 5, False)]
        lines += [f"{text}\t{'ab'[label]}\t{word}" for text in texts]
    (tmp_path / "train.tsv").write_text("\n".join(lines) + "\n")
    data = {"format": "tsv", "train": str(tmp_path / "train.tsv"), "kind": "classification"}
    columns = {"text_a": "text", "label": "label"}
    content = {"encoder": {"handle": str(shallow_bert)}, "adaptation": "feature_extraction"}
    best = []
    for given in (columns, columns | {"group": "topic"}):
        result = estimated(tmp_path, content | {"data": data | {"columns": given}}, "--json")
        assert result.exit_code == 0, result.output
        ranking = json.loads(result.stdout)["ranking"]
        best.append([max(row[key] for row in ranking) for key in ("probe", "neighbours")])
    assert min(best[0]) > 0.8 > 0.75 > max(best[1])


def test_a_folder_that_is_no_comparison_gives_a_message(tmp_path):
    result = CliRunner().invoke(cli, ["estimate", str(tmp_path)])
    assert result.exit_code == 2
    assert "expected a config, or the folder that `tf-adapt compare` has" in result.output
    assert "got a folder without comparison.json; give one of these" in result.output


def test_words_of_one_sentence_or_document_are_one_group():
    def sentences(*documents):
        return [
            TaggedSentence(words, ("O",) * len(words), document=document)
            for words, document in zip((("a", "b"), ("c",), ("a", "b")), documents, strict=True)
        ]

    targets = tf.RaggedTensor.from_row_splits(tf.range(5), [0, 2, 3, 5])
    prepared = SimpleNamespace(targets=targets, sentence_splits=np.array([0, 2, 3, 5]))
    for documents, groups in {(0, 0, 0): [0, 0, 1, 0, 0], (1, 1, 2): [0, 0, 0, 1, 1]}.items():
        items = items_of(sentences(*documents), prepared)
        assert items.groups.tolist() == groups and items.targets.tolist() == [0, 1, 2, 3, 4]


def test_fewer_groups_than_folds_are_refused():
    estimating.check_groups(np.arange(5), "train")
    with pytest.raises(DataError, match="at least 5 groups that share no text.*, got 4; add"):
        estimating.check_groups(np.array([0, 1, 2, 3, 3, 3]), "train")
