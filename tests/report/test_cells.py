from dataclasses import replace

import report_contents as contents

from tf_adapt.report.cells import best_of, encoder_of, ranked


def test_the_best_mean_comes_first_and_what_has_none_last():
    cells = [
        contents.cell("a", "fine_tuning", (None, None)),
        contents.cell("b", "fine_tuning", (0.5, 0.6)),
        contents.cell("c", "two_stage", (0.7, 0.8)),
        contents.cell("d", "two_stage", (0.6, 0.5)),
        contents.cell("e", "two_stage", (-0.2, -0.1)),  # a correlation can be negative
        contents.cell("f", "two_stage", (None, 0.65)),
    ]
    order = ranked(cells)
    assert [one.cell.encoder for one in order] == ["c", "f", "b", "d", "e", "a"]
    assert [one.number for one in order] == [1, 2, 3, 4, 5, 6]


def test_what_no_seed_trained_is_behind_all_that_trained():
    cells = [
        contents.cell("failed", "fine_tuning", (0.9, 0.9)),
        contents.cell("trained", "fine_tuning", (0.5, 0.6)),
        contents.cell("diverged", "fine_tuning", (None, None)),
    ]
    cells[0] = contents.with_results(cells[0], trained=0, outcomes=["one_answer"] * 2)
    assert [one.cell.encoder for one in ranked(cells)] == ["trained", "failed", "diverged"]


def test_names():
    cells = [
        contents.cell("bert", "feature_extraction", (0.5,), pretrained=False),
        contents.cell("bert", "gradual_unfreezing", (0.4,), settings={"every": 25}),
    ]
    first, second = ranked(cells)
    assert first.name == "1. bert untrained · ❄ feature_extraction · esim"
    assert first.plain == "bert untrained · feature_extraction · esim"
    assert second.name == "2. " + second.plain == "2. bert · gradual_unfreezing · linear, every 25"


def test_an_encoder_is_called_by_what_of_it_is_unusual():
    cells = [
        contents.cell("bert", "two_stage", (0.5,), pairs="separate"),
        contents.cell("bert", "two_stage", (0.4,), pretrained=False, pairs="joint"),
        replace(contents.cell("elmo", "two_stage", (0.3,), pairs="joint"), execution="unrolled"),
    ]
    assert [one.plain.split(" · ")[0] for one in ranked(cells)] == [
        "bert, separate texts",
        "bert untrained",
        "elmo, joint texts, unrolled",
    ]
    assert len({encoder_of(cell) for cell in cells}) == 3


def test_a_classification_token_makes_another_encoder():
    plain = contents.cell("gpt2", "two_stage", (0.5,), pairs="joint")
    cells = [plain, replace(plain, id="gpt2 token", classification_token=True)]
    assert len({encoder_of(cell) for cell in cells}) == 2
    assert [one.plain.split(" · ")[0] for one in ranked(cells)] == [
        "gpt2",
        "gpt2, classification token",
    ]


def test_names_that_would_be_the_same_are_the_ids():
    cells = [contents.cell("bert", "fine_tuning", (score,)) for score in (0.5, 0.4)]
    cells[1] = replace(cells[1], id="bert fine_tuning linear again")
    assert [one.plain for one in ranked(cells)] == [cell.id for cell in cells]


def test_fitted_shortens_the_encoder_first():
    cell = contents.cell("modules/a_rather_long_name_of_an_encoder_x", "fine_tuning", (0.5,))
    fitted = ranked([cell])[0].fitted(44)
    assert len(fitted) <= 44
    assert fitted.startswith("1. modules/")
    assert fitted.endswith("oder_x · fine_tuning · linear")
    cell = contents.cell("e" * 90, "a" * 90, (0.5,), head="h" * 90)
    assert len(ranked([cell])[0].fitted(44)) <= 44


def test_best_of_looks_at_pretrained_cells_with_a_confusion_matrix():
    content = contents.complete()
    order = ranked(content.cells)
    assert best_of(order, frozen=True).cell.encoder == "elmo_small"
    assert best_of(order, frozen=False).cell.adaptation == "fine_tuning"
    order = ranked(
        [
            replace(cell, confusion=None) if cell.adaptation == "fine_tuning" else cell
            for cell in content.cells
        ]
    )
    assert best_of(order, frozen=False).cell.adaptation == "two_stage"
    untrained = [one for one in order if not one.cell.pretrained]
    assert best_of(untrained, frozen=True) is None
