"""What a comparison's numbers are made to say."""

from dataclasses import replace

from judged_cells import (
    BASELINE,
    COLD,
    FAR,
    NEAR,
    OPEN,
    WARM,
    cell,
    frozen,
    judged,
    middle,
    pair,
    tuned,
    untrained,
)

from tf_adapt.report.content import BaselineScores, ReferenceScores, ScoredItems
from tf_adapt.report.scored_cells import Trial
from tf_adapt.statistics.relation import BaselineTest


def said_of(found, words) -> str:
    """The one sentence behind the headline with these words."""
    (sentence,) = [text for texts in found.evidence.values() for text in texts if words in text]
    return sentence


def behind(found) -> str:
    """All sentences behind the headline."""
    return " ".join(text for texts in found.evidence.values() for text in texts)


def test_decided():
    found = judged([COLD, WARM], FAR)
    assert found.sentence == (
        "Use elmo_small with fine_tuning (crf head): 81.0 span F1 (deviation 1.0 over 3 seeds) on "
        "500 examples (480 independent). Decided: 10.0 points ahead of the next best cell (97 % "
        "interval +8.0 to +12.0)."
    )
    assert (found.decided, found.above_baseline, found.next_step) == (True, True, "use")
    assert (found.best, found.recommended, found.alternatives) == ("warm", "warm", [])
    assert found.first == [
        "Use it: predict with it, serve it.",
        "Items of the tests: 500 pairs in 480 groups.",
        "The cell is above the baseline (40.0) by 30.0 points.",
        "It costs 60 s a training, 900 MB of memory, 3.0 s to serve 1,000 examples.",
    ]
    assert list(found.evidence) == [
        "Decision", "Scores and seeds", "Cost", "Data and split", "What to do next",
    ]  # fmt: skip
    assert "+10.0 points, 97 % interval +8.0 to +12.0" in said_of(found, "interval")
    assert "4,000 of 5,000 parameters in 60 s" in said_of(found, "parameters in")
    assert "interim analysis 1 of 5, at 3 %" in said_of(found, "interim")
    above = said_of(found, "The baseline, answering O to everything, has 40.0 span F1")
    assert "fine_tuning (crf head) is +30.0 above it, p 0.002" in above


def test_items_of_the_tests_are_told():
    items = ScoredItems(
        count=425, text="500 pairs in 425 groups", overlap_with_train=25, overlap_with_dev=26
    )
    found = judged([COLD, WARM], FAR, items=items)
    said_of(
        found,
        "Items of the tests: 500 pairs in 425 groups; 25 of 500 share a text with train; 26 of "
        "500 share a text with dev.",
    )
    # Above five in a hundred the headline says it.
    assert found.sentence.endswith(" (of the scored examples 26 of 500 share a text with dev).")
    assert "share a text" not in behind(judged([COLD, WARM], FAR))


def test_examples_that_were_cut_are_counted():
    cut = {"cold": {"train": 0, "test": 0}, "warm": {"train": 1200, "test": 3}}
    found = judged([COLD, WARM], FAR, truncated=cut)
    assert said_of(found, "cut") == (
        "Examples cut at the encoder's limit: elmo_small with fine_tuning (crf head): 1,200 of "
        "train, 3 of test."
    )
    assert "cut" not in behind(judged([COLD, WARM], FAR))


def test_alike_within_a_point_recommends_the_smallest():
    found = judged([COLD, WARM], NEAR)
    assert found.decided
    assert (found.best, found.recommended, found.next_step) == ("warm", "cold", "use")
    assert found.sentence.endswith(
        "Decided: within a point of the best cell (97 % interval −0.6 to +0.2), and it trains "
        "1,000 parameters (4,000 in the next) and serves 1,000 examples in 3.0 s (3.0 s)."
    )
    said_of(found, "is alike, within a point, with elmo_small with fine_tuning (crf head).")
    assert "trains 1,000 of" in said_of(found, "parameters in")  # the costs of what is recommended


def test_the_cheapest_to_train_may_be_dearer_to_serve():
    slow = replace(COLD, costs=replace(COLD.costs, serving_seconds_per_1000=9.0))
    assert "(4,000 in the next) but serves 1,000 examples in 9.0 s (3.0 s)" in (
        judged([slow, WARM], NEAR).sentence
    )


def test_a_gain_that_is_decided_and_negligible_is_not_paid_for():
    found = judged([COLD, WARM], pair(-0.003, [-0.005, -0.001], decided=True, alike=True))
    assert found.decided
    assert found.recommended == "cold"
    assert "within a point of the best cell (97 % interval −0.5 to −0.1)" in found.sentence
    assert found.guideline.families["elmo"].here == {"elmo_small": "alike"}
    assert "alike, within a point, though decided" in said_of(found, "interval")


def test_three_alike_are_all_named():
    found = judged([COLD, WARM, middle(0.8, 0.8, 0.8)], NEAR, NEAR, NEAR)
    said_of(found, "fine_tuning (crf head) and elmo_small with two_stage (crf head).")


# Reason, seeds needed, larger design: what to do next.
OPEN_PAIRS = [
    ("more_seeds", [7, 30], None, "seeds", "Run 4 to 27 more seeds (`--seeds 7` to `30`)"),
    ("more_seeds", [2, 3], None, "seeds", "Run 1 more seed (`--seeds 4`)"),
    ("more_seeds", [7, None], None, "seeds", "Run at least 4 more seeds (`--seeds 7`); many more"),
    ("more_seeds", [20, 40], [3, 960], "label", "Label about 500 more examples to score on (1,000"),
    ("more_seeds", [20, 40], None, "seeds", "Run 20 seeds in a new folder"),
    ("more_test_examples", None, [3, 960], "label", "Label about 500 more"),
    ("more_test_examples", None, [10, 960], "label", "in all) and run 10 seeds: a true difference"),
    ("more_test_examples", None, None, "seeds", "Run 6 seeds in a new folder"),
    ("no_analysis_left", None, [3, 300], "seeds", "Run 6 seeds in a new folder"),
]


def test_not_decided_recommends_the_best_mean():
    unstable = tuned(0.62, 0.95, 0.90, deviation=0.177)
    for why, needed, larger, step, said in OPEN_PAIRS:
        test = pair(-0.31, [-1, 0.4], seeds_needed=needed, why=why)
        found = judged([frozen(0.50, 0.51, 0.52), unstable], replace(test, larger_design=larger))
        assert found.sentence == (
            "Use elmo_small with fine_tuning (crf head) for now: 82.3 span F1 (deviation 17.7 over "
            "3 seeds, lowest 62.0) on 500 examples (480 independent). Not decided: 31.0 points "
            "ahead of the next best cell (97 % interval −40.0 to +100.0)."
        )
        assert found.evidence["Decision"][0] == (
            "elmo_small with fine_tuning (crf head) at 82.3 ± 17.7 is not shown to be ahead of "
            "elmo_small with feature_extraction (bcn head) at 51.0 ± 1.0."
        )
        assert (found.next_step, said in found.first[0]) == (step, True), found.first[0]
        assert found.evidence["What to do next"][0] == found.first[0]
        assert not found.decided
        assert (found.best, found.recommended) == ("warm", "warm")
        assert found.alternatives == ["cold"]


def test_cells_with_the_same_answers_keep_no_others_from_being_decided():
    same = pair(0.0, [0.0, 0.0], why="identical")
    found = judged([WARM, replace(WARM, id="twin"), COLD], same, OPEN, OPEN)
    assert (found.decided, found.next_step) == (False, "seeds")
    assert found.first[0].startswith("Run 4 to 27 more seeds")


def test_labels_are_asked_for_to_decide_two_points_at_least():
    small = replace(pair(0.001, [-0.05, 0.05], why="more_test_examples"), larger_design=[5, 4800])
    found = judged([COLD, WARM], small)
    assert "a true difference of 2.0 points, more than seen here" in found.first[0]
    assert "(5,000 in all)" in found.first[0]  # groups of examples are one item


def test_cells_that_are_close_are_called_so_and_the_cheaper_is_taken():
    close = pair(-0.004, [-0.016, 0.008], why="more_test_examples")
    found = judged([COLD, WARM], close)
    assert (found.decided, found.recommended, found.next_step) == (False, "cold", "cheaper")
    assert (
        "Not decided: 0.4 points behind the best cell (97 % interval −1.6 to +0.8), and c"
        in found.sentence
    )
    assert found.first[0].startswith(
        "Take the cheaper, for these cells are at most 1.6 points apart: elmo_small with "
        "feature_extraction (bcn head); it trains 1,000 parameters (4,000 in the next)"
    )
    wide = judged([COLD, WARM], replace(close, interval=[-0.021, 0.013]))
    assert wide.recommended == "warm"


def test_not_decided_with_a_cheaper_cell_that_is_alike():
    found = judged([COLD, WARM, middle(0.8, 0.8, 0.8)], NEAR, OPEN, OPEN)
    assert not found.decided
    assert found.recommended == "cold"
    assert "and cheaper, but open against 1 of 2 other cells" in found.sentence


def test_cells_that_are_open_are_counted_and_then_named():
    for decided in [0, 2, 3]:
        others = [cell(name, (0.7, 0.7, 0.7), encoder=name) for name in "abcd"]
        ahead = pair(0.1, [0.08, 0.12], decided=True)
        against_best = [replace(OPEN, difference=0.02)] * (4 - decided) + [ahead] * decided
        found = judged([WARM, *others], *against_best, *[OPEN] * 6)
        number, names = 4 - decided, "abcd"[: 4 - decided]
        counted = "" if number == 1 else f"; open against {number} of 4 other cells"
        assert found.sentence.endswith(f"(97 % interval −5.0 to +1.0){counted}.")
        named = "; ".join(f"{name} with fine_tuning (crf head) at 70.0 ± 1.0" for name in names)
        said_of(found, f"ahead of {number} of the 4 other pretrained cells: {named}.")
        assert found.alternatives == list(names)


def test_v4_no_cell_above_the_baseline_is_the_headline():
    found = judged([COLD, WARM], FAR, above=False)
    assert found.sentence == (
        "Use none of them yet: no cell is shown to be above the baseline's 40.0. The best is "
        "elmo_small with fine_tuning (crf head): 81.0 span F1 (deviation 1.0 over 3 seeds) on 500 "
        "examples (480 independent)."
    )
    said_of(found, "The baseline, answering O to everything, has 40.0 span F1")
    assert (found.decided, found.above_baseline, found.next_step) == (False, False, "train")


def test_v4_a_constant_answer_is_no_winner():
    """Seen: 71.2 ± 0.0, decided, where always answering `yes` has 71.2 too."""
    constant = tuned(0.712, 0.712, 0.712, outcomes=["one_answer"] * 3, deviation=0.0)
    answered = BaselineScores(answer="yes", score=0.712, chosen_on=0.712, cells={})
    found = judged([constant], baseline=answered, kind="classification", metric="accuracy")
    assert found.sentence == (
        "Use none of them yet: each seed of every cell diverged or gives one answer to everything. "
        "The best on test is elmo_small with fine_tuning (crf head): 71.2 accuracy (deviation 0.0 "
        "over 3 seeds) on 500 examples (480 independent) (3 seeds failed)."
    )
    assert found.evidence["Scores and seeds"] == [
        "elmo_small with fine_tuning (crf head) failed in 3 of 3 seeds (with one answer to "
        "everything).",
        "The baseline, answering 'yes', train's most frequent label, to everything, has 71.2 "
        "accuracy.",
    ]
    assert (found.decided, found.above_baseline, found.recommended) == (
        False, False, "warm",
    )  # fmt: skip


def test_the_headline_names_a_simple_model_that_no_cell_is_above():
    better = {name: BaselineTest(-0.05, 0.001, 0.002, False) for name in ("cold", "warm")}
    worse = {name: BaselineTest(0.3, 0.001, 0.002, True) for name in ("cold", "warm")}
    first = ReferenceScores(name="TF-IDF + logistic regression", score=0.5, cells=worse)
    second = ReferenceScores(name="untrained cosine of x", score=0.86, cells=better)
    found = judged([COLD, WARM], FAR, references=[first, second])
    assert found.sentence.startswith(
        "Use the simple model, untrained cosine of x (86.0), or label more: no cell is shown to be "
        "above it. Of the cells, use elmo_small with fine_tuning"
    )
    assert found.decided and found.next_step == "label"  # decided between the cells
    said_of(found, "TF-IDF + logistic regression has 50.0: elmo_small with fine_tuning (crf head) "
            "is above it, p 0.002")  # fmt: skip
    said_of(found, "untrained cosine of x has 86.0: elmo_small with fine_tuning (crf head) is 5.0 "
            "points below it, p 0.002")  # fmt: skip
    assert "TF-IDF" not in judged([COLD, WARM], FAR, references=[first]).sentence
    nothing = judged([COLD, WARM], FAR, above=False, references=[second])
    assert nothing.sentence.startswith("Use none of them yet")
    assert nothing.sentence.endswith("above untrained cosine of x at 86.0).")


def test_v4_an_ahead_cell_must_be_above_the_baseline_itself():
    found = judged([COLD, WARM], FAR, above=["cold"])
    assert "is not shown to be above the baseline's 40.0" in found.sentence
    assert not found.decided


def test_v4_a_seed_that_diverged_is_told_of_and_decides_no_winner():
    found = judged([COLD, tuned(0.8, None, 0.9)], FAR)
    assert found.sentence.startswith("Use elmo_small with fine_tuning (crf head) for now: 85.0 ")
    assert found.sentence.endswith(
        "Not decided: 1 of 3 seeds failed, and with the baseline's answers in their place it is "
        "not ahead of every other cell."
    )
    assert said_of(found, "diverged") == (
        "elmo_small with fine_tuning (crf head) diverged in 1 of 3 seeds: 85.0 without it, 70.0 "
        "with."
    )
    assert not found.decided
    assert found.recommended == "warm"
    assert found.guideline.families["elmo"].here == {"elmo_small": None}


def test_v2_a_rival_that_failed_is_told_of():
    failing = frozen(0.70, 0.40, None, outcomes=["trained", "one_answer", "diverged"])
    found = judged([failing, WARM], pair(-0.11, [-0.2, 0.0], why="few_seeds"))
    said_of(found, "Train again with a lower learning rate or a longer warm-up")
    assert found.sentence.endswith("cell, but too few of the seeds trained (2 seeds failed).")
    assert said_of(found, "failed in") == (
        "elmo_small with feature_extraction (bcn head) failed in 2 of 3 seeds (1 diverged, 1 with "
        "one answer to everything): 70.0 without them, 50.0 with."
    )
    dead = judged(
        [frozen(None, None, None), WARM, middle(0.7, 0.7, 0.7)], pair(0.1, [0, 0.2], True)
    )
    assert dead.decided
    assert dead.sentence.endswith(
        "Decided: 10.0 points ahead of the next best cell that trained (97 % interval 0.0 to "
        "+20.0) (3 seeds failed)."
    )
    said_of(dead, "feature_extraction (bcn head) diverged in 3 of 3 seeds.")


def test_many_cells_that_failed_are_counted():
    others = [cell(name, (0.7, None, None), encoder=name) for name in "abc"]
    tests = [pair(0.1, [0, 0.2], why="few_seeds")] * 6
    found = judged([WARM, *others], *tests)
    assert found.sentence.endswith("(6 seeds failed).")
    said_of(found, "6 seeds failed in 3 cells.")


def test_nothing_that_has_finished():
    nothing = judged([tuned(None, None, None)])
    assert nothing.recommended is None
    assert nothing.sentence == (
        "Nothing to judge: no pretrained cell has finished with any seed (3 seeds failed)."
    )
    said_of(nothing, "elmo_small with fine_tuning (crf head) diverged in 3 of 3 seeds.")


def test_tests_are_told_from_the_best_cell():
    found = judged([COLD, WARM], replace(OPEN, p_holm=0.0004))
    assert (
        "fine_tuning (crf head) against elmo_small with feature_extraction (bcn head): +2.0 points,"
        " 97 % interval −1.0 to +5.0, p < 0.001 after Holm's correction: not decided."
    ) in said_of(found, "interval")


def test_one_item_has_no_interval():
    test = pair(-1.0, None, why="few_items")
    found = judged([frozen(0.0, 0.0), tuned(1.0, 1.0)], test, seeds=2)
    assert "no interval" in said_of(found, "against")


def test_v4_an_untrained_network_that_is_ahead_is_named_first():
    """Seen: "ahead of every other cell" with the untrained network decided to be ahead."""
    warm, noise = tuned(0.70, 0.70, 0.70), untrained(0.74, 0.74, 0.74)
    ahead = pair(-0.04, [-0.05, -0.03], decided=True)
    found = judged([frozen(0.60, 0.60, 0.60), warm, noise], FAR, FAR, ahead)
    assert found.sentence == (
        "Use no pretrained encoder yet: an untrained network is 4.0 points ahead of the best "
        "pretrained cell, elmo_small with fine_tuning (crf head) (97 % interval +3.0 to +5.0)."
    )
    said_of(found, "network is elmo_small untrained with fine_tuning (crf head) at 74.0 ± 1.0.")
    assert not found.decided
    assert found.recommended == "warm"
    assert "not shown to be worth anything" in said_of(found, "untrained reaches")


def test_an_untrained_network_that_is_not_behind_is_named():
    level = pair(0.01, [-0.05, 0.06], seeds_needed=[9, 40])
    found = judged([COLD, WARM, untrained(0.79, 0.80, 0.81)], FAR, FAR, level)
    assert found.sentence.endswith(
        "Not decided: 1.0 points ahead of an untrained network (97 % interval −5.0 to +6.0)."
    )
    assert found.next_step == "seeds"
    said_of(found, "ahead of elmo_small untrained with fine_tuning (crf head) at 80.0 ± 1.0.")
    assert not found.decided


def test_one_pretrained_cell_has_nothing_to_be_chosen_from():
    behind = pair(0.2, [0.1, 0.3], decided=True)
    found = judged([COLD, untrained(0.5, 0.5, 0.5)], behind)
    assert found.sentence.endswith("nothing to choose from: only one pretrained cell trained.")
    assert not found.decided


def test_what_the_pretraining_is_worth():
    noise = untrained(0.5, 0.5, 0.5)
    far = pair(0.2, [0.1, 0.3], decided=True)
    found = judged([COLD, WARM, noise], FAR, far, far)
    assert "reaches 50.0 ± 1.0" in said_of(found, "untrained reaches")
    assert "the pretraining is worth 31.0 points" in said_of(found, "untrained reaches")
    other = judged([COLD, WARM, replace(noise, encoder="bert_small")], FAR, far, far)
    assert "untrained reaches" not in behind(other)


def test_cells_that_would_be_called_alike_are_called_by_their_ids():
    same, other = tuned(0.8, 0.8), cell("apart", [0.7, 0.7])
    found = judged([same, other], pair(0.1, [0.05, 0.15], True), seeds=2)
    assert found.sentence.startswith("Use warm: 80.0")
    assert "warm against apart" in said_of(found, "interval")


AGREEMENTS = [
    (NEAR, True, "❄ and 🔥 are alike"),  # as table 1 says of labelling
    (FAR, False, "🔥 is ahead"),
    (OPEN, None, "it is not decided"),
]


def test_agreement_with_the_paper():
    for test, agrees, said in AGREEMENTS:
        found = judged([COLD, WARM], test).guideline
        assert found.agrees is agrees
        assert f"Here, elmo_small: {said}" in found.sentence


def test_paper_says_freeze_elmo_for_pairs():
    cells = [frozen(0.80, 0.81, 0.82), tuned(0.70, 0.71, 0.72)]
    far = pair(0.1, [0.08, 0.12], decided=True)
    assert judged(cells, far, kind="pair_classification").guideline.agrees is True
    alone = judged(cells[:1], kind="pair_classification").guideline
    assert alone.agrees is None
    assert "were not both run" in alone.sentence
    dead = judged([frozen(None, None, None), cells[1]], kind="pair_classification").guideline
    assert dead.families["elmo"].here == {"elmo_small": None}
    assert "not both run" not in dead.sentence


def test_a_joint_and_a_separate_bert_are_two_encoders():
    """The guideline is that of a BERT that reads both texts in one row."""
    bert = {"family": "bert", "encoder": "bert_small"}
    cells = [
        frozen(0.70, 0.70, 0.70, **bert, pairs="joint"),
        tuned(0.80, 0.80, 0.80, **bert, pairs="joint"),
        cell(
            "cold apart", (0.60,) * 3, "feature_extraction", **bert, pairs="separate", head="esim"
        ),
        cell("warm apart", (0.50,) * 3, **bert, pairs="separate"),
    ]
    ahead = pair(0.1, [0.08, 0.12], decided=True)
    found = judged(cells, FAR, ahead, ahead, ahead, ahead, ahead, kind="pair_classification")
    here = found.guideline.families["bert"].here
    assert here == {
        "bert_small": "fine_tuning",
        "bert_small, separate texts": "feature_extraction",
    }
    assert found.guideline.agrees is True
    assert found.sentence.startswith("Use bert_small with fine_tuning (crf head): 80.0")


def test_one_module_under_two_names_is_one_encoder():
    cells = [
        frozen(0.70, 0.70, 0.70, module="abc", encoder="first"),
        tuned(0.80, 0.80, 0.80, module="abc", encoder="second"),
    ]
    assert judged(cells, FAR).guideline.families["elmo"].here == {"first": "fine_tuning"}
    other = [cells[0], replace(cells[1], module="def")]
    assert judged(other, FAR).guideline.families["elmo"].here == {}


def test_the_best_frozen_and_the_best_tuned_head_are_compared():
    cells = [
        frozen(0.80, 0.80, 0.80),
        cell("other", [0.60, 0.60, 0.60], "feature_extraction", head="linear"),
        tuned(0.70, 0.70, 0.70),
    ]
    far, near = pair(0.2, [0.1, 0.3], True), pair(0.1, [0.08, 0.12], True)
    found = judged(cells, far, near, OPEN, kind="pair_classification")
    assert found.guideline.agrees is True


def test_gradual_unfreezing_is_tuning_too():
    cells = [COLD, cell("slow", [0.8, 0.8, 0.8], "gradual_unfreezing")]
    assert judged(cells, FAR).guideline.families["elmo"].here == {"elmo_small": "fine_tuning"}


def test_what_to_do_where_nothing_is_above_the_baseline():
    learnt = BaselineScores(answer="yes", score=0.712, chosen_on=0.712, cells={})
    cell = tuned(0.70, 0.71, 0.70, outcomes=["one_answer"] * 3, deviation=0.01)
    found = judged([cell], baseline=learnt, kind="classification", metric="accuracy")
    assert "--export-anyway" in found.evidence["What to do next"][-1]
    few = judged(
        [cell], baseline=learnt, kind="classification", metric="accuracy",
        items=ScoredItems(count=11, text="11 texts", overlap_with_train=0),
    )  # fmt: skip
    assert few.sentence.startswith("Use none of them yet: only 11 texts to score on")


RATES = [Trial(1e-3, 0.6), Trial(3e-3, 0.7), Trial(1e-2, 0.65)]
NOT_ENDED = [
    (
        {"curves": [[0.5, 0.7], [0.5, 0.65], [0.6, 0.6]]},
        "its best epoch is the last",
    ),
    ({"curves": [[0.5, 0.7, 0.704], [0.5, 0.7, 0.6], [0.5, 0.6, 0.7]]}, None),
    ({"curves": [[0.5], [0.6], [0.7]]}, None),
    ({"tried": RATES, "learning_rate": 3e-3}, None),
    ({"tried": [*RATES[:2], Trial(1e-2, 0.8)], "learning_rate": 1e-2}, "the highest learning rate"),
    ({"tried": [Trial(1e-3, 0.8), *RATES[1:]], "learning_rate": 1e-3}, "the lowest learning rate"),
    ({"tried": [Trial(1e-3, 0.704), *RATES[1:]], "learning_rate": 1e-3}, None),
    ({"tried": RATES[1:], "learning_rate": 3e-3}, None),  # one of two is at an edge always
]


def test_cells_that_were_not_trained_to_the_end_are_named():
    for changes, why in NOT_ENDED:
        found = judged([frozen(0.70, 0.71, 0.72, **changes), WARM], FAR)
        assert ("1 cell not trained to the end" in found.sentence) == (why is not None)
        if why:
            assert f"(bcn head) is not trained to the end: {why}" in behind(found)
            said_of(found, "before you rely on it")
    tests = {
        "cold": BaselineTest(0.01, 0.5, 0.5, False),
        "warm": BaselineTest(0.3, 0.001, 0.002, True),
    }
    baseline = BaselineScores(answer="O", score=BASELINE, chosen_on=0.4, cells=tests)
    found = judged([COLD, WARM], FAR, baseline=baseline)
    assert "others are above" in said_of(found, "is not trained to the end")
    assert "not trained" not in judged([COLD, WARM], FAR, above=False).sentence
    baseline = replace(baseline, cells=dict.fromkeys(tests, tests["cold"]))
    better = [ReferenceScores(name="TF-IDF", score=BASELINE + 0.1, cells=baseline.cells)]
    found = judged([COLD, WARM], FAR, baseline=baseline, references=better)
    assert "2 cells not trained to the end" in found.sentence
