"""Examples of what a report is made from: whole, incomplete, large and hostile comparisons."""

import hashlib
import itertools
import statistics
from dataclasses import replace

import numpy as np

from tf_adapt.report.content import (
    Agreement,
    BaselineScores,
    Content,
    Disagreement,
    FamilyAgreement,
    ScoredItems,
    Verdict,
)
from tf_adapt.report.scored_cells import (
    Costs,
    CurvePoint,
    FailedSeeds,
    LabelQuality,
    LackingLabels,
    LearningCurves,
    Reliability,
    ScoredCell,
    SeedResults,
    SizedCell,
    Spread,
    Trial,
)
from tf_adapt.report.search.trials import (
    DIVERGED,
    STOPPED,
    WHOLE,
    CellTrials,
    SearchedTrial,
    SearchResults,
)
from tf_adapt.statistics.relation import PairTest

LABELS = ["NEUTRAL", "ENTAILMENT", "CONTRADICTION"]
HEADS = {"feature_extraction": "esim", "fine_tuning": "linear"}
UNKNOWN_COSTS = Costs(
    trainable_parameters=None,
    total_parameters=None,
    training_seconds=None,
    peak_memory_mb=None,
    serving_seconds_per_1000=None,
    task_megabytes=None,
)
# Of a verdict that somebody wrote: that there is a guideline.
FAMILIES = {"bert": FamilyAgreement("fine_tuning", "BERT: use 🔥 fine_tuning.", {})}
HOSTILE = (
    "<script>alert('x')</script> | `code` **bold** _under_ [link](http://e.x) $x^2$ &amp; "
    "\x07\u202eright to left\u2069 שלום مرحبا \ud800 \ufffe 🙂\nnext line <!-- ]]> </details> ~~~"
)


def cell(
    encoder,
    adaptation,
    scores,
    number=0,
    pretrained=True,
    head=None,
    settings=None,
    pairs=None,
):
    """A cell with everything known; `number` varies its costs; scores of None: seeds diverged."""
    head = head or HEADS.get(adaptation, "linear")
    known = [score for score in scores if score is not None]
    extra = "".join(f" {key}={value}" for key, value in (settings or {}).items())
    suffix = "" if pretrained else " untrained"
    suffix += f" {pairs}" if pairs else ""
    name = f"{encoder}{suffix} {adaptation} {head}{extra}"
    frozen = adaptation == "feature_extraction"
    family = "elmo" if "elmo" in encoder else "bert"
    usual = "joint" if family == "bert" else "separate"
    best = max(known, default=0.5)
    return ScoredCell(
        id=name,
        encoder=encoder,
        module=hashlib.sha256(encoder.encode("utf-8", "surrogatepass")).hexdigest(),
        execution=None,
        family=family,
        pretrained=pretrained,
        pairs=pairs or usual,
        adaptation=adaptation,
        settings=settings or {},
        head=head,
        learning_rate=0.001 if frozen else 0.0003,
        tried=[
            Trial(0.0001, best - 0.05),
            Trial(0.0003, best - (0.02 if frozen else -0.005)),
            Trial(0.001, best + 0.004 if frozen else None),
        ],
        results=SeedResults(
            scores=list(scores),
            outcomes=["diverged" if score is None else "trained" for score in scores],
            trained=len(known),
            failed=FailedSeeds(diverged=len(scores) - len(known), one_answer=0),
            mean=statistics.mean(known) if known else None,
            deviation=statistics.stdev(known) if len(known) > 1 else None,
            mean_of_all=statistics.mean(0.567 if score is None else score for score in scores),
            min=min(known, default=None),
            max=max(known, default=None),
        ),
        costs=Costs(
            trainable_parameters=812_345 if frozen else 5_432_100 + number,
            total_parameters=6_244_445 if frozen else 5_432_100 + number,
            training_seconds=14.31 + 2 * number if frozen else 71.5 + 13.7 * number,
            peak_memory_mb=911.4 + 31 * number,
            serving_seconds_per_1000=3.12 + 0.21 * number,
            task_megabytes=3.25 if frozen else 21.7,
        ),
        curves=[
            [round(score - 0.12 * 0.5**epoch, 4) for epoch in range(5 + seed)]
            for seed, score in enumerate(scores)
            if score is not None
        ],
        layer_weights=[0.12, 0.2, 0.31, 0.25, 0.12] if frozen else None,
        confusion=[
            [640 + number, 90, 55 - number],
            [120, 300 - 2 * number, 10 + 2 * number],
            [70, 15, 200],
        ],
        labels={
            label: LabelQuality(precision=0.7, recall=best, f1=0.65, support=100 * place + 12)
            for place, label in enumerate(LABELS)
        }
        if known
        else None,
        reliability=Reliability(
            ece=Spread(0.04, 0.01),
            counts=[20, 180, 300],
            probabilities=[0.4, 0.7, 0.95],
            shares=[0.35, 0.6, 0.9],
        )
        if known
        else None,
        commands=[
            f"tf-adapt train runs/sick_e/{name.replace(' ', '-')}/config.yaml --seed {seed} "
            f"--out runs/sick_e/{name.replace(' ', '-')}/seed-{seed}"
            for seed in range(len(scores))
        ],
    )


def with_results(cell, **changes):
    """The cell with other results of its seeds."""
    return replace(cell, results=replace(cell.results, **changes))


def with_cell(content, number, change, **changes):
    """The content with one of its cells changed: `change(cell, **changes)`."""
    cells = list(content.cells)
    cells[number] = change(cells[number], **changes)
    return replace(content, cells=cells)


def with_verdict(content, **changes):
    """The content with another verdict."""
    return replace(content, verdict=replace(content.verdict, **changes))


def pairs_of(cells, seeds):
    """Plausible tests of every two cells; nothing here is computed as a test would."""
    found = []
    trained = [one for one in cells if one.results.trained]
    for one, other in itertools.combinations(trained, 2):
        change = one.results.mean - other.results.mean
        p = float(np.exp(-abs(change) * 200))
        tested = min(one.results.trained, other.results.trained) > 1
        holm = min(1.0, p * 10) if tested else None
        decided = tested and holm <= 0.03
        why = "decided" if decided else "more_seeds" if tested else "few_seeds"
        if why == "more_seeds" and abs(change) < 0.004:
            why = "more_test_examples"
        needed = None
        if why == "more_seeds":
            fewest = seeds + round(0.08 / abs(change))
            needed = [fewest, 3 * fewest if fewest < 20 else None]
        found.append(
            PairTest(
                a=one.id,
                b=other.id,
                difference=change,
                interval=[change - 0.02, change + 0.02],
                level=0.97,
                p=p,
                p_holm=holm,
                decided=decided,
                alike=False,
                seeds_needed=needed,
                why=why,
            )
        )
    return found


def _right(label, cells, answers):
    """The cells that give this label, where cell n gives label n modulo `answers`."""
    return [one.id for number, one in enumerate(cells) if LABELS[number % answers] == label]


def comparison(cells, seeds=(0, 1, 2)):
    """A comparison's content with these cells."""
    known = [one for one in cells if one.results.mean is not None]
    best = max(known, key=lambda one: one.results.mean).id if known else None
    return Content(
        summary="SICK-E on 2,000 training examples: does a small BERT need tuning?",
        dataset="sick_e",
        kind="pair_classification",
        metric="accuracy",
        labels=LABELS,
        splits={
            "train": "2,000 of 4,500 examples, chosen with seed 0",
            "dev": "500 examples cut off train with seed 0",
            "test": "the dataset's own dev file",
        },
        scored_on="test",
        chosen_on="dev",
        examples={"train": 2000, "dev": 500, "test": 500},
        items=ScoredItems(count=425, text="500 pairs in 425 groups", overlap_with_train=487),
        seeds=list(seeds),
        trials=3,
        different={},
        look=1,
        baseline=BaselineScores(answer="NEUTRAL", score=0.567, chosen_on=0.56, cells={}),
        cells=cells,
        learning_curves=None,
        pairs=pairs_of(cells, len(seeds)),
        verdict=Verdict(
            sentence="Tune bert_small: fine_tuning is 3.4 points better than a frozen encoder.",
            decided=True,
            above_baseline=True,
            best=best,
            alternatives=[],
            recommended=best,
            next_step="seeds",
            first=["Run 4 to 27 more seeds.", "Items of the tests: 500 pairs in 425 groups."],
            evidence={
                "Decision": [
                    "fine_tuning 65.1 ± 1.1 against feature_extraction 61.7 ± 0.6; the difference "
                    "is 3.4 points (95 % interval 1.3 to 5.5, p 0.004 after Holm's correction)."
                ],
                "Cost": ["It costs 5 times the training seconds and 6.7 times the disk per task."],
                "Data and split": ["Scored on 500 examples."],
                "What to do next": ["Between 7 and 30 seeds in all would probably decide."],
            },
            guideline=Agreement("BERT, sentence pairs: use 🔥 fine_tuning.", True, FAMILIES),
            exported="runs/sick_e/export/1",
        ),
        disagreements=[
            Disagreement(
                where="SICK_trial.txt:12",
                text_a="A man is playing a guitar on the stage",
                text_b="There is no man playing a guitar",
                label="CONTRADICTION",
                answers={one.id: LABELS[number % 3] for number, one in enumerate(cells)},
                right=_right("CONTRADICTION", cells, 3),
            ),
            Disagreement(
                where="SICK_trial.txt:318",
                text_a="Two dogs are running through a field of high grass",
                text_b="Two animals are outdoors",
                label="ENTAILMENT",
                answers={one.id: LABELS[number % 2] for number, one in enumerate(cells)},
                right=_right("ENTAILMENT", cells, 2),
            ),
        ],
        versions={"tf_adapt": "0.1.0", "python": "3.11.9", "tensorflow": "2.21.0"},
        modules={"bert_small": "c0ffee" * 10 + "abcd", "elmo_small": "decade" * 10 + "1234"},
        truncated={one.id: {"train": 0, "dev": 0, "test": 0} for one in cells},
        data={"train": "5" * 64, "dev": "5" * 64, "test": "7" * 64},
        machine="2 cores, 8 GB, no GPU, Linux",
        command="tf-adapt compare configs/small/sick_e.yaml --out runs/sick_e --seeds 3",
    )


def with_parts_of_train(content, labels=("ENTAILMENT",)):
    """The content with scores on two smaller parts of train; no p is that of a test."""
    points = []
    able = [one for one in content.cells if one.results.trained and one.pretrained]
    for number, examples in enumerate((100, 500, content.examples["train"])):
        best = {
            name: max(some, key=lambda one: one.results.mean).id if some else None
            for name, some in (
                ("frozen", [one for one in able if one.adaptation == "feature_extraction"]),
                ("tuned", [one for one in able if one.adaptation != "feature_extraction"]),
            )
        }
        tested = None not in best.values()
        points.append(
            CurvePoint(
                examples=examples,
                cells={one.id: _with_less(one, 0.04 * (2 - number)) for one in content.cells},
                lacking=LackingLabels(2 - number, list(labels) if number < 2 else []),
                **best,
                difference=0.01 * number if tested else None,
                p=0.4 / 10**number if tested else None,
                p_in_order=0.5 / 10**number if tested else None,
                ahead="tuning" if tested and number == 2 else None,
            )
        )
    sentence = "With 2,000 training examples tuning is ahead; with 100 and 500 it is not decided."
    return replace(content, learning_curves=LearningCurves(0.03, sentence, points))


def _with_less(cell, lost):
    results = cell.results
    if results.mean is not None:
        scores = [score if score is None else score - lost for score in results.scores]
        results = replace(results, mean=results.mean - lost, scores=scores)
    return SizedCell(cell.learning_rate, results)


def with_search(content, folds=1):
    """With three trials in each cell, of which the second was ended early and the third diverged;
    a choice is hostile."""
    rates = {"training.learning_rate": 3e-4, "head_pooling": HOSTILE}
    shared = {"values": rates, "seconds": 10.0}
    trials = [
        SearchedTrial(number=number, fold=fold if folds > 1 else None, score=score, epochs=epochs,
                      ended=ended, chosen=number == 0, **shared)
        for fold in range(folds)
        for number, score, epochs, ended in ((0, 0.71, 4, WHOLE), (1, 0.5, 2, STOPPED),
                                             (2, None, None, DIVERGED))
    ]  # fmt: skip
    found = CellTrials(
        trials=trials,
        importance={"training.learning_rate": 0.9, "head_pooling": 0.1},
        expected_best=[0.57, 0.64, 0.71],
        seconds=30.0 * folds,
    )
    cells = {cell.id: found for cell in content.cells}
    results = SearchResults(sampler="tpe", pruner="median", trials=3, minutes=5.0, cells=cells)
    return replace(content, search=results, folds=folds if folds > 1 else None)


def complete():
    """Nine cells with three seeds each, nothing missing."""
    rows = [
        ("bert_small", "feature_extraction", (0.617, 0.611, 0.623), True, None),
        ("bert_small", "fine_tuning", (0.652, 0.640, 0.661), True, None),
        ("bert_small", "two_stage", (0.655, 0.634, 0.649), True, {"head_epochs": 2}),
        ("bert_small", "gradual_unfreezing", (0.630, 0.639, 0.628), True, {"every": 25}),
        ("elmo_small", "feature_extraction", (0.646, 0.653, 0.640), True, None),
        ("elmo_small", "fine_tuning", (0.607, 0.622, 0.598), True, None),
        ("elmo_small", "two_stage", (0.641, 0.632, 0.655), True, {"head_epochs": 2}),
        ("bert_small", "feature_extraction", (0.561, 0.558, 0.566), False, None),
        ("bert_small", "fine_tuning", (0.570, 0.565, 0.581), False, None),
    ]
    cells = [
        cell(encoder, adaptation, scores, number, pretrained, settings=settings)
        for number, (encoder, adaptation, scores, pretrained, settings) in enumerate(rows)
    ]
    return with_parts_of_train(comparison(cells))


def incomplete():
    """Seeds that diverged; a cell of which all did at every rate, which knows little of itself."""
    cells = [
        cell("bert_small", "fine_tuning", (0.652, None, None)),
        cell("bert_small", "two_stage", (0.655, 0.634, 0.649), 1, settings={"head_epochs": 2}),
        cell("elmo_small", "feature_extraction", (None, None, None), 2),
    ]
    cells = [replace(one, confusion=None) for one in cells]
    cells[0] = replace(cells[0], curves=[[0.5, None, 0.61]])
    cells[2] = replace(
        cells[2],
        module=None,
        family=None,
        head="default",
        learning_rate=None,
        tried=[Trial(0.001, None)],
        costs=UNKNOWN_COSTS,
        curves=[],
        layer_weights=None,
        commands=[],
    )
    verdict = Verdict(
        sentence="Not decided: seeds failed.",
        decided=False,
        above_baseline=True,
        best=None,
        alternatives=[],
        recommended=None,
        next_step="train",
        first=[],
        evidence={},
        guideline=Agreement("BERT, sentence pairs: use 🔥 fine_tuning.", None, FAMILIES),
    )
    return replace(comparison(cells), summary=None, verdict=verdict, disagreements=[])


def large():
    """Thirty cells with long names."""
    cells = []
    adaptations = (
        "feature_extraction", "fine_tuning", "two_stage", "gradual_unfreezing",
        "sequential_unfreezing", "adapters",
    )  # fmt: skip
    random = np.random.default_rng(3)
    encoders = [f"modules/a_rather_long_name_of_an_encoder_{name}" for name in "abcde"]
    for number, (encoder, adaptation) in enumerate(itertools.product(encoders, adaptations)):
        scores = (random.normal(0.7, 0.04) + random.normal(0, 0.006, 5)).round(4).tolist()
        cells.append(cell(encoder, adaptation, scores, number))
    return with_search(with_parts_of_train(comparison(cells, seeds=range(5))))


def one_cell():
    """One cell, one seed, regression: no deviation, no pair, no confusion."""
    only = replace(cell("bert_small", "fine_tuning", (0.652,)), confusion=None, tried=[])
    content = comparison([only], seeds=(7,))
    return replace(
        content,
        kind="pair_regression",
        metric="pearson",
        labels=None,
        trials=1,
        baseline=replace(content.baseline, answer=3.532, score=0.0),
        scored_on="dev",
        disagreements=[],
    )


def hostile():
    """Foreign text in every place that takes one."""
    cells = [
        cell(HOSTILE, "feature_extraction", (0.6, 0.61), head=HOSTILE, settings={"kind": HOSTILE}),
        cell("$a_b$ | <b>", "fine_tuning", (0.7, 0.72)),
    ]
    commands = [f"tf-adapt train '{HOSTILE}' ```` --out x"]
    cells = [replace(one, commands=commands) for one in cells]
    content = comparison(cells, seeds=(0, 1))
    disagreement = Disagreement(
        where=HOSTILE,
        text_a=HOSTILE * 200,
        text_b=HOSTILE,
        label=HOSTILE,
        answers={one.id: HOSTILE + str(number) for number, one in enumerate(cells)},
        right=[],
    )
    content = replace(
        content,
        **dict.fromkeys(("summary", "dataset", "machine", "command"), HOSTILE),
        **dict.fromkeys(("splits", "versions", "modules", "data"), {"train": HOSTILE}),
        labels=[HOSTILE, "b|c", "💥 " * 30],
        baseline=replace(content.baseline, answer=HOSTILE),
        verdict=replace(
            content.verdict,
            sentence=HOSTILE,
            evidence={HOSTILE: [HOSTILE]},
            exported=HOSTILE,
            guideline=Agreement(HOSTILE, False, FAMILIES),
        ),
        disagreements=[disagreement],
    )
    return with_parts_of_train(content, [HOSTILE])
