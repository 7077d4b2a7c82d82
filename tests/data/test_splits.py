import json
import random
import re
from collections import Counter

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from tf_adapt.config.data_sections import DatasetConfig, FilesConfig, TextConfig
from tf_adapt.data.datasets import load_dataset, read_file
from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.own_files import recognised
from tf_adapt.data.packing.prepare import task_of
from tf_adapt.data.splits import equal_splits
from tf_adapt.data.splits.cut import cut_off
from tf_adapt.data.splits.fingerprints import fingerprint
from tf_adapt.data.splits.kinds import KINDS
from tf_adapt.data.splits.read_splits import has_test, load_splits
from tf_adapt.data.splits.strata import evenly_picked
from tf_adapt.errors import ConfigError, DataError


def own_files(folder, kind="classification", **changes) -> FilesConfig:
    section = {
        "format": "conll" if kind == "tagging" else "tsv",
        "kind": kind,
        "train": str(folder / "train"),
        "dev": str(folder / "dev"),
        "columns": {"words": 0, "tags": 1}
        if kind == "tagging"
        else {"text_a": "text", "label": "label"},
    }
    return FilesConfig(**section | changes)


def write(folder, **files):
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")


def test_named_dataset_with_a_subset_of_train():
    data = DatasetConfig(dataset="sample_classification", source="sample")
    whole = load_splits(data)
    part = load_splits(data.model_copy(update={"train_examples": 10}))
    assert whole.kind == "classification"
    assert whole.metric == "accuracy"
    assert sorted(whole.examples) == ["dev", "train"]
    order = [whole.examples["train"].index(record) for record in part.examples["train"]]
    assert len(order) == 10
    assert order == sorted(order)
    assert order != list(range(10))
    assert part.descriptions["train"].endswith(": 10 examples of 150")
    again = load_splits(data.model_copy(update={"train_examples": 10}))
    assert again.examples == part.examples
    more = load_splits(data.model_copy(update={"train_examples": 1000}))
    assert more.examples == whole.examples


def test_a_split_of_a_named_dataset_is_no_other_domain(tmp_path):
    for split, word in (("train", "good"), ("dev", "fine"), ("there", "other")):
        table = f"sentence\tlabel\nbad {word}\t0\n{word}\t1\n"
        write(tmp_path, **{f"{split}.tsv": table})
    named = {"dataset": "sst2_sentences", "data_dir": str(tmp_path)}
    for held_out in (None, 0.5):
        for split in ("train", "dev"):
            shifted = {"there": str(tmp_path / f"{split}.tsv")}
            with pytest.raises(ConfigError, match=f"data.shifted.there: .* of data.{split}, got"):
                load_splits(DatasetConfig(**named, held_out=held_out, shifted=shifted))
    shifted = {"there": str(tmp_path / "there.tsv")}
    write(tmp_path, **{"there.tsv": "sentence\tlabel\nbad good\t0\ngood\t1\nnew\t1\n"})
    with pytest.raises(ConfigError, match="of data.train, got 2 of 3 that are among them; give it"):
        load_splits(DatasetConfig(**named, shifted=shifted))
    write(tmp_path, **{"there.tsv": "sentence\tlabel\nbad good\t0\nother\t1\n"})
    found = load_splits(DatasetConfig(**named, shifted=shifted))
    assert len(found.examples["shifted/there"]) == 2


def test_test_file_of_a_dataset_is_used_where_it_is(tmp_path):
    table = "sentence\tlabel\nbad\t0\ngood\t1\n"
    write(tmp_path, **{"train.tsv": table, "dev.tsv": table})
    data = DatasetConfig(dataset="sst2_sentences", source="files", data_dir=str(tmp_path))
    assert sorted(load_splits(data).examples) == ["dev", "train"]
    assert not has_test(data)
    write(tmp_path, **{"test.tsv": table})
    assert has_test(data)
    found = load_splits(data)
    assert sorted(found.examples) == ["dev", "test", "train"]
    assert "test.tsv" in found.descriptions["test"]


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("sample_tagging", "sample", False),
        ("conll2003", "tfds", True),
        ("mrpc", "files", False),  # no folder is given
    ],
)
def test_whether_there_is_a_test_split(name, source, expected):
    assert has_test(DatasetConfig(dataset=name, source=source)) is expected


def test_whether_own_files_have_a_test_split(tmp_path):
    for test in (None, "test.tsv"):
        assert has_test(own_files(tmp_path, test=test)) is (test is not None)


def test_labels_come_from_train_or_from_the_section(tmp_path):
    write(tmp_path, train="text\tlabel\na\ty\nb\tx\n", dev="text\tlabel\nc\tx\n")
    assert load_splits(own_files(tmp_path)).labels == ["x", "y"]
    assert load_splits(own_files(tmp_path, labels=["y", "x", "z"])).labels == ["y", "x", "z"]


def test_d10_label_of_dev_that_train_lacks(tmp_path):
    write(tmp_path, train="text\tlabel\na\ty\nb\tx\n", dev="text\tlabel\nc\tx\nd\tnew\n")
    with pytest.raises(DataError, match=r"'new', first at .*dev:3, 1 in all"):
        load_splits(own_files(tmp_path))


def test_groups_of_own_files(tmp_path):
    table = "text\tlabel\tmail\na\ty\t1\nb\tx\t1\n"
    write(tmp_path, train=table, dev=table)
    data = own_files(tmp_path, columns={"text_a": "text", "label": "label", "group": "mail"})
    found = load_splits(data).examples
    assert [record.group for record in found["train"] + found["dev"]] == ["1"] * 4
    assert fingerprint(found["dev"]) != fingerprint(
        load_splits(own_files(tmp_path)).examples["dev"]
    )
    write(tmp_path, dev="text\tlabel\na\ty\n")
    with pytest.raises(DataError, match="dev:1: expected one column 'mail', got the columns"):
        load_splits(data)
    assert read_file(data.dev, data, labelled=False)[0].group is None


def test_tags_are_converted_to_iob2(tmp_path):
    write(tmp_path, train="Ann I-PER\nran O\n", dev="Bob I-PER\n")
    found = load_splits(own_files(tmp_path, "tagging", scheme="IOB1"))
    assert found.examples["train"][0].tags == ("B-PER", "O")
    assert found.scheme == "IOB2"
    assert found.labels == ["O", "B-PER"]


def test_range_of_scores(tmp_path):
    columns = {"text_a": "a", "text_b": "b", "label": "score"}
    table = "a\tb\tscore\nx\ty\t7\nz\ty\t1\n"
    write(tmp_path, train=table, dev=table)
    data = own_files(tmp_path, "pair_regression", columns=columns, label_range=[0.0, 5.0])
    with pytest.raises(DataError, match="expected a label from 0 to 5, got 7"):
        load_splits(data)
    data = own_files(tmp_path, "pair_regression", columns=columns)
    assert load_splits(data).labels is None


@pytest.mark.slow
def test_a_subset_of_sentences_is_of_whole_documents(shared):
    folder = shared / "data" / "conll2003"
    whole = load_dataset("conll2003", "train", data_dir=folder)
    data = DatasetConfig(dataset="conll2003", data_dir=str(folder), train_examples=500)
    part = load_splits(data).examples["train"]
    assert len(part) == 500
    sizes = Counter(sentence.document for sentence in whole)
    missing = {
        number: sizes[number] - count
        for number, count in Counter(sentence.document for sentence in part).items()
        if count < sizes[number]
    }
    assert len(missing) <= 1, "only the last document may be there in part"
    assert [whole.index(sentence) for sentence in part[:3]] != [0, 1, 2]


def test_the_metric_of_a_config():
    data = DatasetConfig(dataset="sample_classification", source="sample")
    assert load_splits(data).metric == "accuracy"  # the dataset's own
    assert load_splits(data.model_copy(update={"metric": "macro_f1"})).metric == "macro_f1"
    with pytest.raises(ConfigError, match=r"data\.metric: expected one of accuracy.*got 'pearson'"):
        load_splits(data.model_copy(update={"metric": "pearson"}))


def test_held_out_examples_play_dev_and_dev_plays_test():
    data = DatasetConfig(dataset="sample_classification", source="sample")
    whole = load_splits(data)
    found = load_splits(data.model_copy(update={"held_out": 0.2, "train_examples": 40}))
    train, dev, test = (found.examples[name] for name in ("train", "dev", "test"))
    assert (len(train), len(dev)) == (40, 30)
    assert test == whole.examples["dev"]
    places = [whole.examples["train"].index(record) for record in (*train, *dev)]
    assert len(set(places)) == 70
    assert "held out of" in found.descriptions["dev"]
    assert "30 examples of 150" in found.descriptions["dev"]
    assert "in the place of test" in found.descriptions["test"]
    again = load_splits(data.model_copy(update={"held_out": 0.2}))
    assert again.examples["dev"] == dev


def test_held_out_sentences_are_whole_documents(tmp_path):
    documents = ["-DOCSTART- -X- O O\n\n" + f"w{n} NN I O\n\nv{n} NN I O\n\n" for n in range(10)]
    write(tmp_path, **{"eng.train": "".join(documents), "eng.testa": documents[0]})
    data = DatasetConfig(dataset="conll2003", data_dir=str(tmp_path), held_out=0.2)
    found = load_splits(data).examples
    held = {sentence.document for sentence in found["dev"]}
    assert len(found["dev"]) == 4
    assert len(held) == 2
    assert not held & {sentence.document for sentence in found["train"]}


def test_held_out_questions_have_contexts_of_their_own(tmp_path):
    paragraphs = [
        {
            "context": f"The {number}th answer is here.",
            "qas": [
                {
                    "id": f"{number} {which}",
                    "question": f"Where is {number} {which}?",
                    "answers": [{"text": "here", "answer_start": 17 + len(str(number))}],
                }
                for which in range(4)
            ],
        }
        for number in range(12)
    ]
    for name in ("train-v1.1.json", "dev-v1.1.json"):
        (tmp_path / name).write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}), "utf-8")
    data = DatasetConfig(dataset="squad", data_dir=str(tmp_path), held_out=0.3)
    found = load_splits(data).examples
    contexts = {split: {one.text_b for one in found[split]} for split in ("train", "dev")}
    assert not contexts["train"] & contexts["dev"]
    assert {split: len(found[split]) for split in found} == {"train": 36, "dev": 12, "test": 48}


def test_held_out_share_that_leaves_nothing():
    for share in (0.001, 0.999):
        data = DatasetConfig(dataset="sample_classification", source="sample", held_out=share)
        with pytest.raises(ConfigError, match="either side"):
            load_splits(data)


def test_a_test_split_is_not_read_where_something_is_held_out(tmp_path):
    train, dev = "sentence\tlabel\nbad\t0\ngood\t1\n", "sentence\tlabel\nfine\t1\n"
    write(tmp_path, **{"train.tsv": train, "dev.tsv": dev, "test.tsv": "\0no table\n"})
    data = DatasetConfig(dataset="sst2_sentences", data_dir=str(tmp_path))
    with pytest.raises(DataError, match="test.tsv"):
        load_splits(data)
    found = load_splits(data.model_copy(update={"held_out": 0.5}))
    assert [record.text_a for record in found.examples["test"]] == ["fine"]
    assert sorted(len(found.examples[split]) for split in ("train", "dev")) == [1, 1]
    assert "1 examples of 2" in found.descriptions["dev"]
    assert found.descriptions["test"] == (
        "sst2_sentences dev (file dev.tsv), in the place of test, which is not read"
    )


def test_an_own_test_file_is_not_read_where_something_is_held_out(tmp_path):
    write(tmp_path, train="text\tlabel\na\ty\nb\tx\n", dev="text\tlabel\nc\tx\n")
    data = own_files(tmp_path, test=str(tmp_path / "absent"), held_out=0.5)
    found = load_splits(data)
    assert [record.text_a for record in found.examples["test"]] == ["c"]
    assert found.descriptions["test"].endswith("dev), in the place of test, which is not read")
    with pytest.raises(DataError, match="absent"):
        load_splits(data.model_copy(update={"held_out": None}))


def reviews(count: int, copies: int = 1) -> list[str]:
    return [f"text {n}\t{'xy'[n % 2]}" for n in range(count) for _ in range(copies)]


def table(rows: list[str], header: str = "text\tlabel") -> str:
    return "\n".join([header, *rows]) + "\n"


@pytest.mark.parametrize(
    ("dev", "test", "held_out", "message"),
    [
        ("b", "a", None, "data.test: .* those of data.train, got the same"),
        ("b", "b", None, "data.test: .* those of data.dev, got the same"),
        ("a", None, 0.4, "data.dev: .* those of data.train, got the same"),
    ],
)
def test_what_is_scored_has_examples_of_its_own(tmp_path, dev, test, held_out, message):
    lines = ["good\tyes", "bad\tno", "fine\tyes", "poor\tno", "nice\tyes"]
    tables = {"a": lines, "b": [f"not {line}" for line in reversed(lines)]}
    splits = {"train": "a", "dev": dev} | ({"test": test} if test else {})
    for number, (split, name) in enumerate(splits.items()):
        order = tables[name][number:] + tables[name][:number]
        text, label = order[0].split("\t")  # with another label it is the same text
        order[0] = f"{text}\t{'yes' if label == 'no' and number else label}"
        write(tmp_path, **{split: "\n".join(["text\tlabel", *order])})
    data = own_files(tmp_path, held_out=held_out, test=str(tmp_path / "test") if test else None)
    with pytest.raises(ConfigError, match=message):
        load_splits(data)


def test_dev_that_is_train_is_warned_of(tmp_path, caplog):
    table = "text\tlabel\ngood\tyes\nbad\tno\n"
    write(tmp_path, train=table, dev=table)
    load_splits(own_files(tmp_path))
    assert "data.dev: expected other examples than those of data.train" in caplog.text
    write(tmp_path, text=table)
    texts = str(tmp_path / "text")
    with pytest.raises(ConfigError, match="data.test: .* those of data.train, got the same"):
        load_splits(TextConfig(format="text", kind="language_model", train=texts, test=texts))


def test_train_alone_is_enough(tmp_path):
    write(tmp_path, train=table(reviews(200)))
    data = own_files(tmp_path, dev=None)
    found = load_splits(data)
    train, dev = found.examples["train"], found.examples["dev"]
    assert (len(train), len(dev)) == (180, 20)
    assert found.labels == ["x", "y"]
    file, seed = f"train (file {tmp_path}/train)", "seed 13"
    part = "20 of its 200 examples"
    assert found.descriptions == {
        "train": f"{file}: without {part}, which play dev",
        "dev": f"dev, a part of {file}: {part}, picked by a hash of the text ({seed}), about its "
        "share of each label, equal texts and groups together; there is no dev file",
    }
    # The part depends on the texts alone.
    write(tmp_path, train=table(reviews(200)[::-1]))
    again = load_splits(data).examples["dev"]
    assert {one.text_a for one in again} == {one.text_a for one in dev}
    assert [one.text_a for one in again] == [one.text_a for one in dev][::-1]


STRATA = {
    "classification": lambda draw: draw.choice(["often"] * 80 + ["some"] * 17 + ["rare"] * 3),
    "multilabel_classification": lambda draw: tuple(x for x in "abcde" if draw.random() < 0.2),
    "regression": lambda draw: draw.random() ** 3,
}


@pytest.mark.parametrize("count", [20, 50, 100])
@pytest.mark.parametrize("kind", STRATA)
def test_a_part_has_its_share_of_each_label(kind, count):
    draw = random.Random(count)
    some = [Record(f"t {n}", label=STRATA[kind](draw), where=str(n)) for n in range(200)]
    strata = KINDS[kind].strata
    cut, kept = cut_off(some, count, 13, "train", strata(some))
    assert (len(cut), len(kept)) == (count, 200 - count)
    of = dict(zip((one.text_a for one in some), strata(some), strict=True))
    whole = Counter(stratum for one in some for stratum in of[one.text_a])
    part = Counter(stratum for one in cut for stratum in of[one.text_a])
    off = {stratum: abs(part[stratum] - count * whole[stratum] / 200) for stratum in whole}
    assert max(off.values()) <= (1 if kind != "multilabel_classification" else 2)
    turned, _ = cut_off(some[::-1], count, 13, "train", strata(some[::-1]))
    assert turned == cut[::-1]
    other, _ = cut_off(some, count, 14, "train", strata(some))
    assert other != cut
    if kind == "classification":
        labels = [one.label for one in some]
        theirs, _ = train_test_split(labels, train_size=count, stratify=labels, random_state=0)
        assert all(abs(part[stratum] - Counter(theirs)[stratum]) <= 1 for stratum in whole)


def test_rare_tags_are_in_the_part_that_is_cut_off():
    some = [
        TaggedSentence((f"w{n}",), ("B-X" if n % 25 == 0 else "O",), where=str(n))
        for n in range(500)
    ]
    for seed in range(10):
        cut, _ = cut_off(some, 50, seed, "train", KINDS["tagging"].strata(some))
        assert Counter(one.tags for one in cut) == {("O",): 48, ("B-X",): 2}


def test_a_test_file_without_a_dev_file(tmp_path):
    write(tmp_path, train=table(reviews(50)), test=table(["new\tx"]))
    found = load_splits(own_files(tmp_path, dev=None, test=str(tmp_path / "test")))
    assert {name: len(part) for name, part in found.examples.items()} == {
        "train": 45,
        "dev": 5,
        "test": 1,
    }


def test_of_train_alone_one_part_chooses_and_one_is_scored(tmp_path):
    write(tmp_path, train=table(reviews(100, copies=3)))
    found = load_splits(own_files(tmp_path, dev=None, held_out=0.1))
    assert {name: len(part) for name, part in found.examples.items()} == {
        "train": 135,
        "dev": 15,
        "test": 150,
    }
    texts = [{one.text_a for one in part} for part in found.examples.values()]
    assert sum(map(len, texts)) == len(set.union(*texts)) == 100
    assert "there is no dev file, in the place of test" in found.descriptions["test"]


def test_groups_and_texts_of_pairs_stay_together(tmp_path):
    rows = [f"a {n // 2}\tb {n}\t{'xy'[n % 2]}\tg {n // 5}" for n in range(200)]
    write(tmp_path, train=table(rows, "first\tsecond\tlabel\tmail"))
    columns = {"text_a": "first", "text_b": "second", "label": "label", "group": "mail"}
    found = load_splits(own_files(tmp_path, "pair_classification", columns=columns, dev=None))
    train, dev = found.examples["train"], found.examples["dev"]
    assert 10 <= len(dev) <= 20
    for name in ("text_a", "group"):
        assert not {getattr(one, name) for one in train} & {getattr(one, name) for one in dev}


def test_sentences_are_cut_by_documents_or_else_equal_ones_together(tmp_path):
    columns = {"words": 0, "tags": 1}
    sentences = [f"w{n} O\nv I-X\n\n" for n in range(60) for _ in range(2)]
    write(tmp_path, train="".join(sentences))
    data = own_files(tmp_path, "tagging", dev=None, scheme="IOB1", columns=columns)
    found = load_splits(data).examples
    assert (len(found["train"]), len(found["dev"])) == (108, 12)
    assert not {one.words for one in found["train"]} & {one.words for one in found["dev"]}
    documents = ["-DOCSTART- O\n\n" + "".join(sentences[n : n + 4]) for n in range(0, 120, 4)]
    write(tmp_path, train="".join(documents))
    found = load_splits(data).examples
    assert (len(found["train"]), len(found["dev"])) == (108, 12)
    assert len({one.document for one in found["dev"]}) == 3


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (reviews(49), "train: expected at least 50 examples, of which a part plays dev, got 49"),
        (reviews(3, copies=40), "train: expected 12 of 120 examples that share no text.*got 0: 40"),
    ],
)
def test_what_is_too_few_to_be_cut(tmp_path, rows, message):
    write(tmp_path, train=table(rows))
    with pytest.raises(DataError, match=message):
        load_splits(own_files(tmp_path, dev=None))


def test_texts_without_a_dev_file(tmp_path):
    write(tmp_path, train="".join(f"text {n}\n" for n in range(60)))
    data = TextConfig(format="text", kind="language_model", train=str(tmp_path / "train"))
    found = load_splits(data)
    assert {name: len(part) for name, part in found.examples.items()} == {"train": 54, "dev": 6}


CONLL = {
    "IOB1": "Ann NN I-PER\nBob NN B-PER\nran V O\n",
    "IOB2": "Ann NN B-PER\nBob NN B-PER\nran V O\n",
    "BIOES": "Ann NN S-PER\nBob NN S-PER\nran V O\n",
    "BILOU": "Ann NN U-PER\nBob NN U-PER\nran V O\n",
}


@pytest.mark.parametrize("dev", CONLL)
@pytest.mark.parametrize("train", CONLL)
def test_columns_and_the_scheme_of_each_conll_file_are_recognised(tmp_path, train, dev):
    write(tmp_path, train=CONLL[train], dev=CONLL[dev].replace("Bob", "Eve"))
    data = own_files(tmp_path, "tagging", columns={})
    found = load_splits(data)
    assert found.examples["dev"][0].words == ("Ann", "Eve", "ran")
    assert found.examples["dev"][0].tags == ("B-PER", "B-PER", "O")
    for split, scheme in (("train", train), ("dev", dev)):
        said = f"words in column 0, tags in column 2, tags in the scheme {scheme}, as the file"
        assert said in found.descriptions[split]
    full = recognised(data)
    assert (full.columns.words, full.columns.tags, full.scheme) == (0, 2, None)
    assert recognised(full) == full
    assert load_splits(full).examples == found.examples


def test_d13_a_dev_file_in_another_scheme_than_the_one_that_is_said(tmp_path):
    write(tmp_path, train=CONLL["IOB1"], dev=CONLL["IOB2"])
    with pytest.raises(DataError, match="dev:1: tag 'B-PER' is not legal in the scheme IOB1"):
        load_splits(own_files(tmp_path, "tagging", columns={}, scheme="IOB1"))


@pytest.mark.parametrize("labels", [None, ["x", "y"]])
def test_train_of_one_class(tmp_path, labels):
    write(tmp_path, train="text\tlabel\na\tx\nb\tx\n", dev="text\tlabel\nc\tx\n")
    with pytest.raises(
        DataError, match="train: expected examples of at least two .* got 'x' alone"
    ):
        load_splits(own_files(tmp_path, labels=labels))
    write(tmp_path, train="a O\n\nb O\n", dev="c O\n")
    with pytest.raises(DataError, match="got 'O' alone"):
        load_splits(own_files(tmp_path, "tagging"))


@pytest.mark.parametrize(
    "kind, label, got", [("regression", "3", "3.0"), ("multilabel_classification", "x", "('x',)")]
)
def test_train_of_one_score_or_set_of_labels(tmp_path, kind, label, got):
    write(
        tmp_path, train=f"text\tlabel\na\t{label}\nb\t{label}\n", dev=f"text\tlabel\nc\t{label}\n"
    )
    with pytest.raises(DataError, match=re.escape(f"got {got} alone")):
        load_splits(own_files(tmp_path, kind))


def test_parts_of_speech(tmp_path):
    write(tmp_path, train="the DT\ndog NN\n\nran VBD\n", dev="a DT\ndog NN\n")
    found = load_splits(own_files(tmp_path, "tagging", columns={}))
    assert (found.labels, found.scheme) == (["DT", "NN", "VBD"], "words")
    assert "tags in the scheme words, as the file shows" in found.descriptions["train"]
    assert task_of(found).metric == "accuracy"
    write(tmp_path, dev="Ann B-PER\n")
    with pytest.raises(DataError, match="expected the labels 'DT', 'NN', 'VBD' .*, got 'B-PER'"):
        load_splits(own_files(tmp_path, "tagging", columns={}))


@pytest.mark.parametrize(
    ("train", "scheme", "message"),
    [
        (CONLL["IOB1"] + "\n" + CONLL["BIOES"], None, "fit none: .*train:1.*IOB2.*IOB1.*BIOES"),
        (CONLL["IOB1"], "IOB2", "train:1: tag 'I-PER' is not legal in the scheme IOB2"),
        ("Ann\nran\n", None, "train:1: expected a word and its tag, .*got 1 column"),
    ],
)
def test_what_is_not_recognised(tmp_path, train, scheme, message):
    write(tmp_path, train=train, dev=CONLL["IOB1"])
    with pytest.raises(DataError, match=message):
        load_splits(own_files(tmp_path, "tagging", columns={}, scheme=scheme))


def test_one_genre_of_a_dataset(tmp_path):
    header = "genre\tgold_label\tsentence1\tsentence2\n"
    rows = "slate\tneutral\ta\tb\nfiction\tentailment\tc\td\nslate\tneutral\te\tf\n"
    write(tmp_path, **{"train.tsv": header + rows, "dev_matched.tsv": header + rows})
    data = DatasetConfig(dataset="mnli", data_dir=str(tmp_path), genre="slate")
    found = load_splits(data)
    assert [record.text_a for record in found.examples["train"]] == ["a", "e"]
    assert found.descriptions["dev"].endswith(": slate")
    with pytest.raises(ConfigError, match="expected one of fiction, slate, got 'sports'"):
        load_splits(data.model_copy(update={"genre": "sports"}))
    sample = DatasetConfig(dataset="sample_classification", source="sample", genre="slate")
    with pytest.raises(ConfigError, match="no genres"):
        load_splits(sample)


def test_a_part_depends_on_no_order():
    """Strata in ties, in any order of the lines and of an example's own strata."""
    random = np.random.default_rng(0)
    for _ in range(300):
        strata = [
            tuple(random.choice(["a", "b", "c", "d"], random.integers(1, 4), replace=False))
            for _ in range(8)
        ]
        digests = {number: bytes([number]) for number in range(8)}
        picked = evenly_picked(np.arange(8), digests, strata, 3)
        order = random.permutation(8)
        turned = [tuple(random.permutation(strata[number])) for number in order]
        moved = {place: digests[number] for place, number in enumerate(order)}
        again = evenly_picked(np.arange(8), moved, turned, 3)
        assert {order[place] for place in again} == picked


def test_the_texts_of_a_split_are_hashed_once(monkeypatch):
    hashed = []
    digests = equal_splits.digests
    monkeypatch.setattr(equal_splits, "digests", lambda some: hashed.append(1) or digests(some))
    names = ("train", "dev", "test", "shifted/a", "shifted/b")
    equal_splits.check_distinct({name: [Record(f"{name} {n}") for n in "ab"] for name in names})
    assert len(hashed) == len(names)
