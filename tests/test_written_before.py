"""Files that earlier versions wrote: they load, and predict the same."""

import hashlib
import json
import shutil
from pathlib import Path

import keras
import pytest
import yaml

import tf_adapt as ta
import tf_adapt.models.serializables  # as `import tf_adapt` does where Keras is loaded already
from tf_adapt.config.reading import config_from
from tf_adapt.data.splits.read_splits import load_splits
from tf_adapt.training.resolving.run_config import as_now, changed_keys

WRITTEN = Path(__file__).parent / "written_before"
# What version 0.1 predicted with them.
EXPECTED = {
    "classification": (
        ["ab cd", "e f", "the what"],
        [0.5549749136, 0.5548887253, 0.5549576879],
    ),
    "tagging": ([["ab", "cd"], ["e", "f"]], [0.4359307587, 0.4289696217]),
}


@pytest.fixture
def written(tmp_path, monkeypatch) -> Path:
    """A copy, in which paths are relative: a `.keras` file names its module."""
    shutil.copytree(WRITTEN, tmp_path / "written")
    monkeypatch.chdir(tmp_path / "written")
    return tmp_path / "written"


@pytest.mark.parametrize("kind", EXPECTED)
def test_a_keras_file(written, kind):
    model = keras.saving.load_model(written / f"{kind}.keras")
    texts, expected = EXPECTED[kind]
    predictions = ta.predict(model, texts)
    found = [one.scores[0] for one in predictions]
    assert found == pytest.approx(expected, abs=1e-6)
    assert {one.label for one in predictions} == ({("O", "B-X")} if kind == "tagging" else {"no"})
    assert int(model.optimizer.iterations) == 2


# The name of a run, and the pooling of its head: before heads were scaled, `linear` read the pooled
# vector of a frozen encoder by default.
RUNS = {"run": None, "run_of_pooled": None, "run_of_mean": "mean"}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_folder(written, name):
    run = written / name
    moved_to(run, written)
    model = ta.load_run(run)
    assert (model.head.pooling, model.head.scaled) == (RUNS[name], False)
    rows = [line.split("\t") for line in (run / "predictions/dev.tsv").read_text().splitlines()]
    texts = [line.split("\t")[0] for line in (written / "data/dev.tsv").read_text().splitlines()]
    predictions = ta.predict(model, texts[1:])
    columns = dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True))
    assert [one.label for one in predictions] == list(columns["prediction"])
    scores = [float(score) for score in columns["no"]]
    assert [one.scores[0] for one in predictions] == pytest.approx(scores, abs=1e-6)


@pytest.mark.parametrize("dev", [None, "data/dev.tsv"])
def test_a_run_keeps_the_part_that_its_version_cut_off(written, dev):
    moved_to(written / "run", written)
    text = (written / "run/config.yaml").read_text("utf-8")
    content = yaml.safe_load(text)
    content["data"] |= {"dev": dev, "train": "data/long.tsv"}
    rows = "".join(f"text {n}\t{'no' if n % 10 else 'yes'}\n" for n in range(100))
    (written / "data/long.tsv").write_text("text\tlabel\n" + rows, "utf-8")
    before = config_from(as_now(content), "config.yaml")
    assert before.data.stratified == (dev is not None)
    now = config_from({**content, "data": {**content["data"], "stratified": True}}, "config.yaml")
    changed = changed_keys(before, now)
    assert list(changed) == ([] if dev else ["data.stratified"])
    if dev is None:
        parts = [load_splits(config.data).examples["dev"] for config in (before, now)]
        found = [int(one.text_a.split()[1]) for one in parts[0]]
        assert found == [2, 4, 43, 44, 63, 71, 72, 86, 92, 93]  # what version 0.2 cut off
        assert sum(one.label == "yes" for one in parts[1]) == 1


@pytest.mark.parametrize(
    ("data", "now"),
    [
        ({"dataset": "sst2", "source": "files"}, "sst2_sentences"),
        ({"dataset": "sst2_phrases", "source": "files"}, "sst2"),
        ({"dataset": "sst2", "source": "tfds"}, "sst2"),
        ({"dataset": "sst2", "source": "files", "metric": None}, "sst2"),
    ],
)
def test_sst2_is_what_it_was_for_a_run_of_its_version(data, now):
    assert as_now({"data": data})["data"]["dataset"] == now


def moved_to(run: Path, folder: Path) -> None:
    """Puts this folder into the files that name another machine's, and into the run's record."""
    record = json.loads((run / "record.json").read_text("utf-8"))
    for name in ("config.yaml", "metrics.json"):
        content = (run / name).read_bytes().replace(b"/elsewhere", bytes(folder))
        (run / name).write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        record["files"][name] = [{"bytes": len(content), "sha256": digest}]
    (run / "record.json").write_text(json.dumps(record), "utf-8")
