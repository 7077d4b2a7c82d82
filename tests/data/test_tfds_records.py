"""TensorFlow Datasets as a source, without a network: its builders with examples of our own."""

from unittest import mock

import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

from tf_adapt.data.datasets import DATASETS, load_dataset
from tf_adapt.data.formats import Answers, Record, TaggedSentence
from tf_adapt.errors import DataError

PAIR = {"sentence1": "One.", "sentence2": "Two."}
SICK = {
    "sentence_a": "One.",
    "sentence_b": "Two.",
    "relatedness_score": 3.2,
    "entailment_judgment": 2,
}
SQUAD = {
    "id": "1",
    "title": "t",
    "question": "Who?",
    "context": "Ann did.",
    "answers": {"text": ["Ann"], "answer_start": [0]},
}
CONLL = {"tokens": ["EU", "says"], "pos": [22, 38], "chunks": [11, 21], "ner": [3, 0]}
NO_WORDS = {"tokens": [], "pos": [], "chunks": [], "ner": []}

# name: TFDS's name and dev split, an example as TFDS's builder yields it, the record it becomes.
CASES = {
    "sst2": (
        "glue/sst2:validation",
        {"sentence": "One.", "label": 1},
        Record("One.", None, "positive"),
    ),
    "mrpc": ("glue/mrpc:validation", PAIR | {"label": 1}, Record("One.", "Two.", "equivalent")),
    "stsb": ("glue/stsb:validation", PAIR | {"label": 2.5}, Record("One.", "Two.", 2.5)),
    "cola": (
        "glue/cola:validation",
        {"sentence": "One.", "label": 0},
        Record("One.", None, "unacceptable"),
    ),
    "mnli": (
        "glue/mnli:validation_matched",
        {"premise": "One.", "hypothesis": "Two.", "label": 2},
        Record("One.", "Two.", "contradiction"),
    ),
    "squad": ("squad/v1.1:validation", SQUAD, Record("Who?", "Ann did.", Answers(("Ann",), (0,)))),
    "squad_v2": (
        "squad/v2.0:validation",
        SQUAD
        | {"answers": {"text": [], "answer_start": []}}
        | {"is_impossible": True, "plausible_answers": {"text": [], "answer_start": []}},
        Record("Who?", "Ann did.", Answers()),
    ),
    "sick_e": ("sick:validation", SICK, Record("One.", "Two.", "CONTRADICTION")),
    "sick_r": ("sick:validation", SICK, Record("One.", "Two.", 3.2)),
}


def _mocked(*examples):
    def as_dataset(self, *arguments, **options):
        features = self.info.features
        full = [{"idx": index, **example} for index, example in enumerate(examples)]
        encoded = [{key: example[key] for key in features} for example in full]
        return tf.data.Dataset.from_generator(
            lambda: encoded,
            output_types=features.dtype,
            output_shapes=features.shape,
        )

    return tfds.testing.mock_data(as_dataset_fn=as_dataset)


@pytest.mark.parametrize("name", CASES)
def test_examples_become_the_same_records_as_from_files(name):
    where, example, expected = CASES[name]
    with _mocked(example, example):
        records = load_dataset(name, "dev", source="tfds")
    assert [record.where for record in records] == [f"{where}[0]", f"{where}[1]"]
    for record in records:
        assert (record.text_a, record.text_b) == (expected.text_a, expected.text_b)
        assert record.label == (
            pytest.approx(expected.label) if isinstance(expected.label, float) else expected.label
        )


def test_conll2003_in_every_scheme_without_the_empty_sentence():
    tags = {"IOB2": ("B-ORG", "O"), "IOB1": ("I-ORG", "O"), "BIOES": ("S-ORG", "O")}
    for scheme, expected in tags.items():
        with _mocked(CONLL, NO_WORDS):
            sentences = load_dataset("conll2003", "dev", source="tfds", scheme=scheme)
        assert sentences == [TaggedSentence(("EU", "says"), expected, "conll2003:dev[0]")]


def test_tags_are_checked_strictly():
    with (
        _mocked(CONLL | {"ner": [0, 4]}),
        pytest.raises(DataError, match=r"conll2003:dev\[0\], word 2: tag 'I-ORG' is not legal"),
    ):
        load_dataset("conll2003", "dev", source="tfds")


def test_trec_is_cut_as_from_files():
    examples = [
        {"text": f"What is {i} ?", "label-coarse": i % 6, "label-fine": 0} for i in range(200)
    ]
    with _mocked(*examples):
        train, dev, test = (
            load_dataset("trec", s, source="tfds") for s in ("train", "dev", "test")
        )
    assert len(test) == 200
    assert len(train) + len(dev) == 200
    assert 5 < len(dev) < 40
    assert {record.text_a for record in train + dev} == {record.text_a for record in test}
    assert [test[i].label for i in range(6)] == ["DESC", "ENTY", "ABBR", "HUM", "NUM", "LOC"]


@pytest.mark.parametrize("name", [name for name, info in DATASETS.items() if info.tfds])
def test_labels_and_features_of_the_installed_builders_are_the_table_s(name):
    info = DATASETS[name]
    import tf_adapt.data.tfds.sick  # noqa: F401

    with tfds.testing.mock_data():
        features = tfds.builder(info.tfds.name).info.features
    assert info.tfds.text_a in features
    assert info.tfds.text_b is None or info.tfds.text_b in features
    label = features[info.tfds.label]
    if info.kind == "tagging":
        assert set(label.feature.names) == set(info.labels)
    elif info.kind == "span_extraction":
        assert set(label.feature) == {"text", "answer_start"}
    elif info.labels:
        assert tuple(label.names) == info.labels
    else:
        assert label.dtype == "float32"


@pytest.mark.parametrize(
    ("example", "message"),
    [
        (
            {"sentence": "One.", "label": -1},
            r"validation\[0\]: expected a label, got -1; the labels",
        ),
        ({"sentence": "", "label": 1}, r"validation\[0\]: expected a text in column 'sentence'"),
        ({"sentence": b"\xff", "label": 1}, r"validation\[0\]: expected UTF-8 in 'sentence'"),
    ],
)
def test_faulty_examples_are_named(example, message):
    with _mocked(example), pytest.raises(DataError, match=message):
        load_dataset("sst2", "dev", source="tfds")


def test_an_empty_split_is_refused():
    with _mocked(), pytest.raises(DataError, match="no examples in glue/sst2:train"):
        load_dataset("sst2", "train", source="tfds")


@pytest.mark.parametrize("name", ["sst2", "stsb", "cola", "mnli"])
def test_splits_without_public_labels_are_refused(name):
    with pytest.raises(DataError, match=f"{name}: no test split with public labels in source tfds"):
        load_dataset(name, "test", source="tfds")


def test_what_cannot_be_downloaded_is_a_data_error_with_the_way_out(tmp_path):
    failure = ConnectionError("Max retries\nexceeded")
    builder = "tensorflow_datasets.core.dataset_builder.DatasetBuilder.download_and_prepare"
    with (
        mock.patch(builder, side_effect=failure),
        pytest.raises(DataError) as error,
    ):
        load_dataset("mrpc", "train", source="tfds", data_dir=tmp_path)
    assert str(error.value) == (
        "glue/mrpc:train: cannot be loaded from TensorFlow Datasets (ConnectionError: Max retries "
        "exceeded); download it once where there is a network and name the folder as data_dir, "
        "or use source: files"
    )


def test_retries_are_few_and_only_while_loading(tmp_path):
    from tensorflow_datasets.core.download import downloader

    before = downloader.MAX_RETRIES
    seen = []

    def load(*arguments, **options):
        seen.append(downloader.MAX_RETRIES)
        raise OSError("no network")

    with mock.patch.object(tfds, "load", load), pytest.raises(DataError):
        load_dataset("mrpc", "train", source="tfds", data_dir=tmp_path)
    assert seen == [4]
    assert before == downloader.MAX_RETRIES


def _download(result):
    return mock.patch.object(
        tfds.download.DownloadManager, "download_and_extract", lambda self, urls: result
    )


def _contents(records):
    return sorted((record.text_a, record.label) for record in records)


def test_trec_as_tfds_parses_it_is_trec_as_we_parse_it(shared, tmp_path):
    folder = shared / "data" / "trec"
    path = folder / "train_5500.label"
    with _download(result={"train": path, "test": path}):
        parsed = load_dataset("trec", "dev", source="tfds", data_dir=tmp_path)
    assert _contents(parsed) == _contents(load_dataset("trec", "dev", data_dir=folder))


@pytest.mark.slow
def test_cola_as_tfds_parses_it_is_cola_as_we_parse_it(shared, tmp_path):
    folder = shared / "data" / "cola"
    copy = tmp_path / "download" / "CoLA"
    copy.mkdir(parents=True)
    for name in ("train.tsv", "dev.tsv"):
        lines = (folder / name).read_text("utf-8").splitlines(keepends=True)
        (copy / name).write_text("".join(lines[:500]), "utf-8")
    (copy / "test.tsv").write_text("index\tsentence\n0\tOne.\n")
    with _download(result=str(tmp_path / "download")):
        parsed = load_dataset("cola", "train", source="tfds", data_dir=tmp_path / "tfds")
    assert _contents(parsed) == _contents(load_dataset("cola", "train", data_dir=copy))
