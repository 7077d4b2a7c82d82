"""The members of a config's slices: rules together, errors of another run, empty slices."""

import finished_runs
import pytest

from tf_adapt.config.signal_sections import SliceConfig
from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.splits.fingerprints import fingerprint
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.errors import ArtifactError, ConfigError, DataError
from tf_adapt.runs import checkpoints
from tf_adapt.runs.slices import checked_members, in_words, members_of

DEV = [
    Record("it is not good", label="no", where="/d/dev.tsv:2"),
    Record("it is good", label="yes", where="/d/dev.tsv:3"),
    Record("this is not a very good one", label="yes", where="/d/dev.tsv:4"),
]
TEST = [Record("never", label="no", where="/d/test.tsv:2"), *DEV[:2]]


def splits(**examples):
    names = {"train": [], **examples}
    return Splits("mine", "classification", ["no", "yes"], None, None, "IOB2", names)


def run_of(folder, examples, labels, split="dev"):
    """A finished run that predicted these labels for the examples of a split."""
    state = {"identity": {f"{split} data": fingerprint(examples)}}
    checkpoints.save(folder / "checkpoint", {}, state)
    table = "".join(f"{line}\t0.5\n" for line in ["prediction", *labels])
    finished_runs.finish(folder, {split: table})
    return str(folder)


def members(examples=DEV, kind="classification", **rules):
    found = members_of({"x": SliceConfig(**rules)}, examples, kind)["x"]
    return None if found is None else found.tolist()


def test_every_rule_of_a_slice_must_hold(tmp_path):
    (tmp_path / "ids.txt").write_text("dev.tsv:2\ndev.tsv:3\n", "utf-8")
    assert members(words=["not"]) == [True, False, True]
    assert members(words=["not"], longer_than=4) == [False, False, True]
    assert members(words=["not"], file=str(tmp_path / "ids.txt")) == [True, False, False]


def test_errors_of_another_run_on_the_same_examples(tmp_path):
    run = run_of(tmp_path / "run", DEV, ["no", "no", "yes"])
    assert members(wrong_in=run) == [False, True, False]
    assert members(wrong_in=run, words=["not"]) == [False, False, False]
    # What is one run's dev may be another's test; other examples say nothing.
    found = checked_members({"x": SliceConfig(wrong_in=run)}, splits(dev=TEST, test=DEV))
    assert found["dev"] == {"x": None}
    assert found["test"]["x"].tolist() == [False, True, False]
    other = DEV[::-1]
    assert members(other, wrong_in=run) is None
    relabelled = [*DEV[:2], Record(DEV[2].text_a, label="no", where=DEV[2].where)]
    assert members(relabelled, wrong_in=run) is None


def test_a_sentence_is_wrong_if_a_tag_is(tmp_path):
    sentences = [TaggedSentence(("Ann", "in"), ("B-X", "O")), TaggedSentence(("Bob",), ("B-X",))]
    run = tmp_path / "run"
    checkpoints.save(run / "checkpoint", {}, {"identity": {"test data": fingerprint(sentences)}})
    finished_runs.finish(run, {"test": "Ann\tB-X\nin\tB-X\n\nBob\tB-X\n"})
    assert members(sentences, "tagging", wrong_in=str(run)) == [True, False]


def test_a_slice_without_examples():
    for rules, message in [
        (
            {"words": ["never"]},
            r"slices.x: expected at least one of the 3 examples of dev .* got 0",
        ),
        ({"words": ["not"], "longer_than": 7}, r"slices.x: expected at least one of"),
    ]:
        with pytest.raises(ConfigError, match=message):
            checked_members({"x": SliceConfig(**rules)}, splits(dev=DEV))


def test_only_the_scored_split_must_have_examples():
    found = checked_members({"x": SliceConfig(words=["never"])}, splits(dev=DEV, test=TEST))
    assert not found["dev"]["x"].any()
    assert found["test"]["x"].tolist() == [True, False, False]


def test_runs_and_files_that_do_not_fit(tmp_path):
    run = run_of(tmp_path / "run", DEV, ["no", "no", "yes"])
    slices = {"x": SliceConfig(wrong_in=run)}
    with pytest.raises(ConfigError, match="slices.x.wrong_in: .* the same 3 examples of test, got"):
        checked_members(slices, splits(dev=DEV, test=TEST))
    for folder in (tmp_path / "absent", tmp_path / "unfinished"):
        if folder.name == "unfinished":
            checkpoints.save(folder / "checkpoint", {}, {"identity": {}})
        with pytest.raises(ArtifactError, match=r"slices.x.wrong_in: expected the folder of a fin"):
            members(wrong_in=str(folder))
    (tmp_path / "ids.txt").write_text("dev.tsv:2\ntrain.tsv:7\n", "utf-8")
    with pytest.raises(
        DataError, match=r"ids.txt:2: .* dev or test, such as dev.tsv:2, got 'train"
    ):
        checked_members({"x": SliceConfig(file=str(tmp_path / "ids.txt"))}, splits(dev=DEV))
    with pytest.raises(DataError, match="absent.txt"):
        members(file=str(tmp_path / "absent.txt"))


def test_what_is_no_training_of_one_task_is_named(tmp_path):
    def refused(folder, message):
        with pytest.raises(ArtifactError, match=f"slices.x.wrong_in: .*{folder.name}.*{message}"):
            members(wrong_in=str(folder))

    run_of(tmp_path / "several", DEV, ["no", "no", "yes"])
    scores = {"dataset": "a", "head": "linear", "dev": {"accuracy": 0.5}, "metric": "accuracy"}
    scores |= {"splits": {}, "truncated": {}, "serving_per_1000": 1.0}
    finished_runs.finish(tmp_path / "several", target="a", tasks={"a": scores, "b": scores})
    refused(tmp_path / "several", r"a run of several \(a, b\)")
    for name, message in (("soup", "the average of the weights"), ("both", "an ensemble")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "ensemble.json").write_text("{}", "utf-8")
        if name == "soup":
            (tmp_path / name / "config.yaml").write_text("{}", "utf-8")
            finished_runs.finish(tmp_path / name, {"dev": "prediction\t0.5\n"})
        refused(tmp_path / name, f"{message}.*name one of its members")


def test_rules_in_words():
    one = SliceConfig(words=["not", "no"], longer_than=30, wrong_in="runs/a")
    assert in_words(one) == (
        "a text with any of not, no; a text of more than 30 words; predicted wrongly by runs/a"
    )
    assert in_words(SliceConfig(file="a", word_overlap_above=0.8)) == (
        "word overlap above 0.8; listed in a"
    )
