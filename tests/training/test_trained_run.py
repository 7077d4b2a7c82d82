"""A run and its export on files: the scores of the training, the same predictions, refusals."""

import csv
import json
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import seqeval.scheme
import yaml
from click.testing import CliRunner
from openvino_engine import needs_openvino, own_cache
from seqeval.metrics import f1_score, precision_score, recall_score

import tf_adapt as ta
from hub_modules.storage import records
from tf_adapt.adaptation.fisher import load_fisher
from tf_adapt.commands.main import cli
from tf_adapt.config.reading import config_from
from tf_adapt.data.catalogue import SAMPLE_FOLDER
from tf_adapt.data.datasets import read_file
from tf_adapt.data.formats import read_conll
from tf_adapt.data.labels import convert_scheme
from tf_adapt.errors import ArtifactError, ConfigError, DataError
from tf_adapt.runs import checkpoints
from tf_adapt.training.finished.data_files import of_file
from tf_adapt.training.finished.run_export import export_run
from tf_adapt.training.finished.run_fisher import fisher_of_run
from tf_adapt.training.finished.trained_run import evaluate_file, predict_file
from tf_adapt.training.resolving import run_config
from tf_adapt.training.train import train

# Their fixtures train.
pytestmark = pytest.mark.slow

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


def config(data: dict, handle: str, head="default", adaptation="fine_tuning", **training):
    settings = {"epochs": 1, "batch_size": 16, "learning_rate": 1e-3} | training
    encoder = {"handle": handle}
    content = {"data": data, "encoder": encoder, "head": head}
    content |= {"adaptation": adaptation, "training": settings}
    return config_from(content, "test")


@pytest.fixture(scope="module")
def run(files, tmp_path_factory) -> Path:
    """A tagger trained on the user's own files; the folder was moved after the training."""
    data = {"format": "conll", "kind": "tagging"}  # columns and scheme are recognised
    data |= {"train": str(files / "train.txt"), "dev": str(files / "dev.txt")}
    folder = tmp_path_factory.mktemp("runs")
    rate = {"epochs": 5, "learning_rate": 2e-2}
    settings = config(data, "elmo_small", "linear_tagger", "feature_extraction", **rate)
    train(settings, folder / "made")
    (folder / "made").rename(folder / "moved")
    return folder / "moved"


@pytest.fixture(scope="module")
def export(run, tmp_path_factory) -> Path:
    return export_run(run, tmp_path_factory.mktemp("export"))


@pytest.fixture(scope="module")
def tiny_run(finished_run) -> Path:
    """A run on the sample pairs, with an encoder that is small enough to be copied about."""
    return finished_run("pair_regression")


@pytest.fixture(scope="module")
def predicted(run, export, files, tmp_path_factory) -> Path:
    """What run and export predict for the dev file."""
    folder = tmp_path_factory.mktemp("predicted")
    for made, name in ((run, "run"), (export, "export")):
        assert predict_file(made, files / "dev.txt", folder / name) == 60
    return folder


def dev_scores(run: Path) -> dict:
    return json.loads((run / "metrics.json").read_text("utf-8"))["dev"]


def tags_of(path: Path) -> list[tuple[str, ...]]:
    return [sentence.tags for sentence in read_conll(path)]


def test_a_files_scores_are_those_of_the_training(run, files):
    expected = dev_scores(run)
    assert expected["span_f1"] > 0.2
    found = evaluate_file(run, files / "dev.txt")
    qualities = json.loads((run / "metrics.json").read_text("utf-8"))["quality"]["dev"]
    assert found.pop("labels") == qualities["labels"]
    ece = found.pop("calibration")["ece"]
    assert ece == pytest.approx(qualities["calibration"]["ece"], abs=1e-5)
    assert found == pytest.approx(expected, abs=1e-5)


def test_what_was_recognised_in_the_files_is_in_the_config_of_the_run(run):
    data = yaml.safe_load((run / "config.yaml").read_text("utf-8"))["data"]
    assert data["scheme"] is None  # each file has its own
    assert (data["columns"]["words"], data["columns"]["tags"]) == (0, 1)


def test_a_csv_file_alone_is_trained_on_scored_and_predicted(shallow_bert, tmp_path):
    """Semicolons, line breaks in quotes, columns of other names, no dev file."""
    rows = [f'{"bs"[n % 2]};"a {n},\nb";x{n % 2}\n' for n in range(60)]
    path = tmp_path / "train.csv"
    path.write_text("other;review;stars\n" + "".join(rows), "utf-8")
    data = {"format": "csv", "delimiter": ";", "kind": "classification", "train": str(path)}
    data["columns"] = {"text": "review", "label": "stars"}
    run = tmp_path / "run"
    settings = config(data, str(shallow_bert), "linear", "feature_extraction")
    metrics = train(settings, run)
    assert metrics["splits"]["dev"].endswith(
        "equal texts and groups together; there is no dev file"
    )
    assert "6 of its 60 examples" in metrics["splits"]["dev"]
    assert len((run / "predictions" / "dev.tsv").read_text("utf-8").splitlines()) == 1 + 6
    assert train(settings, run) == metrics
    assert math.isfinite(evaluate_file(run, path)["loss"])
    assert predict_file(run, path, tmp_path / "out.jsonl", with_input=True) == 60
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert written[59]["review"] == "a 59,\nb"


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


def test_labels_that_the_run_does_not_know_are_refused(run, tmp_path):
    (tmp_path / "new.txt").write_text("Ann\tI-SHIP\n", "utf-8")
    with pytest.raises(DataError, match=r"B-SHIP.*new\.txt:1"):
        evaluate_file(run, tmp_path / "new.txt")


def test_n4_the_run_predicts_what_it_predicted_at_its_end(run, files, tmp_path):
    """And tags as JSON lines."""
    assert predict_file(run, files / "dev.txt", tmp_path / "dev.jsonl") == 60
    lines = (tmp_path / "dev.jsonl").read_text("utf-8").split("\n")[:-1]
    found = [json.loads(line) for line in lines]
    assert [tuple(one["tags"]) for one in found] == tags_of(run / "predictions" / "dev.tsv")
    assert [tuple(one["words"]) for one in found] == [one.words for one in read_conll(DEV)]
    assert all(len(one["scores"]) == len(one["tags"]) for one in found)


def test_n4_from_a_moved_folder_that_may_not_be_written(
    run, export, predicted, files, tmp_path, monkeypatch
):
    for folder, name in ((run, "run"), (export, "export")):
        moved = tmp_path / "elsewhere" / name
        shutil.copytree(folder, moved)
        for path in [*moved.rglob("*"), moved]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        before = {path: path.stat().st_mtime_ns for path in [moved, *moved.rglob("*")]}
        monkeypatch.chdir(moved.parent)
        predict_file(Path(name), files / "dev.txt", tmp_path / name)
        assert before == {path: path.stat().st_mtime_ns for path in [moved, *moved.rglob("*")]}
        assert (tmp_path / name).read_bytes() == (predicted / name).read_bytes()


def test_run_and_export_write_the_same_file(run, export, predicted, files):
    assert (predicted / "run").read_bytes() == (predicted / "export").read_bytes()
    written, given = read_conll(predicted / "run"), read_conll(DEV)
    assert [sentence.words for sentence in written] == [sentence.words for sentence in given]
    assert len({tag for sentence in written for tag in sentence.tags}) > 1
    found, expected = evaluate_file(export, files / "dev.txt"), dev_scores(run)
    assert set(found) == expected.keys() - {"loss"} | {"labels", "calibration"}
    assert {name: found.get(name) for name in expected} == pytest.approx(
        expected | {"loss": None}, abs=1e-5
    )
    with pytest.raises(ConfigError, match="expected no --signature for a run, got 'a'"):
        evaluate_file(run, files / "dev.txt", signature="a")
    with pytest.raises(ConfigError, match="expected no --task for an export, got 'a'"):
        evaluate_file(export, files / "dev.txt", name="a")


def test_an_export_in_bfloat16(tiny_run, finished_export, tmp_path):
    arguments = ["export", str(tiny_run), "--out", str(tmp_path / "half"), "--precision"]
    result = CliRunner().invoke(cli, [*arguments, "bfloat16"])
    assert result.exit_code == 0, result.output
    written, dev = [], SAMPLE_FOLDER / "pair_regression" / "dev.tsv"
    for export in (finished_export("pair_regression"), tmp_path / "half" / "1"):
        predict_file(export, dev, tmp_path / "found.jsonl")
        rows = [json.loads(line) for line in (tmp_path / "found.jsonl").read_text().splitlines()]
        written.append(np.array([row["prediction"] for row in rows]))
        said = "computes in bfloat16" in (export / "README.md").read_text("utf-8")
        assert said == (len(written) == 2)
    assert 0 < np.abs(written[0] - written[1]).max() < 0.1


def test_words_without_tags_are_enough(run, export, tmp_path):
    words = ["Ann", "met", "a\u2028b", "in", "Paris", "\u3000"]
    (tmp_path / "words.txt").write_text("\n".join([*words, "", "Rain"]) + "\n", "utf-8")
    for folder in (run, export):
        assert predict_file(folder, tmp_path / "words.txt", tmp_path / "out" / "tags.txt") == 2
        lines = (tmp_path / "out" / "tags.txt").read_text("utf-8").split("\n")
        assert [line.split("\t")[0] for line in lines] == [*words, "", "Rain", ""]


def test_pairs_without_scores_are_enough(tiny_run, finished_export, tmp_path):
    (tmp_path / "pairs.tsv").write_text("text_a\ttext_b\nIt rains .\tSun .\na\tb\n", "utf-8")
    folders = {"run": tiny_run, "export": finished_export("pair_regression")}
    found = {}
    for name, folder in folders.items():
        assert predict_file(folder, tmp_path / "pairs.tsv", tmp_path / name) == 2
        lines = (tmp_path / name).read_text("utf-8").splitlines()
        assert lines[0] == "prediction"
        found[name] = [float(line) for line in lines[1:]]
    np.testing.assert_allclose(found["run"], found["export"], atol=1e-5)
    assert len(found["run"]) == 2


def test_what_is_no_run_is_refused(tmp_path):
    (tmp_path / "other" / "notes").mkdir(parents=True)
    for folder in (tmp_path / "absent", tmp_path / "other" / "notes", tmp_path / "other"):
        with pytest.raises(ArtifactError, match="neither config.yaml nor manifest.json"):
            ta.load_run(folder)
        with pytest.raises(ArtifactError, match="expected the folder of a run or of an export"):
            predict_file(folder, DEV, tmp_path / "out.tsv")
    assert not (tmp_path / "out.tsv").exists()
    for version in ("9", "10"):
        (tmp_path / "exports" / version).mkdir(parents=True)
        (tmp_path / "exports" / version / "manifest.json").write_text("{}")
    with pytest.raises(ArtifactError, match=r"did you mean .*exports/10\?"):
        ta.load_run(tmp_path / "exports")
    with pytest.raises(ArtifactError, match="the folder of a run, got that of an export"):
        ta.load_run(tmp_path / "exports" / "9")


@pytest.fixture
def copy(tiny_run, tmp_path) -> Path:
    """A copy of a run, to be damaged."""
    return Path(shutil.copytree(tiny_run, tmp_path / "run"))


def test_a_run_before_its_first_epoch_is_refused(copy):
    (copy / "metrics.json").unlink()
    shutil.rmtree(copy / "checkpoint")
    with pytest.raises(ArtifactError, match="until the end of its first epoch"):
        ta.load_run(copy)


def test_damaged_best_weights_are_refused(copy):
    (path,) = (copy / "checkpoint").glob("best_*/model.npz")
    content = path.read_bytes()
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    for damaged in (flipped, content[:middle], None):
        path.unlink() if damaged is None else path.write_bytes(damaged)
        with pytest.raises(ArtifactError, match=r"best_0001/model\.npz"):
            ta.load_run(copy)


def test_weights_of_another_encoder_are_refused(copy):
    text = (copy / "config.yaml").read_text("utf-8").splitlines()
    changed = ["  handle: bert_small" if line.startswith("  handle:") else line for line in text]
    records.write(copy, "config.yaml", "\n".join(changed))
    with pytest.raises(ArtifactError, match="another module"):
        ta.load_run(copy)


def test_one_flipped_bit_of_a_description_is_refused(copy):
    """A label would come out as another word, or labels in another order."""
    for name in ("task.json", "config.yaml", "metrics.json"):
        before = (copy / name).read_bytes()
        content = bytearray(before)
        content[content.index(b"e")] ^= 1
        (copy / name).write_bytes(content)
        with pytest.raises(ArtifactError, match=f"{name}: its SHA-256 is not the one in record"):
            ta.load_run(copy)
        (copy / name).write_bytes(before)


def test_a_description_of_another_form_is_refused(copy):
    """Its hash fits, its keys do not."""
    before = json.loads((copy / "task.json").read_text("utf-8"))
    unknown = {"task": before["task"] | {"kind": "none"}}
    for changed in ({"task": []}, {"task": {}}, {"module": 3}, {"more": 1}, unknown):
        records.write(copy, "task.json", json.dumps(before | changed))
        with pytest.raises(ArtifactError, match=r"task\.json"):
            ta.load_run(copy)
    records.write(copy, "task.json", json.dumps(before | {"module": "0" * 64}))
    with pytest.raises(ArtifactError, match="trained on another module.*expected hash 000000"):
        ta.load_run(copy)


def test_a8_weights_that_do_not_fit(copy):
    """A8: one missing, one left over, one of another shape, a newer format; the record matches."""
    (best,) = (copy / "checkpoint").glob("best_*")
    arrays = checkpoints.read(best).arrays["model"]
    last = str(len(arrays) - 1)

    def refused(message: str, **groups) -> None:
        shutil.rmtree(best)
        checkpoints._write(best, groups, {})
        with pytest.raises(ArtifactError, match=message):
            ta.load_run(copy)

    less = {name: array for name, array in arrays.items() if name != last}
    refused(f"bias: expected {len(arrays)} arrays.*none for this weight .array {last}.", model=less)
    refused("array 'more'.*of shape .2,. for no weight", model=arrays | {"more": np.zeros(2)})
    refused("expected shape and type .*, got ..7,.", model=arrays | {last: np.zeros(7)})
    refused("none for this weight .array 0.", other=arrays)
    checkpoints._write(best.with_name("best_9999"), {"model": arrays}, {})
    record = json.loads((best / "record.json").read_text())
    (best / "record.json").write_text(json.dumps(record | {"format": 2}))
    with pytest.raises(ArtifactError, match="expected format 1, got 2; use the version"):
        ta.load_run(copy)


@pytest.fixture(scope="module")
def table_run(shallow_bert, tmp_path_factory) -> Path:
    """A run on the user's own tables, whose training file says which examples belong together."""
    folder = tmp_path_factory.mktemp("tables")
    for split in ("train", "dev"):
        answers = [("good", "yes"), ("bad", "no")] * 4
        rows = [f"{text} {n}\t{label}\t{n // 2}" for n, (text, label) in enumerate(answers)]
        (folder / f"{split}.tsv").write_text("\n".join(["text\tclass\tsource", *rows]), "utf-8")
    columns = {"text_a": "text", "label": "class", "group": "source"}
    data = {"format": "tsv", "kind": "classification", "columns": columns}
    data |= {split: str(folder / f"{split}.tsv") for split in ("train", "dev")}
    train(config(data, str(shallow_bert)), folder / "run")
    return folder / "run"


TABLES = {
    "tsv": "text\tclass\ngood\tyes\nso, bad\tno\n",
    "csv": 'text,class\ngood,yes\n"so, bad",no\n',
    "jsonl": '{"text": "good", "class": "yes"}\n{"text": "so, bad", "class": "no"}\n',
}


@pytest.fixture
def tables(tmp_path) -> dict[str, Path]:
    paths = {suffix: tmp_path / f"input.{suffix}" for suffix in TABLES}
    for suffix, path in paths.items():
        path.write_text(TABLES[suffix], "utf-8")
    return paths


def test_the_suffix_of_a_table_says_how_it_is_read(table_run, tables, tmp_path):
    tables["txt"] = tables["tsv"].with_suffix(".txt")  # the run's own format
    tables["txt"].write_text(TABLES["tsv"], "utf-8")
    data = run_config.saved_config(table_run).data
    for labelled in (True, False):  # without groups
        found = [read_file(path, of_file(path, data), labelled) for path in tables.values()]
        read = {tuple((one.text_a, one.label) for one in records) for records in found}
        assert read == {
            (("good", "yes" if labelled else None), ("so, bad", "no" if labelled else None))
        }
    assert predict_file(table_run, tables["jsonl"], tmp_path / "out.csv", with_input=True) == 2
    rows = list(csv.reader((tmp_path / "out.csv").read_text("utf-8").splitlines()))
    assert rows[0][:3] == ["text", "class", "prediction"] and sorted(rows[0][3:]) == ["no", "yes"]
    assert [row[0] for row in rows[1:]] == ["good", "so, bad"]


def test_nothing_is_written_over_what_is_read(table_run, tables, tmp_path, monkeypatch):
    (tmp_path / "link.tsv").symlink_to(tables["tsv"])
    (tmp_path / "hard.tsv").hardlink_to(tables["tsv"])
    weights = next(table_run.glob("checkpoint/best_*/model.npz"))
    data = table_run.with_name("train.tsv")
    before = {path: path.read_bytes() for path in (tables["tsv"], weights, data)}
    for output in (tables["tsv"], tmp_path / "link.tsv", tmp_path / "hard.tsv", weights):
        with pytest.raises(ConfigError, match="choose another name"):
            predict_file(table_run, tables["tsv"], output)
    for output in (weights, data):
        with pytest.raises(ConfigError, match="choose another name"):
            fisher_of_run(table_run, output)
    assert {path: path.read_bytes() for path in before} == before


def test_fisher_information_of_a_chain(table_run, run, tmp_path):
    first, second, none = (tmp_path / f"{name}.npz" for name in ("first", "second", "none"))
    command = ["fisher", str(table_run), "--examples", "4", "--out"]
    for arguments in ([first], [second, "--previous", first, "--gamma", "0.5"]):
        done = CliRunner().invoke(cli, [*command, *map(str, arguments)])
        assert done.exit_code == 0, done.output
    last, chain = load_fisher(first), load_fisher(second)
    assert sum(array.sum() for array in last.values()) > 0
    for name, array in last.items():
        np.testing.assert_allclose(chain[name], 1.5 * array, rtol=1e-6)
    done = CliRunner().invoke(cli, [*command, str(second), "--gamma", "0.5"])
    assert done.exit_code != 0 and "--gamma 0.5: expected --previous FILE" in done.output
    with pytest.raises(ConfigError, match="choose another name"):
        fisher_of_run(table_run, first, previous=first)
    with pytest.raises(ConfigError, match="fisher: .*estimate it with this encoder"):
        fisher_of_run(run, none, previous=first, sampled=False)  # of another encoder


def test_nothing_is_written_where_something_is_refused(table_run, tables, run, files, tmp_path):
    text = json.dumps({"text": "a\tb"})
    tables["jsonl"].write_text(text, "utf-8")
    with pytest.raises(DataError, match=r"input\.jsonl:1: expected a text on one line"):
        predict_file(table_run, tables["jsonl"], tmp_path / "out.tsv", with_input=True)
    with pytest.raises(ConfigError, match=r"expected \.jsonl for tagging"):
        predict_file(run, files / "dev.txt", tmp_path / "out.csv")
    assert not list(tmp_path.glob("*out*"))
    predict_file(table_run, tables["jsonl"], tmp_path / "out.tsv")
    predict_file(table_run, tables["jsonl"], tmp_path / "out.jsonl", with_input=True)
    assert json.loads((tmp_path / "out.jsonl").read_text("utf-8"))["text"] == "a\tb"


def test_from_standard_input_to_standard_output(table_run, tables, tmp_path):
    content = TABLES["tsv"].replace("good", "שלום").encode()
    environment = {"PYTHONIOENCODING": "latin-1"}
    predict = ["predict", str(table_run), "--input", "-", "--with-input", "--output"]
    found = CliRunner().invoke(cli, [*predict, "-"], input=content, env=environment)
    assert found.exit_code == 0, found.output
    assert found.stderr.splitlines()[-1] == "2 predictions: -"
    rows = found.stdout_bytes.decode("utf-8").splitlines()
    assert [row.split("\t")[0] for row in rows] == ["text", "שלום", "so, bad"]
    evaluate = ["evaluate", str(table_run), "--json", "--data"]
    found = CliRunner().invoke(cli, [*evaluate, "-"], input=TABLES["tsv"].encode())
    assert found.exit_code == 0, found.output
    assert found.stdout == CliRunner().invoke(cli, [*evaluate, str(tables["csv"])]).stdout
    wrong = content.replace("שלום".encode(), b"\xe9")
    found = CliRunner().invoke(cli, [*predict, "-"], input=wrong)
    assert found.exit_code == 3 and found.stdout == ""
    assert found.stderr.splitlines()[-1].startswith("DataError: <stdin>:2: expected UTF-8")


@needs_openvino
def test_a_run_is_scored_in_another_engine(table_run, tables, tmp_path, monkeypatch):
    cache = own_cache(tmp_path, monkeypatch)
    evaluate = ["evaluate", str(table_run), "--json", "--data", str(tables["csv"])]
    found = [CliRunner().invoke(cli, [*evaluate, *more]) for more in ([], ["--engine", "openvino"])]
    assert [one.exit_code for one in found] == [0, 0], found[1].output
    expected, reached = (json.loads(one.stdout) for one in found)
    assert reached.pop("labels") == expected.pop("labels")
    errors = [scores.pop("calibration")["ece"] for scores in (reached, expected)]
    assert errors[0] == pytest.approx(errors[1], abs=1e-5)
    assert reached == pytest.approx(expected, abs=1e-5)
    assert len(list(cache.iterdir())) == 1


def test_the_call_on_the_card_of_an_export_works(finished_export, capsys):
    """(In a process without our code: serving/test_export.py.)"""
    folder = finished_export("pair_regression")
    card = (folder / "README.md").read_text("utf-8")
    (snippet,) = re.findall("```python\n(.*?)```", card, re.DOTALL)
    exec(snippet.replace("THIS_FOLDER", str(folder)), {})
    assert "score" in capsys.readouterr().out
