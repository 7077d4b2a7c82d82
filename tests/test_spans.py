"""Exact scores of spans: by pencil, and against seqeval's strict mode."""

import numpy as np
import pytest
import seqeval.scheme
from seqeval.metrics import classification_report, f1_score, precision_score, recall_score

from tf_adapt.data.labels import scheme_tags
from tf_adapt.spans import span_scores, span_scores_by_type

SEQEVAL = {
    "IOB1": seqeval.scheme.IOB1,
    "IOB2": seqeval.scheme.IOB2,
    "BIOES": seqeval.scheme.IOBES,
}
ENTITY = {"IOB1": "I-A", "IOB2": "B-A", "BIOES": "S-A"}
# Two true entities and three predicted ones, of which one is right: P = 1/3, R = 1/2, F1 = 2/5.
PENCIL = {
    # True A 0–2, B 4–5; predicted A 0–2, B 3–5, A 5–6.
    "IOB2": (
        ["B-A", "I-A", "O", "O", "B-B", "O"],
        ["B-A", "I-A", "O", "B-B", "I-B", "B-A"],
    ),
    # True A 0–2, A 2–3; predicted A 0–2, B 2–3, A 4–5; the last `B-A` follows no entity.
    "IOB1": (
        ["I-A", "I-A", "B-A", "O", "O", "O", "O"],
        ["I-A", "I-A", "I-B", "O", "I-A", "O", "B-A"],
    ),
    # True A 0–3, B 4–5; predicted A 0–3, A 4–5, B 5–7; the last `B-B` has no end.
    "BIOES": (
        ["B-A", "I-A", "E-A", "O", "S-B", "O", "O", "O"],
        ["B-A", "I-A", "E-A", "O", "S-A", "B-B", "E-B", "B-B"],
    ),
}


@pytest.mark.parametrize("scheme", PENCIL)
def test_scores_by_pencil(scheme):
    true, predicted = PENCIL[scheme]
    scores = span_scores([true], [predicted], scheme)
    assert scores == {"span_f1": 2 / 5, "span_precision": 1 / 3, "span_recall": 1 / 2}
    assert all(type(score) is float for score in scores.values())
    # Counted over all sentences together, not averaged over them: 2 of 3 and of 4.
    entity = ENTITY[scheme]
    scores = span_scores([true, (entity,)], [predicted, (entity,)], scheme)
    assert scores == {"span_f1": 4 / 7, "span_precision": 2 / 4, "span_recall": 2 / 3}


def test_scores_of_each_type_by_pencil():
    assert span_scores_by_type(*([tags] for tags in PENCIL["IOB2"]), "IOB2") == {
        "A": {"span_f1": 2 / 3, "span_precision": 1 / 2, "span_recall": 1.0, "support": 1},
        "B": {"span_f1": 0.0, "span_precision": 0.0, "span_recall": 0.0, "support": 1},
    }


@pytest.mark.parametrize("scheme", PENCIL)
def test_where_undefined_the_score_is_zero(scheme):
    nothing = {"span_f1": 0.0, "span_precision": 0.0, "span_recall": 0.0}
    entity = ENTITY[scheme]
    for true, predicted in ([], []), (["O"], ["O"]), ([entity], ["O"]):
        assert span_scores([true], [predicted], scheme) == nothing
        assert span_scores([predicted], [true], scheme) == nothing
    assert span_scores([], [], scheme) == nothing
    assert span_scores_by_type([], [], scheme) == {}


def random_tags(random, tags: list[str], count: int) -> list[list[str]]:
    """Sentences of 0 to 12 tags, legal or not: noise, and runs of one type."""
    sentences = []
    for _ in range(count):
        stay, sentence = random.choice([0.0, 0.5, 0.9]), []
        for _ in range(random.integers(0, 13)):
            kind = sentence[-1][1:] if sentence and random.random() < stay else None
            choices = [tag for tag in tags if tag[1:] == kind] or tags
            sentence.append(str(random.choice(choices)))
        sentences.append(sentence)
    return sentences


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("scheme", SEQEVAL)
def test_scores_equal_seqeval(scheme, seed):
    random = np.random.default_rng(seed)
    tags = scheme_tags(["A", "B", "C-D"], scheme)
    true = random_tags(random, tags, 300)
    predicted = [
        [tag if random.random() < 0.8 else str(random.choice(tags)) for tag in sentence]
        for sentence in true
    ]
    strict = {"mode": "strict", "scheme": SEQEVAL[scheme]}
    scores = span_scores(true, predicted, scheme)
    assert scores["span_f1"] == pytest.approx(f1_score(true, predicted, **strict))
    assert scores["span_precision"] == pytest.approx(precision_score(true, predicted, **strict))
    assert scores["span_recall"] == pytest.approx(recall_score(true, predicted, **strict))
    assert 0.1 < scores["span_f1"] < 0.95

    report = classification_report(true, predicted, output_dict=True, **strict)
    by_type = span_scores_by_type(true, predicted, scheme)
    assert list(by_type) == ["A", "B", "C-D"]
    for kind, found in by_type.items():
        assert list(found.values()) == pytest.approx(
            [report[kind][name] for name in ("f1-score", "precision", "recall", "support")]
        )


@pytest.mark.parametrize(
    ("true", "predicted", "scheme", "message"),
    [
        ([["O"]], [], "IOB2", "expected predictions for 1 sentences, got 0"),
        (
            [["O"], ["O", "O"]],
            [["O"], ["O"]],
            "IOB2",
            "sentence 2: expected 2 predicted tags, got 1; put the parts",
        ),
        ([["O"]], [["O"]], "IOB3", "scheme: expected one of IOB1, IOB2, BIOES, got 'IOB3'"),
    ],
)
def test_what_does_not_fit_is_refused(true, predicted, scheme, message):
    for scores in (span_scores, span_scores_by_type):
        with pytest.raises(ValueError, match=message):
            scores(true, predicted, scheme)
