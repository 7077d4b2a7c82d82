import subprocess
import sys
from collections import Counter
from types import SimpleNamespace

import pytest

from tf_adapt.data.datasets import (
    DATASETS,
    dataset_info,
    dataset_labels,
    load_dataset,
    read_file,
    split_description,
)
from tf_adapt.data.formats import TaggedSentence
from tf_adapt.data.labels import label_set
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.tasks.kinds import KINDS

# Sizes and class counts as the publishers give them; the two parts of TREC add up to its 5,452.
REAL = {
    ("conll2003", "train"): ("conll2003", 14_041),
    ("conll2003", "dev"): ("conll2003", 3_250),
    ("sst2_sentences", "train"): ("sst2", {"positive": 3_610, "negative": 3_310}),
    ("sst2_sentences", "dev"): ("sst2", {"positive": 444, "negative": 428}),
    ("sst2", "train"): ("sst2", {"positive": 37_569, "negative": 29_780}),
    ("sst2", "dev"): ("sst2", {"positive": 444, "negative": 428}),
    ("sick_e", "train"): ("sick", {"NEUTRAL": 2_536, "ENTAILMENT": 1_299, "CONTRADICTION": 665}),
    ("sick_e", "dev"): ("sick", {"NEUTRAL": 282, "ENTAILMENT": 144, "CONTRADICTION": 74}),
    ("sick_r", "train"): ("sick", 4_500),
    ("sick_r", "dev"): ("sick", 500),
    ("mrpc", "train"): ("mrpc", {"equivalent": 2_474, "not_equivalent": 1_194}),
    ("mrpc", "dev"): ("mrpc", {"equivalent": 279, "not_equivalent": 129}),
    ("stsb", "train"): ("stsb", 5_749),
    ("stsb", "dev"): ("stsb", 1_500),
    ("mnli", "train"): ("multinli", 12_988),
    ("mnli", "dev"): (
        "multinli",
        {"entailment": 3_479, "neutral": 3_123, "contradiction": 3_213},
    ),
    ("cola", "train"): ("cola", {"acceptable": 6_023, "unacceptable": 2_528}),
    ("cola", "dev"): ("cola", {"acceptable": 721, "unacceptable": 322}),
    ("trec", "train"): ("trec", 4_912),
    ("trec", "dev"): ("trec", 540),
    ("squad", "train"): ("squad", 11_877),  # a part of 87,599
    ("squad", "dev"): ("squad", 10_570),
    ("squad_v2", "dev"): ("squad", 10_570),  # read by the same reader; 2.0 is not here
}
SAMPLES = [name for name in DATASETS if name.startswith("sample_")]


@pytest.mark.parametrize(("name", "split"), REAL)
def test_real_datasets_have_their_official_counts(shared, name, split):
    folder, expected = REAL[name, split]
    examples = load_dataset(name, split, data_dir=shared / "data" / folder)
    if isinstance(expected, dict):
        assert Counter(record.label for record in examples) == expected
    else:
        assert len(examples) == expected


def test_every_dataset_is_covered():
    assert {name for name, _ in REAL} | set(SAMPLES) == set(DATASETS)


@pytest.mark.slow
def test_conll2003_tokens_schemes_and_documents(shared):
    folder = shared / "data" / "conll2003"
    iob2 = load_dataset("conll2003", "train", data_dir=folder)
    assert sum(len(sentence.words) for sentence in iob2) == 203_621
    assert iob2[-1].document == 945  # 946 documents, counted from 0
    assert set(label_set(iob2, "train")) == set(dataset_labels("conll2003"))
    bioes = load_dataset("conll2003", "dev", data_dir=folder, scheme="BIOES")
    assert set(label_set(bioes, "dev")) == set(dataset_labels("conll2003", "BIOES"))
    iob1 = load_dataset("conll2003", "train", data_dir=folder, scheme="IOB1")
    lines = (folder / "eng.train").read_text().split("\n")
    for sentence in iob1:
        start = int(sentence.where.rpartition(":")[2])
        rows = lines[start - 1 : start - 1 + len(sentence.words)]
        for line, word, tag in zip(rows, sentence.words, sentence.tags, strict=True):
            assert (line.split(" ")[0], line.split(" ")[3]) == (word, tag)


def test_trec_dev_is_a_part_of_train_that_shares_no_text_with_the_rest(shared):
    folder = shared / "data" / "trec"
    parts = [load_dataset("trec", split, data_dir=folder) for split in ("train", "dev")]
    assert sum(map(len, parts)) == 5_452
    train, dev = ({record.text_a for record in part} for part in parts)
    assert not train & dev
    assert Counter(r.label for part in parts for r in part) == {
        "DESC": 1162, "ENTY": 1250, "ABBR": 86, "HUM": 1223, "NUM": 896, "LOC": 835,
    }  # fmt: skip


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_ship_with_the_package(name):
    train, dev = (load_dataset(name, split, source="sample") for split in ("train", "dev"))
    assert (len(train), len(dev)) == ((72, 24) if name == "sample_dialog" else (150, 60))
    if DATASETS[name].labels:
        assert set(label_set(train, "train")) == set(DATASETS[name].labels)
    with pytest.raises(DataError, match=f"{name}: no test split with public labels in source sam"):
        load_dataset(name, "test", source="sample")


@pytest.mark.parametrize("split", ["train", "dev"])
def test_sets_and_percentages_are_counted_from_the_tags(split):
    tagged, sets, numbers = (
        load_dataset(f"sample_{kind}", split, source="sample")
        for kind in ("tagging", "multilabel_classification", "regression")
    )
    for sentence, labelled, counted in zip(tagged, sets, numbers, strict=True):
        inside = [tag.split("-")[1] for tag in sentence.tags if tag != "O"]
        assert labelled.text_a == counted.text_a == " ".join(sentence.words)
        assert labelled.label == tuple(sorted(set(inside)))
        assert abs(counted.label - 100 * len(inside) / len(sentence.words)) <= 0.5


def test_rows_of_the_table_are_consistent():
    for name, info in DATASETS.items():
        assert (info.labels is None) == ("labels" not in KINDS[info.kind].arguments), name
        assert (info.label_range is None) == ("label_range" not in KINDS[info.kind].arguments), name
        assert (info.scheme is None) == (info.kind != "tagging"), name
        assert info.metric in KINDS[info.kind].metrics, name
        assert "train" in info.files, name
        source = "sample" if info.folder else "files"
        for split in info.files:
            assert split_description(name, split, source).startswith(f"{name} {split} ("), name


def test_sst2_is_the_papers_from_every_source(tmp_path, caplog):
    sentences = "sentence\tlabel\na whole sentence .\t1\n"
    (tmp_path / "train.tsv").write_text(sentences, "utf-8")
    with pytest.raises(DataError, match="file train_phrases.tsv .* train.tsv there has whole sent"):
        load_dataset("sst2", "train", data_dir=tmp_path)
    (tmp_path / "train_phrases.tsv").write_text("sentence\tlabel\na phrase \t1\n", "utf-8")
    assert load_dataset("sst2", "train", data_dir=tmp_path)[0].text_a == "a phrase "
    assert "sst2 trains on train_phrases.tsv; train.tsv there has whole sentences" in caplog.text
    with pytest.raises(ConfigError, match="expected 'sst2', as 'sst2_phrases' is called now"):
        load_dataset("sst2_phrases", "train", data_dir=tmp_path)
    with pytest.raises(ConfigError, match="source: expected files for sst2_sentences, got 'tfds'"):
        load_dataset("sst2_sentences", "train", "tfds")


def test_split_descriptions():
    assert split_description("sst2_sentences", "train") == "sst2_sentences train (file train.tsv)"
    assert split_description("sst2", "train", "tfds") == (
        "sst2 train (TensorFlow Datasets, glue/sst2:train): the labelled phrases of the train "
        "sentences (GLUE's train file)"
    )
    assert split_description("trec", "dev") == (
        "trec dev (file train_5500.label): the 10 % of train that a hash of the text picks "
        "(seed 13); there is no dev split of its own"
    )
    assert "all but the 10 % of train" in split_description("trec", "train", "tfds")
    assert "hash" not in split_description("trec", "test")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("mprc", "train"), "dataset: expected one of conll2003, .*did you mean mrpc"),
        (("mrpc", "validation"), "split: expected one of train, dev, test, got 'validation'"),
        (("mrpc", "train", "web"), "source: expected one of files, tfds, sample, got 'web'"),
        (("mrpc", "train", "sample"), "source: expected files or tfds for mrpc, got 'sample'"),
        (("sample_tagging", "train"), "source: expected sample for sample_tagging, got 'files'"),
        (("mrpc", "train"), r"data_dir: expected the folder of mrpc's files \(train.tsv \(train"),
        (("conll2003", "dev", "files", "x", "BIO"), "scheme: expected one of IOB1, IOB2, BIOES"),
    ],
)
def test_wrong_names_are_config_errors(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "eng.testa").write_text("a N O O\n")
    with pytest.raises(ConfigError, match=message):
        load_dataset(*arguments)


def test_missing_files_are_named_with_what_the_dataset_expects(tmp_path):
    with pytest.raises(DataError, match=r"train.tsv \(mrpc train\), got a folder without it; the"):
        load_dataset("mrpc", "train", data_dir=tmp_path)
    with pytest.raises(DataError, match=r"absent: expected the file eng.testb .*no such folder"):
        load_dataset("conll2003", "test", data_dir=tmp_path / "absent")
    with pytest.raises(DataError, match="mnli: no test split with public labels in source files"):
        load_dataset("mnli", "test", data_dir=tmp_path)


def test_the_test_split_is_read_where_its_file_is(tmp_path):
    text = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n1\t1\t2\tA.\tB.\r\n"
    (tmp_path / "msr_paraphrase_test.txt").write_bytes(b"\xef\xbb\xbf" + text.encode())
    (record,) = load_dataset("mrpc", "test", data_dir=tmp_path)
    assert (record.text_a, record.text_b, record.label) == ("A.", "B.", "equivalent")


def test_labels_are_checked_against_the_table(tmp_path):
    (tmp_path / "eng.train").write_text("a N O I-PERS\n")
    with pytest.raises(DataError, match="conll2003 train: .*'B-PERS', first at .*eng.train:1"):
        load_dataset("conll2003", "train", data_dir=tmp_path)
    (tmp_path / "sts-dev.csv").write_text("x\tx\tx\tx\t6\ta\tb\n")
    with pytest.raises(DataError, match="sts-dev.csv:1: expected a label from 0 to 5, got 6"):
        load_dataset("stsb", "dev", data_dir=tmp_path)


def _own(**changes):
    columns = {"text_a": "text", "text_b": None, "label": "label", "words": None, "tags": None}
    data = {"format": "tsv", "kind": "classification", "columns": columns, "scheme": "IOB2"}
    data |= {"delimiter": None, "skip_unlabelled": False, "memory_mb": 1}
    return SimpleNamespace(**(data | changes))


def test_one_file_of_a_named_dataset(tmp_path):
    path = tmp_path / "file"
    path.write_text("a N O I-PER\nb N O B-PER\n")
    data = SimpleNamespace(dataset="conll2003", memory_mb=1)
    assert read_file(path, data) == [TaggedSentence(("a", "b"), ("B-PER", "B-PER"), f"{path}:1")]
    assert read_file(path, data, labelled=False)[0].tags is None
    with pytest.raises(ConfigError, match="dataset: expected one of"):
        read_file(path, SimpleNamespace(dataset="mprc"))


@pytest.mark.parametrize(
    ("kind", "format_name", "text", "label"),
    [
        ("classification", "tsv", "label\ttext\n1\ta\n", "1"),
        ("classification", "csv", 'label,text\n1,"a"\n', "1"),
        ("classification", "jsonl", '{"text": "a", "label": 1}\n', "1"),
        ("pair_regression", "tsv", "label\ttext\n1\ta\n", 1.0),
        ("pair_regression", "jsonl", '{"text": "a", "label": 1}\n', 1.0),
    ],
)
def test_one_file_of_ones_own(tmp_path, kind, format_name, text, label):
    path = tmp_path / "file"
    path.write_text(text)
    (record,) = read_file(path, _own(kind=kind, format=format_name))
    assert (record.text_a, record.label) == ("a", label)
    (record,) = read_file(path, _own(kind=kind, format=format_name), labelled=False)
    assert record.label is None


def test_own_tags_are_checked_in_the_declared_scheme_and_stay(tmp_path):
    path = tmp_path / "file"
    path.write_text("O a\nI-X b\n")
    columns = {"words": 1, "tags": 0}
    data = _own(kind="tagging", format="conll", columns=columns, scheme="IOB1")
    assert read_file(path, data)[0].tags == ("O", "I-X")
    data.scheme = "IOB2"
    with pytest.raises(DataError, match="file:2: tag 'I-X' is not legal in the scheme IOB2"):
        read_file(path, data)
    assert read_file(path, data, labelled=False)[0].words == ("a", "b")


def test_format_and_kind_must_fit(tmp_path):
    with pytest.raises(ConfigError, match="data.format: expected conll or jsonl for kind tagging"):
        read_file(tmp_path, _own(kind="tagging"))
    with pytest.raises(ConfigError, match="expected tsv, csv or jsonl for kind classification"):
        read_file(tmp_path, _own(format="conll"))


def test_labels_of_datasets():
    assert dataset_labels("mrpc") == ["not_equivalent", "equivalent"]
    assert dataset_labels("stsb") is None
    assert len(dataset_labels("conll2003")) == 9
    assert len(dataset_labels("sample_tagging", "BIOES")) == 17
    assert dataset_info("cola").metric == "matthews"


def test_reading_needs_no_tensorflow():
    code = (
        "import sys; from tf_adapt.data.datasets import load_dataset;"
        "load_dataset('sample_tagging', 'train', source='sample');"
        "sys.exit(any(name in sys.modules for name in ('tensorflow', 'keras', 'numpy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
