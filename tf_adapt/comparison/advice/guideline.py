"""The paper's guideline for an encoder and a task, its evidence and its limits."""

from dataclasses import asdict, dataclass
from typing import Any

from tf_adapt import paper
from tf_adapt.errors import ConfigError
from tf_adapt.printing import words

NOT_KNOWN = (
    "English only, and only the original two-layer ELMo and BERT-base: no small encoders, no "
    "other languages.",
    "Full training sets: nothing is said of few training examples, with which classification may "
    "gain by the adaptation contrastive (SetFit).",
    "❄ and 🔥 only: no two-stage training (LP-FT), no adapters. A follow-up claims up to +4.7 "
    "points for two stages (first the head, then everything), without seeds, deviations or "
    "controls.",
)
ONE_SCORE = (
    "One test score for each cell, without deviations: no test says which of these differences "
    "another seed would turn round."
)
FIVE_SEEDS = (
    f"The mean of five seeds with a deviation of about {paper.DEVIATION_OF_NER}, and a "
    "difference no larger than that; one dataset, no test."
)
COMPARE = (
    "`tf-adapt compare CONFIG --out DIR` answers it for your data and encoder: the same splits, "
    "seeds and number of tried learning rates for every adaptation, with deviations, paired "
    "tests and costs."
)


@dataclass(frozen=True)
class Evidence:
    """A row of table 2: scores on test × 100."""

    dataset: str
    kind: str
    metric: str
    frozen: float
    tuned: float
    difference: float  # 🔥 − ❄ in points
    colour: str | None  # "tune", "freeze" or None, see `paper.colour`


@dataclass(frozen=True)
class Guideline:
    """The paper's advice for one family of encoders and one kind of task.

    Attributes:
        better: "feature_extraction", "fine_tuning" or "alike".
        sentence: table 1's guideline.
        numbers: table 2's rows for table 1's group of tasks.
        support: how many of `numbers` agree, in total and for this kind of task.
        heads: adaptation → the paper's head for this encoder.
        beside: related findings of tables 3 to 6.
        unknown: limits of the paper's evidence.
        answered_by: how to answer the question on one's own data.
    """

    family: str
    kind: str
    better: str
    sentence: str
    numbers: tuple[Evidence, ...]
    support: str
    heads: dict[str, str]
    beside: tuple[str, ...]
    unknown: tuple[str, ...]
    answered_by: str

    def to_json(self) -> dict[str, Any]:
        """The guideline as plain values."""
        return asdict(self)


def guideline(family: str, kind: str) -> Guideline:
    """Table 1's guideline with table 2's numbers (Peters, Ruder, Smith 2019).

    Args:
        family: "elmo" or "bert".
        kind: "classification", "pair_classification", "pair_regression" or "tagging".

    Raises:
        ConfigError: the paper has no such family, or did not compare this kind of task.
    """
    _check("encoder", family, paper.FAMILIES)
    _check("task", kind, paper.KINDS)
    group = paper.GROUPS[kind]
    better = paper.TABLE_1[family, group]
    numbers = tuple(_evidence(family, group))
    frozen, tuned = paper.HEADS[kind, family]
    return Guideline(
        family=family,
        kind=kind,
        better=better,
        sentence=_sentence(paper.MODELS[family], group, better),
        numbers=numbers,
        support=_support(numbers, kind, better),
        heads={paper.FROZEN: frozen, paper.TUNED: tuned},
        beside=tuple(_SENTENCES[table]() for table in paper.FURTHER_TABLES.get((kind, family), ())),
        unknown=(ONE_SCORE if paper.SEEDS[kind] == 1 else FIVE_SEEDS, *NOT_KNOWN),
        answered_by=COMPARE,
    )


def lines(guideline: Guideline) -> list[str]:
    """The guideline as lines for a terminal."""
    heads = ", ".join(
        f"{paper.SYMBOLS[name]} {name}: {head}" for name, head in guideline.heads.items()
    )
    many, few = (paper.TABLE_1_ANY_MODEL[name] for name in (paper.FROZEN, paper.TUNED))
    return [
        guideline.sentence,
        "",
        "Table 2, scores on test × 100; from ±1.0 points on it colours the better one:",
        # A terminal shows an emoji two columns wide.
        f"{'':<12}{'metric':<20}{'❄':>6}{'🔥':>5}{'🔥 − ❄':>8}",
        *(
            f"{n.dataset:<12}{n.metric:<20}{n.frozen:6.1f}{n.tuned:6.1f}"
            f"{words.signed_points(n.difference / 100):>9}  {n.colour or 'alike'}"
            for n in guideline.numbers
        ),
        guideline.support,
        "",
        f"Heads: {heads}. For any model: ❄ {many}, 🔥 {few} (table 1).",
        *guideline.beside,
        "",
        "What the paper does not know:",
        *(f"- {sentence}" for sentence in guideline.unknown),
        "",
        guideline.answered_by,
    ]


def _check(what: str, value: str, valid: tuple[str, ...]) -> None:
    if value not in valid:
        raise ConfigError(
            f"advice for the {what} {value!r}: expected one of {', '.join(valid)}; the paper "
            "compared no other; `tf-adapt compare` does, on your data"
        )


def _evidence(family: str, group: str) -> list[Evidence]:
    evidence = []
    for dataset, (kind, metric) in paper.TABLE_2_DATASETS.items():
        if paper.GROUPS[kind] == group:
            scores = paper.TABLE_2[family][dataset]
            points = paper.tuned_minus_frozen(scores)
            evidence.append(Evidence(dataset, kind, metric, *scores, points, paper.colour(points)))
    return evidence


def _sentence(model: str, group: str, better: str) -> str:
    if better == paper.ALIKE:
        advice = "❄ feature_extraction and 🔥 fine_tuning perform alike"
    else:
        advice = f"use {paper.SYMBOLS[better]} {better}"
    return f"{model}, {group}: {advice} (table 1 of Peters, Ruder, Smith 2019)."


def _support(numbers: tuple[Evidence, ...], kind: str, better: str) -> str:
    """A sentence on how many of the numbers agree with the guideline."""
    counted = [n for n in numbers if _agrees(n, better)]
    wanted = {
        paper.ALIKE: "a difference below 1.0 points",
        paper.FROZEN: "❄ better by at least 1.0 points",
        paper.TUNED: "🔥 better by at least 1.0 points",
    }[better]
    text = f"{len(counted)} of {len(numbers)} show {wanted}"
    if len(counted) == len(numbers):
        return f"{text}."
    others = ", ".join(
        f"{n.dataset} {words.signed_points(n.difference / 100)}"
        for n in numbers
        if not _agrees(n, better)
    )
    of_kinds: dict[str, list[Evidence]] = {}
    for number in numbers:
        of_kinds.setdefault(number.kind, []).append(number)
    of_kind = of_kinds[kind]
    agreeing = sum(_agrees(n, better) for n in of_kind)
    return (
        f"The guideline is that of the majority: {text} (not {others}); "
        f"of {kind} alone {agreeing} of {len(of_kind)}."
    )


def _agrees(number: Evidence, better: str) -> bool:
    wanted = {paper.ALIKE: None, paper.FROZEN: "freeze", paper.TUNED: "tune"}
    return number.colour == wanted[better]


def _attention() -> str:
    """A sentence on table 3, pairs with ELMo."""
    return (
        "🔥 needs attention between the words of both sentences (table 3, dev, with / without): "
        f"{_two(paper.TABLE_3)}."
    )


def _lstm() -> str:
    """A sentence on table 5, tagging with ELMo."""
    rows = "; ".join(f"{how}, {head} {score}" for (how, head), score in paper.TABLE_5.items())
    return f"❄ needs a BiLSTM below the CRF, 🔥 does not (table 5, dev, five seeds): {rows}."


def _jointly() -> str:
    """A sentence on table 4, pairs with BERT."""
    return (
        "❄ read both sentences jointly (table 4, dev, jointly / separately): "
        f"{_two(paper.TABLE_4)}."
    )


def _genres() -> str:
    """A sentence on table 6: correlation with domain divergence, and its power with five genres."""
    correlations = {
        name: f"r = {r:.2f}, p = {p:.2f}".replace("-", "−")
        for name, (r, p) in paper.TABLE_6_CORRELATIONS.items()
    }
    return (
        "The divergence between BERT's pretraining corpora and a genre of MNLI has no significant "
        "correlation with what models of that genre reach (table 6, dev; computed from it: with "
        f"❄ {correlations[paper.FROZEN]}; with 🔥 − ❄ {correlations['difference']}). "
        f"Of five genres only |r| ≥ {paper.TABLE_6_SMALLEST_SIGNIFICANT:.2f} would be significant: "
        "they do not show that domains do not matter."
    )


def _two(table: dict[str, tuple[float, float]]) -> str:
    return ", ".join(f"{name} {first} / {second}" for name, (first, second) in table.items())


# By table of the paper.
_SENTENCES = {3: _attention, 4: _jointly, 5: _lstm, 6: _genres}
