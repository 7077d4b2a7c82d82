"""A run and its export on files: the scores of the training, the same predictions, refusals."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import seqeval.scheme
from seqeval.metrics import f1_score, precision_score, recall_score

import tf_adapt as ta
from tf_adapt.config import config_from
from tf_adapt.data.catalogue import SAMPLE_FOLDER
from tf_adapt.data.formats import read_conll
from tf_adapt.data.labels import convert_scheme
from tf_adapt.errors import ArtifactError, DataError
from tf_adapt.trained import evaluate_file, export_run, predict_file
from tf_adapt.training import train

DEV = SAMPLE_FOLDER / "tagging" / "dev.txt"


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """The user's own files: the sample's, with the first tag of an entity written in IOB1."""
    folder = tmp_path_factory.mktemp("files")
    for split in ("train", "dev"):
        sentences = read_conll(SAMPLE_FOLDER / "tagging" / f"{split}.txt")
        write_conll(folder / f"{split}.txt", convert_scheme(sentences, "IOB2", "IOB1"))
    return folder


def write_conll(path: Path, sentences: list) -> None:
    text = "\n".join(
        "".join(f"{word}\t{tag}\n" for word, tag in zip(one.words, one.tags, strict=True))
        for one in sentences
    )
    path.write_text(text, "utf-8")


def config(data: dict, handle: str, **training):
    settings = {"epochs": 1, "batch_size": 16, "learning_rate": 1e-3} | training
    encoder = {"handle": handle}
    content = {"data": data, "encoder": encoder, "adaptation": "fine_tuning", "training": settings}
    return config_from(content, "test")


@pytest.fixture(scope="module")
def run(files, tmp_path_factory) -> Path:
    """A tagger trained on the user's own files; the folder was moved after the training."""
    data = {"format": "conll", "kind": "tagging", "columns": {"words": 0, "tags": 1}}
    data |= {"train": str(files / "train.txt"), "dev": str(files / "dev.txt"), "scheme": "IOB1"}
    folder = tmp_path_factory.mktemp("runs")
    train(config(data, "bert_small", epochs=2), folder / "made")
    (folder / "made").rename(folder / "moved")
    return folder / "moved"


@pytest.fixture(scope="module")
def export(run, tmp_path_factory) -> Path:
    return export_run(run, tmp_path_factory.mktemp("export"))


@pytest.fixture(scope="module")
def tiny_run(tiny_bert, tmp_path_factory) -> Path:
    """A run on the sample pairs, with an encoder that is small enough to be copied about."""
    data = {"dataset": "sample_pair_regression", "source": "sample", "train_examples": 32}
    folder = tmp_path_factory.mktemp("runs") / "run"
    train(config(data, str(tiny_bert)), folder)
    return folder


def dev_scores(run: Path) -> dict:
    return json.loads((run / "metrics.json").read_text("utf-8"))["dev"]


def tags_of(path: Path) -> list[tuple[str, ...]]:
    return [sentence.tags for sentence in read_conll(path)]


def test_a_files_scores_are_those_of_the_training(run, files):
    expected = dev_scores(run)
    assert expected["span_f1"] > 0.2
    assert evaluate_file(run, files / "dev.txt") == pytest.approx(expected, abs=1e-5)


def test_both_span_f1_of_a_run_are_those_of_seqeval(run):
    gold, said = tags_of(DEV), tags_of(run / "predictions" / "dev.tsv")
    gold, said = [list(map(list, tags)) for tags in (gold, said)]
    strict = f1_score(gold, said, mode="strict", scheme=seqeval.scheme.IOB2)
    expected = {"span_f1": f1_score(gold, said), "strict_span_f1": strict}
    assert abs(expected["span_f1"] - strict) > 1e-3  # some of what it says is not legal
    scores = dev_scores(run)
    assert {name: scores[name] for name in expected} == pytest.approx(expected)
    assert scores["span_precision"] == pytest.approx(precision_score(gold, said))
    assert scores["span_recall"] == pytest.approx(recall_score(gold, said))
    with open(run / "history.csv", newline="") as file:
        best = max(csv.DictReader(file), key=lambda row: float(row["dev_span_f1"]))
    for name, score in expected.items():
        assert float(best[f"dev_{name}"]) == pytest.approx(score, rel=1e-6)


def test_a_datasets_file_is_scored_in_its_own_format(tiny_run):
    found = evaluate_file(tiny_run, SAMPLE_FOLDER / "pair_regression" / "dev.tsv")
    assert found == pytest.approx(dev_scores(tiny_run), abs=1e-5)


@pytest.mark.slow
def test_labels_that_the_run_does_not_know_are_refused(run, tmp_path):
    (tmp_path / "new.txt").write_text("Ann\tI-SHIP\n", "utf-8")
    with pytest.raises(DataError, match=r"B-SHIP.*new\.txt:1"):
        evaluate_file(run, tmp_path / "new.txt")


def test_the_run_predicts_what_it_predicted_at_its_end(run, files, tmp_path):
    assert predict_file(run, files / "dev.txt", tmp_path / "dev.tsv") == 60
    assert tags_of(tmp_path / "dev.tsv") == tags_of(run / "predictions" / "dev.tsv")


def test_run_and_export_write_the_same_file(run, export, files, tmp_path):
    for folder, name in ((run, "run"), (export, "export")):
        assert predict_file(folder, files / "dev.txt", tmp_path / name) == 60
    assert (tmp_path / "run").read_bytes() == (tmp_path / "export").read_bytes()
    written, given = read_conll(tmp_path / "run"), read_conll(DEV)
    assert [sentence.words for sentence in written] == [sentence.words for sentence in given]
    assert len({tag for sentence in written for tag in sentence.tags}) > 1


def test_words_without_tags_are_enough(run, export, tmp_path):
    words = ["Ann", "met", "a\u2028b", "in", "Paris", "\u3000"]
    (tmp_path / "words.txt").write_text("\n".join([*words, "", "Rain"]) + "\n", "utf-8")
    for folder in (run, export):
        assert predict_file(folder, tmp_path / "words.txt", tmp_path / "out" / "tags.txt") == 2
        lines = (tmp_path / "out" / "tags.txt").read_text("utf-8").split("\n")
        assert [line.split("\t")[0] for line in lines] == [*words, "", "Rain", ""]


def test_pairs_without_scores_are_enough(tiny_run, tmp_path):
    (tmp_path / "pairs.tsv").write_text("text_a\ttext_b\nIt rains .\tSun .\na\tb\n", "utf-8")
    folders = {"run": tiny_run, "export": export_run(tiny_run, tmp_path / "versions")}
    found = {}
    for name, folder in folders.items():
        assert predict_file(folder, tmp_path / "pairs.tsv", tmp_path / name) == 2
        lines = (tmp_path / name).read_text("utf-8").splitlines()
        assert lines[0] == "prediction"
        found[name] = [float(line) for line in lines[1:]]
    np.testing.assert_allclose(found["run"], found["export"], atol=1e-5)
    assert len(found["run"]) == 2


def test_exports_are_numbered(export):
    assert export.name == "1"
    assert ta.serving.next_version(export.parent).name == "2"


def test_a_loaded_run_is_the_model_of_its_best_epoch(run, tmp_path):
    model = ta.load_run(run)
    words = read_conll(DEV)[0].words
    assert ta.predict(model, [words])[0].label == tags_of(run / "predictions" / "dev.tsv")[0]
    assert model.task.labels == tuple(
        json.loads((run / "task.json").read_text("utf-8"))["task"]["labels"]
    )


def test_what_is_no_run_is_refused(tmp_path):
    (tmp_path / "other" / "notes").mkdir(parents=True)
    for folder in (tmp_path / "absent", tmp_path / "other" / "notes", tmp_path / "other"):
        with pytest.raises(ArtifactError, match="neither config.yaml nor manifest.json"):
            ta.load_run(folder)
        with pytest.raises(ArtifactError, match="expected the folder of a run or of an export"):
            predict_file(folder, DEV, tmp_path / "out.tsv")
    assert not (tmp_path / "out.tsv").exists()


@pytest.fixture
def copy(tiny_run, tmp_path) -> Path:
    """A copy of a run, to be damaged."""
    return Path(shutil.copytree(tiny_run, tmp_path / "run"))


def test_a_run_before_its_first_epoch_is_refused(copy):
    (copy / "metrics.json").unlink()
    shutil.rmtree(copy / "checkpoint")
    with pytest.raises(ArtifactError, match="until the end of its first epoch"):
        ta.load_run(copy)


@pytest.mark.parametrize("damage", ["flipped", "cut", "missing"])
def test_damaged_best_weights_are_refused(copy, damage):
    (path,) = (copy / "checkpoint").glob("best_*/model.npz")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content if damage == "flipped" else content[: len(content) // 2])
    if damage == "missing":
        path.unlink()
    with pytest.raises(ArtifactError, match=r"best_0001/model\.npz"):
        ta.load_run(copy)


def test_weights_of_another_encoder_are_refused(copy):
    text = (copy / "config.yaml").read_text("utf-8").splitlines()
    changed = ["  handle: bert_small" if line.startswith("  handle:") else line for line in text]
    (copy / "config.yaml").write_text("\n".join(changed), "utf-8")
    with pytest.raises(ArtifactError, match="another module"):
        ta.load_run(copy)


@pytest.mark.parametrize("name", ["task.json", "config.yaml"])
def test_a_damaged_description_is_refused(copy, name):
    (copy / name).write_text("{", "utf-8")
    with pytest.raises(ArtifactError, match=name):
        ta.load_run(copy)


def test_a_module_that_was_replaced_is_noticed(copy):
    path = copy / "task.json"
    description = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(description | {"module": "0" * 64}), "utf-8")
    with pytest.raises(ArtifactError, match="trained on another module.*expected hash 000000"):
        ta.load_run(copy)
