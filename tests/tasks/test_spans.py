"""Exact scores of spans: by pencil, and against seqeval, by default (conlleval) and strict."""

import numpy as np
import pytest
import seqeval.scheme
from seqeval.metrics import f1_score, precision_score, recall_score
from seqeval.metrics.sequence_labeling import get_entities

from tf_adapt.data.formats import read_conll2003
from tf_adapt.data.labels import convert_scheme, scheme_tags
from tf_adapt.tasks.spans import span_scores, spans

SEQEVAL = {
    "IOB1": seqeval.scheme.IOB1,
    "IOB2": seqeval.scheme.IOB2,
    "BIOES": seqeval.scheme.IOBES,
}
ENTITY = {"IOB1": "I-A", "IOB2": "B-A", "BIOES": "S-A"}
# Two true entities and four predicted ones, of which one is right: P = 1/4, R = 1/2, F1 = 2/6. The
# last predicted one is not written as the scheme has it: strictly there are three, F1 = 2/5.
PENCIL = {
    # True A 0–2, B 4–5; predicted A 0–2, B 3–5, A 5–6, and B 7–8, whose `I` is stray.
    "IOB2": (
        ["B-A", "I-A", "O", "O", "B-B", "O", "O", "O"],
        ["B-A", "I-A", "O", "B-B", "I-B", "B-A", "O", "I-B"],
    ),
    # True A 0–2, A 2–3; predicted A 0–2, B 2–3, A 4–5, and A 6–7, whose `B` follows no entity.
    "IOB1": (
        ["I-A", "I-A", "B-A", "O", "O", "O", "O"],
        ["I-A", "I-A", "I-B", "O", "I-A", "O", "B-A"],
    ),
    # True A 0–3, B 4–5; predicted A 0–3, A 4–5, B 5–7, and B 7–8, whose `B` has no end.
    "BIOES": (
        ["B-A", "I-A", "E-A", "O", "S-B", "O", "O", "O"],
        ["B-A", "I-A", "E-A", "O", "S-A", "B-B", "E-B", "B-B"],
    ),
}


def scores_of(f1: float, precision: float, recall: float, strict_f1: float) -> dict[str, float]:
    names = ("span_f1", "span_precision", "span_recall", "strict_span_f1")
    return dict(zip(names, (f1, precision, recall, strict_f1), strict=True))


@pytest.mark.parametrize("scheme", PENCIL)
def test_scores_by_pencil(scheme):
    true, predicted = PENCIL[scheme]
    scores = span_scores([true], [predicted], scheme)
    assert scores == scores_of(2 / 6, 1 / 4, 1 / 2, 2 / 5)
    assert all(type(score) is float for score in scores.values())
    # Counted over all sentences together, not averaged over them: 2 of 3 and of 5 (strictly 4).
    entity = ENTITY[scheme]
    scores = span_scores([true, (entity,)], [predicted, (entity,)], scheme)
    assert scores == scores_of(4 / 8, 2 / 5, 2 / 3, 4 / 7)


def test_a_stray_inside_counts_as_the_shared_task_counts_it():
    true = [["B-PER", "I-PER", "O", "B-LOC"], ["B-ORG", "O"]]
    predicted = [["I-PER", "I-PER", "O", "I-LOC"], ["B-ORG", "I-LOC"]]
    # Right: PER 0–2, LOC 3–4, ORG 0–1; predicted beside them: LOC 1–2. Strictly ORG alone.
    assert span_scores(true, predicted, "IOB2") == scores_of(6 / 7, 3 / 4, 3 / 3, 2 / 4)


@pytest.mark.parametrize("scheme", PENCIL)
def test_where_undefined_the_score_is_zero(scheme):
    nothing = scores_of(0.0, 0.0, 0.0, 0.0)
    entity = ENTITY[scheme]
    for true, predicted in ([], []), (["O"], ["O"]), ([entity], ["O"]):
        assert span_scores([true], [predicted], scheme) == nothing
        assert span_scores([predicted], [true], scheme) == nothing
    assert span_scores([], [], scheme) == nothing


def test_entities_by_pencil():
    # One rule for all schemes: only `I` and `E` go on, and only after `B` or `I` of their type.
    tags = ["E-A", "E-A", "I-A", "S-A", "I-A", "E-A", "B-A", "S-A", "I-B", "O", "I-B", "I-B"]
    places = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 6), (6, 7), (7, 8)]
    assert spans(tags) == [*[("A", *place) for place in places], ("B", 8, 9), ("B", 10, 12)]
    assert spans(["B-PER-X", "I-PER-X", "I-LOC", "O", "B-A", "B-A"]) == [
        ("PER-X", 0, 2),
        ("LOC", 2, 3),
        ("A", 4, 5),
        ("A", 5, 6),
    ]


def test_strict_entities_by_pencil():
    assert spans(["B-PER-X", "I-PER-X", "I-LOC", "O", "B-A", "B-A"], strict="IOB2") == [
        ("PER-X", 0, 2),
        ("A", 4, 5),
        ("A", 5, 6),
    ]
    assert spans(["I-A", "B-A", "I-A", "I-B", "B-A"], strict="IOB1") == [
        ("A", 0, 1),
        ("A", 1, 3),
        ("B", 3, 4),
    ]
    assert spans(["S-A", "B-A", "I-A", "E-A", "B-A", "E-B"], strict="BIOES") == [
        ("A", 0, 1),
        ("A", 1, 4),
    ]


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


def damaged(random, sentences: list, tags: list[str], share: float) -> list[list[str]]:
    """The sentences with this share of their tags drawn anew."""
    return [
        [str(random.choice(tags)) if random.random() < share else tag for tag in sentence]
        for sentence in sentences
    ]


@pytest.mark.parametrize("scheme", SEQEVAL)
def test_entities_equal_seqeval(scheme):
    random = np.random.default_rng(7)
    for tags in random_tags(random, scheme_tags(["A", "B"], scheme), 3000):
        expected = seqeval.scheme.Entities([tags], SEQEVAL[scheme]).entities[0]
        strictly = spans(tags, strict=scheme)
        assert strictly == [(one.tag, one.start, one.end) for one in expected], tags
        ends = [(kind, start, last + 1) for kind, start, last in get_entities(tags)]
        assert spans(tags) == ends, tags


def check_against_seqeval(true, predicted, scheme):
    scores = span_scores(true, predicted, scheme)
    strict = {"mode": "strict", "scheme": SEQEVAL[scheme]}
    assert scores == pytest.approx(
        scores_of(
            f1_score(true, predicted),
            precision_score(true, predicted),
            recall_score(true, predicted),
            f1_score(true, predicted, **strict),
        )
    )
    assert 0.1 < scores["span_f1"] < 0.99
    assert scores["strict_span_f1"] != pytest.approx(scores["span_f1"], abs=1e-3)
    return scores


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("scheme", SEQEVAL)
def test_scores_equal_seqeval(scheme, seed):
    random = np.random.default_rng(seed)
    tags = scheme_tags(["A", "B", "C-D"], scheme)
    true = random_tags(random, tags, 300)
    predicted = damaged(random, true, tags, 0.2)
    check_against_seqeval(true, predicted, scheme)


@pytest.mark.parametrize("scheme", SEQEVAL)
def test_scores_of_damaged_tags_of_real_text_equal_seqeval(shared, scheme):
    sentences = read_conll2003(shared / "data" / "conll2003" / "eng.testa")
    gold = [list(one.tags) for one in convert_scheme(sentences, "IOB1", scheme)]
    tags = sorted({tag for sentence in gold for tag in sentence})
    # Legal tags are read alike by both rules, and hold the published number of entities.
    assert [spans(sentence) for sentence in gold] == [spans(one, strict=scheme) for one in gold]
    assert sum(len(spans(sentence)) for sentence in gold) == 5_942
    predicted = damaged(np.random.default_rng(9), gold, tags, 0.05)
    scores = check_against_seqeval(gold, predicted, scheme)
    assert scores["strict_span_f1"] > scores["span_f1"] - 0.2


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
    with pytest.raises(ValueError, match=message):
        span_scores(true, predicted, scheme)
