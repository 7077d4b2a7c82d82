"""Comparisons with simulated answers: scores, tests and verdicts are computed, not written."""

from dataclasses import asdict, replace

import numpy as np
import report_contents

from tf_adapt.comparison.verdict.verdict import verdict
from tf_adapt.report.content import BaselineScores, Disagreement, ScoredItems
from tf_adapt.report.scored_cells import FailedSeeds, SeedResults
from tf_adapt.statistics.pairs import above_baseline, compare_pairs, with_larger_designs
from tf_adapt.statistics.scores import item_statistics, score_of, summary

LABELS = ("no", "perhaps", "yes")
# Of `yes`, the most frequent one, on dev.
SHARE = 0.4
ITEMS, ON_DEV = 500, 200


def untrained_ahead():
    """A network without pretraining is better than both pretrained cells."""
    return compared(
        [
            ("bert_small", "feature_extraction", (0.60, 0.61, 0.59), {}),
            ("bert_small", "fine_tuning", (0.66, 0.65, 0.67), {}),
            ("bert_small", "fine_tuning", (0.80, 0.81, 0.79), {"pretrained": False}),
        ]
    )


def random_labels():
    """Labels that no text tells: a seed may be above the baseline on dev by chance."""
    return compared(
        [
            ("bert_small", "feature_extraction", (0.382, 0.404, 0.39), {}, (0.41, 0.40, 0.405)),
            ("bert_small", "fine_tuning", (0.40, 0.40, 0.40), {}),
            ("elmo_small", "fine_tuning", (0.41, 0.376, 0.394), {}, (0.405, 0.415, 0.42)),
        ],
        alikeness=0.0,
    )


def diverged_seed():
    """A seed of the best cell leaves the finite numbers."""
    return compared(
        [
            ("bert_small", "feature_extraction", (0.70, 0.71, 0.705, 0.70, 0.71), {}),
            ("bert_small", "fine_tuning", (0.84, None, 0.85, 0.842, 0.844), {}),
        ]
    )


def two_alike():
    """Two cells that differ in a few of many items, of which one trains far fewer parameters."""
    return compared(
        [
            ("bert_small", "feature_extraction", (0.8510, 0.8500, 0.8505), {}),
            ("bert_small", "fine_tuning", (0.8520, 0.8510, 0.8515), {}),
            ("elmo_small", "fine_tuning", (0.700, 0.702, 0.698), {}),
        ],
        items=2000,
        alikeness=0.999,
    )


def unstable():
    """82.5 ± 12.5 against 51.0 ± 1.0."""
    return compared(
        [
            ("bert_small", "feature_extraction", (0.50, 0.51, 0.52), {}),
            ("bert_small", "fine_tuning", (0.95, 0.825, 0.70), {}),
        ]
    )


def joint_and_separate():
    """A BERT that reads both texts at once, and one that reads them one by one."""
    return compared(
        [
            (encoder, adaptation, scores, {"pairs": pairs})
            for encoder, pairs, adaptation, scores in (
                ("bert_small", "joint", "feature_extraction", (0.700, 0.705, 0.695)),
                ("bert_small", "joint", "fine_tuning", (0.850, 0.855, 0.845)),
                ("bert_small", "separate", "feature_extraction", (0.780, 0.785, 0.775)),
                ("bert_small", "separate", "fine_tuning", (0.690, 0.684, 0.696)),
            )
        ]
    )


def one_seed():
    """Far apart, with a seed each."""
    return compared(
        [
            ("bert_small", "feature_extraction", (0.60,), {}),
            ("bert_small", "fine_tuning", (0.90,), {}),
        ]
    )


def bit_for_bit():
    """Two cells that answer every item in the same way with every seed."""
    scores = (0.80, 0.81, 0.79)
    return compared(
        [
            ("bert_small", "feature_extraction", scores, {}),
            ("bert_small", "fine_tuning", scores, {}),
        ],
        alikeness=1.0,
    )


def five_items():
    """All right against all wrong, on five test items."""
    return compared(
        [
            ("bert_small", "feature_extraction", (0.0, 0.0, 0.2), {}, (0.5, 0.5, 0.5)),
            ("bert_small", "fine_tuning", (1.0, 1.0, 1.0), {}),
        ],
        items=5,
    )


ALL = (
    untrained_ahead, random_labels, diverged_seed, two_alike, unstable, joint_and_separate,
    one_seed, bit_for_bit, five_items,
)  # fmt: skip


def compared(rows, items=ITEMS, alikeness=0.7):
    """A report's content.

    Args:
        rows: (encoder, adaptation, accuracy of each seed on the test items, keywords of
            `report_contents.cell`, accuracies on dev where they are others); None: diverged.
        alikeness: how far all cells find the same items hard, 0 to 1.
    """
    random = np.random.default_rng(1)
    rare = items * 3 // 10
    gold = random.permutation(np.repeat(LABELS, [rare, rare, items - 2 * rare]))
    hard = random.normal(size=items)
    cells, statistics, said = [], {}, {}
    for number, (encoder, adaptation, scores, others, *dev) in enumerate(rows):
        answers = [
            None if score is None else _answers(gold, score, hard, alikeness, random)
            for score in scores
        ]
        cell = report_contents.cell(encoder, adaptation, scores, number, **others)
        cell = replace(
            cell,
            results=_results(gold, answers, dev[0] if dev else scores),
            confusion=_confusion(gold, answers),
            curves=[],
            tried=[],
            layer_weights=None,
        )
        cells.append(cell)
        said[cell.id] = next(one for one in answers if one is not None)
        rows_of = [
            item_statistics("accuracy", answer, gold)
            for answer, ended in zip(answers, cell.results.outcomes, strict=True)
            if ended == "trained"
        ]
        if rows_of:
            statistics[cell.id] = np.stack(rows_of)
    constant = item_statistics("accuracy", [LABELS[-1]] * items, gold)
    baseline = BaselineScores(
        answer=LABELS[-1],
        score=float(score_of("accuracy", constant.sum(0))),
        chosen_on=SHARE,
        cells=above_baseline("accuracy", statistics, constant),
    )
    content = replace(
        report_contents.comparison(cells, range(len(rows[0][2]))),
        labels=list(LABELS),
        examples={"train": 2000, "dev": ON_DEV, "test": items},
        items=ScoredItems(count=items, text=f"{items:,} pairs", overlap_with_train=0),
        pairs=with_larger_designs(compare_pairs("accuracy", statistics), "accuracy", statistics),
        baseline=baseline,
        summary=None,
        disagreements=_disagreements(gold, said),
    )
    return replace(content, verdict=verdict(content))


def _answers(gold, score, hard, alikeness, random):
    """One a test item, right on the easiest ones, so that the accuracy is as wanted."""
    own = random.normal(size=len(gold))
    order = np.argsort(alikeness * hard + np.sqrt(1 - alikeness**2) * own)
    other = {label: LABELS[place - 1] for place, label in enumerate(LABELS)}
    found = np.array([other[label] for label in gold])
    easy = order[: round(score * len(gold))]
    found[easy] = gold[easy]
    return found


def _results(gold, answers, dev):
    """What `tf_adapt.comparison.results` says of a cell's seeds; one without a score counts as the
    baseline on test in `mean_of_all`, which is its share on dev here."""
    scores = [None if answer is None else float(np.mean(answer == gold)) for answer in answers]
    ended = [
        "diverged" if score is None else "trained" if on_dev > SHARE else "one_answer"
        for score, on_dev in zip(scores, dev, strict=True)
    ]
    known = [score for score in scores if score is not None]
    trained = [s for s, how in zip(scores, ended, strict=True) if how == "trained"]
    return SeedResults(
        scores=scores,
        outcomes=ended,
        trained=len(trained),
        failed=FailedSeeds(ended.count("diverged"), ended.count("one_answer")),
        **asdict(summary(trained or known)),
        mean_of_all=float(np.mean([SHARE if score is None else score for score in scores])),
    )


def _confusion(gold, answers):
    counts = {
        (true, said): int(np.sum((gold == true) & (answer == said)))
        for answer in answers
        if answer is not None
        for true in LABELS
        for said in LABELS
    }
    return [[counts[true, said] for said in LABELS] for true in LABELS]


def _disagreements(gold, said):
    """The first items on which some of the cells are right."""
    found = []
    for item, label in enumerate(gold):
        answers = {name: str(answers[item]) for name, answers in said.items()}
        right = [name for name, answer in answers.items() if answer == str(label)]
        if 0 < len(right) < len(answers):
            found.append(
                Disagreement(
                    where=f"simulated:{item + 1}",
                    text_a=f"first text {item}",
                    text_b=f"second text {item}",
                    label=str(label),
                    answers=answers,
                    right=right,
                )
            )
    return found[:3]
