"""Datasets of TensorFlow Datasets that the project does not know, written by its own writer."""

import logging
import shutil

import numpy as np
import pytest
import tensorflow_datasets as tfds

import tf_adapt as ta
from tf_adapt.config.data_sections import TfdsConfig
from tf_adapt.config.paths import resolve_paths
from tf_adapt.config.reading import config_from, dump_config, load_config
from tf_adapt.data.check import check_data
from tf_adapt.data.formats import Record
from tf_adapt.data.splits.read_splits import has_test, load_splits
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.training.finished.run_export import export_run
from tf_adapt.training.finished.trained_run import evaluate_file, predict_file
from tf_adapt.training.train import train

F = tfds.features
FEATURES = F.FeaturesDict(
    {
        "description": F.Text(),
        "title": F.Text(),
        "label": F.ClassLabel(names=["World", "Sports", "Business"]),
        "stars": F.Scalar(np.float32),
        "source": np.int64,
        "topics": F.Sequence(F.ClassLabel(names=["x", "y"])),
        "image": F.Image(shape=(1, 1, 3)),
        "part": {"text": F.Text()},
    }
)


def _example(number: int, label: int = 0) -> dict:
    return {
        "description": f"é text {number}",
        "title": f"title {number}",
        "label": label,
        "stars": number / 2,
        "source": number // 2,
        "topics": [0, 1][: number % 3],
        "image": np.zeros((1, 1, 3), np.uint8),
        "part": {"text": "a"},
    }


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tfds")
    splits = {
        "train": [_example(number, number % 2) for number in range(60)],
        "validation": [_example(number, number % 2) for number in range(100, 104)],
        "test": [_example(200, 1), _example(201, 0)],
        "secret": [_example(300, -1)],
        "no_text": [_example(300) | {"title": " "}],
    }
    tfds.dataset_builders.store_as_tfds_dataset(
        name="tiny_news",
        version="1.0.0",
        features=FEATURES,
        split_datasets={split: list(enumerate(rows)) for split, rows in splits.items()},
        data_dir=folder,
        disable_shuffling=True,
    )
    return folder


def _section(data_dir, kind="classification", **changes) -> TfdsConfig:
    columns = {"text_a": "description", "label": "label"}
    section = {"name": "tiny_news", "kind": kind, "columns": columns, "data_dir": str(data_dir)}
    return TfdsConfig(**section | changes)


def test_named_splits_and_classes(data_dir, caplog):
    caplog.set_level(logging.INFO)
    data = _section(data_dir, dev="validation", test="test")
    assert has_test(data)
    splits = load_splits(data)
    assert {split: len(found) for split, found in splits.examples.items()} == {
        "train": 60,
        "dev": 4,
        "test": 2,
    }
    assert splits.labels == ["World", "Sports", "Business"]
    assert splits.examples["test"][0] == Record("é text 200", None, "Sports", "tiny_news:test[0]")
    assert splits.descriptions["dev"] == "dev (TensorFlow Datasets, tiny_news:validation)"
    assert "tiny_news: not read: secret, no_text; " in caplog.text


def test_train_alone_and_held_out(data_dir):
    data = _section(data_dir)
    assert not has_test(data)
    splits = load_splits(data)
    assert (len(splits.examples["train"]), len(splits.examples["dev"])) == (54, 6)
    assert splits.descriptions["dev"].endswith("; data.dev names no split")
    again = load_splits(_section(data_dir, train="train[:100%]"))
    assert [one.text_a for one in again.examples["dev"]] == [
        one.text_a for one in splits.examples["dev"]
    ]
    held_out = load_splits(_section(data_dir, dev="validation", held_out=0.1))
    assert len(held_out.examples["dev"]) == 6 and len(held_out.examples["test"]) == 4
    parts = load_splits(_section(data_dir, train="train[:50%]", dev="train[50%:]"))
    assert len(parts.examples["train"]) == len(parts.examples["dev"]) == 30


@pytest.mark.parametrize(
    ("kind", "columns", "labels", "record"),
    [
        (
            "pair_classification",
            {"text_a": "title", "text_b": "description", "label": "label"},
            ["World", "Sports", "Business"],
            Record("title 3", "é text 3", "Sports"),
        ),
        ("regression", {"text_a": "title", "label": "stars"}, None, Record("title 3", None, 1.5)),
        ("regression", {"text_a": "title", "label": "source"}, None, Record("title 3", None, 1.0)),
        (
            "multilabel_classification",
            {"text_a": "title", "label": "topics"},
            ["x", "y"],
            Record("title 2", None, ("x", "y")),
        ),
        (
            "classification",
            {"text_a": "title", "label": "source", "group": "source"},
            sorted(map(str, range(30))),
            Record("title 3", None, "1", group="1"),
        ),
    ],
)
def test_kinds(data_dir, kind, columns, labels, record):
    splits = load_splits(_section(data_dir, kind, columns=columns, dev="train"))
    assert splits.labels == labels
    where = f"tiny_news:train[{record.text_a.split()[-1]}]"
    (found,) = [one for one in splits.examples["train"] if one.where == where]
    assert (found.text_a, found.text_b, found.label, found.group) == (
        record.text_a,
        record.text_b,
        record.label,
        record.group,
    )
    assert type(found.label) is type(record.label)
    check_data(splits)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"name": "tiny_newz"}, ConfigError, r"data_dir \(tiny_news\), got 'tiny_newz'; did you"),
        ({"name": "mrpc"}, ConfigError, "got 'mrpc'; this project reads it .* dataset: mrpc"),
        ({"name": "glue/mrcp"}, ConfigError, "data.name: .*mrcp not found"),
        (
            {"columns": {"text_a": "text", "label": "label"}},
            ConfigError,
            r"data.columns.text_a: expected one of the features of tiny_news: .*title \(Text\).*"
            "got 'text'",
        ),
        (
            {"columns": {"text_a": "image", "label": "label"}},
            ConfigError,
            r"text_a: expected a text, got 'image', which is of another type; .*image \(Image\)",
        ),
        ({"columns": {"text_a": "part", "label": "label"}}, ConfigError, "got 'part', which is"),
        ({"columns": {"text_a": "label", "label": "label"}}, ConfigError, "got 'label', which is"),
        (
            {"columns": {"text_a": "title", "label": "stars"}},
            ConfigError,
            "label: expected a class or a text or a whole number for kind: classification, got",
        ),
        ({"kind": "regression"}, ConfigError, "expected a number or a whole number for kind"),
        ({"kind": "multilabel_classification"}, ConfigError, "expected classes or texts for kind"),
        ({"dev": "dev"}, ConfigError, r"data.dev: .* \(train, validation, .*got 'dev': Unknown"),
        ({"train": "train["}, ConfigError, r"data.train: expected a split .* or a part such as"),
        ({"dev": "secret"}, DataError, r"tiny_news:secret\[0\]: .* labels of this split are not"),
        (
            {"dev": "no_text", "columns": {"text_a": "title", "label": "label"}},
            DataError,
            r"tiny_news:no_text\[0\]: expected a text in column 'title', got an empty one",
        ),
        ({"labels": ["World"]}, DataError, "expected the labels 'World'.*'Sports', first at tiny"),
        ({"train": "validation"}, DataError, "tiny_news: expected at least 50 examples"),
    ],
)
def test_what_does_not_fit_is_named(data_dir, changes, error, message):
    with pytest.raises(error, match=message):
        load_splits(_section(data_dir, **changes))


def test_damaged_files_are_a_data_error(data_dir, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(data_dir, folder)
    (path,) = folder.rglob("*train.tfrecord*")
    content = bytearray(path.read_bytes())
    content[20] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match="tiny_news:train: cannot be loaded .*DataLossError"):
        load_splits(_section(folder))


def test_in_python(data_dir):
    columns = {"text": "description", "label": "label"}
    options = {"source": "tfds", "data_dir": data_dir}
    found = ta.load_dataset("tiny_news", "validation", columns=columns, **options)
    assert [one.label for one in found] == ["World", "Sports"] * 2
    scores = ta.load_dataset(
        "tiny_news", "train[:2]", columns={"text": "title", "label": "source"}, **options
    )
    assert [one.label for one in scores] == [0, 0]
    texts = ta.load_dataset("tiny_news", "test", columns={"text": "title"}, **options)
    assert texts[0] == Record("title 200", where="tiny_news:test[0]")
    with pytest.raises(ConfigError, match="expected text, or text_a and text_b, .* got 'label'"):
        ta.load_dataset("tiny_news", "test", columns={"label": "label"}, **options)
    with pytest.raises(ConfigError, match="none but with source: tfds"):
        ta.load_dataset("tiny_news", "test", columns=columns)


def _content(folder, **changes) -> dict:
    data = {"source": "tfds", "name": "tiny_news", "kind": "classification"}
    data |= {"columns": {"text": "description", "label": "label"}, "data_dir": str(folder)}
    return {
        "data": data | changes,
        "encoder": {"handle": "bert_small"},
        "adaptation": "freeze",
        "training": {"epochs": 1, "batch_size": 8, "learning_rate": 0.001},
    }


def test_config(data_dir, tmp_path):
    config = config_from(_content(data_dir, dev="validation"), "here")
    assert resolve_paths(config) == config
    (tmp_path / "config.yaml").write_text(dump_config(config), "utf-8")
    assert load_config(tmp_path / "config.yaml") == config
    report = check_data(load_splits(config.data))
    assert report["dataset"] == "tiny_news"
    assert report["train"]["labels"] == {"Sports": 30, "World": 30}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "huggingface:tiny"}, "data.name: expected a name of TensorFlow Datasets: NAME"),
        ({"name": "../x"}, "data.name: expected a name of TensorFlow Datasets: NAME"),
        ({"source": "files"}, "data.source: expected tfds, got 'files'"),
        ({"kind": "tagging"}, "data.kind: expected classification, .* got 'tagging'"),
        ({"columns": {"text": "title"}}, "data.columns.label: needed for kind: classification"),
        ({"columns": {"text_b": "title", "text": "a", "label": "b"}}, "text_b: not a column of"),
        ({"columns": {"words": "title"}}, "data.columns.words: unknown key"),
        ({"data_dir": "a\0b"}, "data.data_dir: expected the path of a file or folder"),
    ],
)
def test_faulty_configs(changes, message):
    with pytest.raises(ConfigError, match=message):
        config_from(_content("x", **changes), "here")


def test_a_name_under_the_wrong_key_is_told_the_right_ones():
    content = _content("x") | {"data": {"source": "tfds", "dataset": "ag_news_subset"}}
    with pytest.raises(ConfigError, match="others of TensorFlow Datasets: name, kind, columns"):
        config_from(content, "here")
    content["data"] |= {"kind": "classification", "columns": {"text": "a", "label": "b"}}
    with pytest.raises(ConfigError, match="data.dataset: unknown key.*data.name: expected a name"):
        config_from(content, "here")


@pytest.mark.slow
def test_a_run_on_it_reads_tables_with_columns_of_the_same_names(data_dir, tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("é 0.1 0.2\ntext 0.3 -0.4\n", "utf-8")
    content = _content(data_dir) | {"encoder": {"handle": str(vectors)}, "head": "linear"}
    run = tmp_path / "run"
    metrics = train(config_from(content, "here"), run)
    assert metrics["dataset"] == "tiny_news"
    table = tmp_path / "new.csv"
    table.write_text("label,description\nSports,a b\nWorld,c\n", "utf-8")
    assert 0 <= evaluate_file(run, table)["accuracy"] <= 1
    for folder in (run, export_run(run, tmp_path / "export")):
        assert predict_file(folder, table, tmp_path / "out.jsonl") == 2
