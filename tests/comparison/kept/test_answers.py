"""The file of all answers: every form comes back, scores and tests are those of the answers."""

import gzip
import itertools
from dataclasses import replace

import numpy as np
import pytest
import report_contents
from scipy.stats import ttest_rel
from seqeval.metrics import f1_score
from sklearn.metrics import accuracy_score

from tf_adapt.comparison.kept.answers import KeptAnswers, read_answers, write_answers
from tf_adapt.comparison.kept.scores import rescored
from tf_adapt.errors import ArtifactError
from tf_adapt.report.content import to_json

LABELS = report_contents.LABELS


@pytest.mark.parametrize(
    "gold",
    [
        ["a", 'quo"te\tand\nlines', "ü"],
        [1.5, -0.25, 3.0],
        [("a", "b"), (), ("c",)],
        [("O", "B-PER"), ("O",), ("B-LOC", "I-LOC", "O")],
    ],
)
def test_answers_of_every_form_come_back(gold, tmp_path):
    kept = KeptAnswers(
        "IOB2",
        gold,
        np.array([0, 1, 1]),
        {"one": {0: gold[::-1], 2: gold}, "two": {0: gold}},
        {"simple": [gold, gold[::-1]]},
        {0: np.array([0, 1, 1]), 1: np.array([1, 0, 0])},
    )
    write_answers(kept, tmp_path / "answers")
    again = read_answers(tmp_path / "answers")
    assert (again.gold, again.cells, again.references) == (gold, kept.cells, kept.references)
    assert again.items.tolist() == [0, 1, 1] and again.folds[1].tolist() == [1, 0, 0]
    before = (tmp_path / "answers").read_bytes()
    write_answers(again, tmp_path / "answers")
    assert (tmp_path / "answers").read_bytes() == before


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (b'{"format": 1}\n', None),
        (b'{"format": 2}\n', None),
        (b"[1]\n", None),
        (b'{"format": 1, "scheme": "", "runs": [], "references": [], "repeats": []}\n', -9),
        (b'{"format": 1}\n', 0),
    ],
)
def test_a_damaged_file_of_answers(text, size, tmp_path):
    (tmp_path / "answers").write_bytes(gzip.compress(text)[:size] or b"no gzip")
    with pytest.raises(ArtifactError, match="answers: expected .* give the command of the compar"):
        read_answers(tmp_path / "answers")


def test_a_file_of_answers_damaged_in_its_middle(tmp_path):
    packed = bytearray(gzip.compress(b'{"format": 1}\n'))
    packed[10] ^= 0b100  # the first block: of a type that there is not
    (tmp_path / "answers").write_bytes(packed)
    with pytest.raises(ArtifactError, match="answers: expected .* got something else; give the"):
        read_answers(tmp_path / "answers")


def judged(answers, **changes):
    """A comparison of ❄ and 🔥 whose report says other numbers than the answers."""
    cells = [
        report_contents.cell("bert_small", name, [0.1] * len(seeds))
        for name, seeds in answers.items()
    ]
    content = replace(report_contents.comparison(cells), **changes)
    kept = {cell.id: of for cell, of in zip(cells, answers.values(), strict=True)}
    return content, kept


def test_scores_and_the_difference_are_those_of_scikit_learn():
    random = np.random.default_rng(0)
    gold = random.choice(LABELS, 200).tolist()

    def noisy(share):
        wrong = random.choice(LABELS, 200)
        return np.where(random.random(200) < share, wrong, gold).tolist()

    answers = {
        "feature_extraction": {seed: noisy(0.5) for seed in range(3)},
        "fine_tuning": {seed: noisy(0.2) for seed in range(3)},
    }
    content, cells = judged(answers)
    found = rescored(content, KeptAnswers("", gold, np.arange(200), cells))
    for cell in found.cells:
        expected = [accuracy_score(gold, one) for one in answers[cell.adaptation].values()]
        assert cell.results.scores == pytest.approx(expected)
        assert cell.results.mean == pytest.approx(np.mean(expected))
    (pair,) = found.pairs
    assert pair.decided and pair.difference == pytest.approx(
        found.cells[0].results.mean - found.cells[1].results.mean
    )
    assert to_json(found)["baseline"]["cells"].keys() == cells.keys()
    # One seed each: the test is the paired t test over the items.
    first = {name: {0: seeds[0]} for name, seeds in cells.items()}
    one = replace(
        content,
        seeds=[0],
        cells=[
            report_contents.with_results(cell, scores=[0.1], outcomes=["trained"])
            for cell in content.cells
        ],
    )
    (pair,) = rescored(one, KeptAnswers("", gold, np.arange(200), first)).pairs
    right = [np.equal(seeds[0], gold).astype(float) for seeds in cells.values()]
    assert pair.p == pytest.approx(ttest_rel(*right).pvalue)


def test_tags_keep_their_sentences():
    """An entity that ends a sentence does not go on in the next."""
    gold = [["B-PER"], ["I-PER", "O"], ["B-LOC", "I-LOC"]] * 10
    said = [["B-PER"], ["I-PER", "O"], ["B-LOC", "O"]] * 10
    answers = {name: {0: said, 1: gold, 2: said} for name in ("feature_extraction", "fine_tuning")}
    content, cells = judged(answers, kind="tagging", metric="span_f1")
    content = replace(content, baseline=replace(content.baseline, answer="O"))
    found = rescored(content, KeptAnswers("IOB2", gold, np.arange(30), cells))
    scores = found.cells[0].results.scores
    assert scores == pytest.approx([f1_score(gold, one) for one in (said, gold, said)])
    joined = [f1_score([list(itertools.chain(*gold))], [list(itertools.chain(*said))])]
    assert scores[0] != pytest.approx(joined[0])
