import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from tf_adapt import paper
from tf_adapt.commands.main import cli
from tf_adapt.comparison.advice.guideline import guideline
from tf_adapt.errors import ConfigError
from tf_adapt.tasks.kinds import labelled_kinds

# Table 1, as printed, and how many of table 2's numbers agree: of the group, of the kind alone.
EXPECTED = [
    ("elmo", "classification", "alike", "1 of 1", None),
    ("elmo", "tagging", "alike", "1 of 1", None),
    ("elmo", "pair_classification", "feature_extraction", "4 of 5", "3 of 3"),
    ("elmo", "pair_regression", "feature_extraction", "4 of 5", "1 of 2"),
    ("bert", "classification", "alike", "1 of 1", None),
    ("bert", "tagging", "alike", "1 of 1", None),
    ("bert", "pair_classification", "fine_tuning", "4 of 5", "2 of 3"),
    ("bert", "pair_regression", "fine_tuning", "4 of 5", "2 of 2"),
]


def test_guideline():
    for family, kind, better, group, alone in EXPECTED:
        found = guideline(family, kind)
        assert (found.family, found.kind, found.better) == (family, kind, better)
        assert better in found.sentence or better == "alike"
        assert ("alike" in found.sentence) == (better == "alike")
        assert group in found.support
        if alone:
            assert f"majority: {group}" in found.support
            assert f"of {kind} alone {alone}" in found.support
        else:
            assert "majority" not in found.support


def test_the_numbers_that_do_not_agree_are_named():
    assert "(not STS-B −0.4)" in guideline("elmo", "pair_regression").support
    assert "(not MNLI 0.0)" in guideline("bert", "pair_classification").support


def test_numbers_are_of_the_group_of_table_1():
    found = guideline("bert", "pair_regression").numbers
    assert [number.dataset for number in found] == ["MNLI", "SICK-E", "SICK-R", "MRPC", "STS-B"]
    mrpc = found[3]
    assert (mrpc.frozen, mrpc.tuned, mrpc.difference, mrpc.colour) == (78.1, 84.8, 6.7, "tune")
    (sst2,) = guideline("elmo", "classification").numbers
    assert (sst2.dataset, sst2.difference, sst2.colour) == ("SST-2", -0.6, None)


def test_what_the_paper_does_not_know():
    unknown = " ".join(guideline("elmo", "classification").unknown)
    for word in (
        "One test score",
        "English",
        "small encoders",
        "few training",
        "two-stage",
        "+4.7",
    ):
        assert word in unknown
    tagging = " ".join(guideline("elmo", "tagging").unknown)
    assert "five seeds" in tagging
    assert "One test score" not in tagging
    assert "tf-adapt compare" in guideline("bert", "tagging").answered_by


def test_what_table_6_compares_and_what_five_genres_show():
    (sentence,) = (
        text for text in guideline("bert", "pair_classification").beside if "table 6" in text
    )
    assert "divergence between BERT's pretraining corpora and a genre of MNLI" in sentence
    assert "❄ r = 0.54, p = 0.35; with 🔥 − ❄ r = −0.59, p = 0.29" in sentence
    assert "only |r| ≥ 0.88 would be significant" in sentence
    for family, kind in (("bert", "pair_regression"), ("elmo", "pair_classification")):
        assert "table 6" not in " ".join(guideline(family, kind).beside)


OTHERS = [
    (("gpt", "tagging"), "encoder 'gpt': expected one of elmo, bert"),
    (("bert", "span"), "task 'span': expected one of classification, pair_classification, "),
]


def test_other_values_are_refused():
    for arguments, message in OTHERS:
        with pytest.raises(ConfigError, match=message):
            guideline(*arguments)


@pytest.mark.parametrize(("family", "kind"), [("elmo", "tagging"), ("bert", "pair_classification")])
def test_the_command_prints_the_same_as_json_and_as_text(family, kind):
    arguments = ["advise", "--encoder", family, "--task", kind]
    result = CliRunner().invoke(cli, [*arguments, "--json"])
    assert result.exit_code == 0
    found = guideline(family, kind)
    content = json.loads(result.output)
    assert content["better"] == found.better
    assert content["heads"] == dict(zip(("feature_extraction", "fine_tuning"),
                                        paper.HEADS[kind, family], strict=True))  # fmt: skip
    assert [row["difference"] for row in content["numbers"]] == [
        number.difference for number in found.numbers
    ]
    text = CliRunner().invoke(cli, arguments).output
    for sentence in (found.sentence, found.support, *found.beside, *found.unknown):
        assert sentence in text
    for number in found.numbers:
        assert f"{number.frozen:.1f}  {number.tuned:.1f}" in text


def test_the_command_lists_what_is_valid():
    result = CliRunner().invoke(cli, ["advise", "--encoder", "gpt", "--task", "tagging"])
    assert result.exit_code == ConfigError.exit_code
    last = result.stderr.splitlines()[-1]
    assert last.startswith("ConfigError: ")
    assert "'elmo', 'bert'" in last
    choices = [option.type.choices for option in cli.commands["advise"].params[1:3]]
    assert list(map(tuple, choices)) == [paper.FAMILIES, labelled_kinds()]


def test_the_paper_says_nothing_of_other_kinds():
    result = CliRunner().invoke(cli, ["advise", "--encoder", "bert", "--task", "regression"])
    assert result.exit_code == ConfigError.exit_code
    assert "the paper compared no other; `tf-adapt compare` does" in result.stderr


def test_no_tensorflow_is_loaded():
    program = (
        "import sys; from tf_adapt.comparison.advice.guideline import guideline; "
        "guideline('bert', 'tagging'); "
        "print([n for n in ('tensorflow', 'keras', 'numpy', 'matplotlib') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n"
