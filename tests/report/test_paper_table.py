import html
from dataclasses import replace

import pytest
import report_contents as contents

from tf_adapt import paper
from tf_adapt.report.content import ReferenceScores
from tf_adapt.report.html import to_html
from tf_adapt.report.markdown import escaped, to_markdown
from tf_adapt.report.paper_table import baseline_text, paper_table
from tf_adapt.report.scored_cells import FailedSeeds

FROZEN, TUNED = "feature_extraction", "fine_tuning"


def texts(row):
    return [[entry.text for entry in entries] for entries in row]


def tones_of(table):
    return [entry.tone for row in table.rows for entries in row for entry in entries if entry.tone]


def decided(content, *, alike=False):
    """The content with every pair decided."""
    changes = {"decided": True, "alike": alike, "p_holm": 0.001, "why": "decided"}
    return replace(content, pairs=[replace(pair, **changes) for pair in content.pairs])


def frozen_and_tuned(frozen, tuned):
    cells = [contents.cell("bert", FROZEN, frozen), contents.cell("bert", TUNED, tuned)]
    return contents.comparison(cells, range(len(frozen)))


TONES = {
    "elmo": {"MNLI": "freeze", "SICK-E": "freeze", "SICK-R": "freeze", "MRPC": "freeze"},
    "bert": {"SICK-E": "tune", "SICK-R": "tune", "MRPC": "tune", "STS-B": "tune"},
}


@pytest.mark.parametrize("family", TONES)
@pytest.mark.parametrize("turned", [False, True])
def test_the_papers_table_2_gets_the_papers_colours(family, turned):
    for dataset, (frozen, tuned) in paper.TABLE_2[family].items():
        cells = [
            contents.cell(family, FROZEN, (frozen / 100,)),
            contents.cell(family, TUNED, (tuned / 100,)),
        ]
        if turned:  # the pair is fine_tuning − feature_extraction
            cells.reverse()
        row, _ = paper_table(decided(contents.comparison(cells, (0,)))).rows
        cold, hot = row[1][0], row[2][0]
        assert (cold.text, hot.text) == (f"{frozen:.1f}", f"{tuned:.1f}")
        expected = TONES[family].get(dataset)
        assert cold.tone == ("freeze" if expected == "freeze" else None), dataset
        assert hot.tone == ("tune" if expected == "tune" else None), dataset


def test_simple_models_have_rows_above_the_baseline():
    simple = ReferenceScores(name="TF-IDF", score=0.643, cells={})
    rows = paper_table(replace(contents.complete(), references=[simple])).rows
    assert [texts(row)[0] for row in rows[-2:]] == [["TF-IDF"], ["baseline"]]
    assert {text for entries in texts(rows[-2])[1:] for text in entries} == {"64.3"}


def test_a_coloured_cell_says_so_in_words():
    table = paper_table(contents.complete())
    tuned = table.rows[0][2][0]
    assert (tuned.text, tuned.tone) == ("65.1 ± 1.1", "tune")
    assert tuned.note == "linear; tune: 🔥 − ❄ +3.4"
    frozen = table.rows[1][1][0]
    assert frozen.note == "esim; freeze: 🔥 − ❄ −3.7"
    assert len(tones_of(table)) == 2  # +1.0 of the untrained network is not decided


def test_a_difference_that_is_not_decided_is_not_coloured():
    content = frozen_and_tuned((0.60, 0.62), (0.614, 0.634))
    (pair,) = content.pairs
    assert pair.difference == pytest.approx(-0.014)
    assert not pair.decided
    table = paper_table(content)
    assert tones_of(table) == []
    assert "decided by the pairwise tests" in table.caption
    assert tones_of(paper_table(decided(content))) == ["tune"]


def test_a_decided_difference_of_less_than_a_point_is_not_coloured():
    content = decided(frozen_and_tuned((0.60, 0.62), (0.609, 0.629)))
    assert tones_of(paper_table(content)) == []
    assert tones_of(paper_table(decided(content, alike=True))) == []


def test_nothing_is_coloured_where_no_cell_is_above_the_baseline():
    for is_judged in [True, False]:
        content = decided(frozen_and_tuned((0.60, 0.62), (0.70, 0.72)))
        assert tones_of(paper_table(content)) == ["tune"]
        content = contents.with_verdict(content, above_baseline=False)
        table = paper_table(content if is_judged else replace(content, verdict=None))
        assert tones_of(table) == []
        assert (
            "Nothing is coloured, since no cell is shown to be above the baseline." in table.caption
        )
        assert "Coloured" not in table.caption


def test_rows_are_encoders_and_columns_adaptations():
    table = paper_table(contents.complete())
    assert table.columns == [
        "encoder", "❄ feature_extraction", "🔥 fine_tuning", "two_stage", "gradual_unfreezing",
    ]  # fmt: skip
    names = [row[0][0].text for row in table.rows]
    assert names == ["bert_small", "elmo_small", "bert_small untrained", "baseline"]
    assert texts(table.rows[2])[3:] == [["–"], ["–"]]
    assert "3 seeds" in table.caption


def test_a_joint_and_a_separate_bert_are_two_rows():
    cells = [
        contents.cell("bert", adaptation, scores, pairs=pairs)
        for pairs, adaptation, scores in (
            ("joint", FROZEN, (0.60, 0.61)),
            ("joint", TUNED, (0.70, 0.71)),
            ("separate", FROZEN, (0.65, 0.66)),
            ("separate", TUNED, (0.50, 0.51)),
        )
    ]
    joint, separate, _ = paper_table(decided(contents.comparison(cells, (0, 1)))).rows
    assert texts(joint) == [["bert"], ["60.5 ± 0.7"], ["70.5 ± 0.7"]]
    assert texts(separate) == [["bert, separate texts"], ["65.5 ± 0.7"], ["50.5 ± 0.7"]]
    assert [joint[2][0].tone, separate[1][0].tone] == ["tune", "freeze"]


def test_one_name_for_two_modules_is_two_rows():
    cells = [contents.cell("bert", FROZEN, (0.6,)), contents.cell("bert", TUNED, (0.7,))]
    cells[1] = replace(cells[1], module="f" * 64)
    assert len(paper_table(contents.comparison(cells, (0,))).rows) == 3


def test_a_cell_that_never_finished_stands_with_its_encoder():
    """It knows neither its module nor its family, so that its texts seem to be read separately."""
    cells = [
        contents.cell("bert", FROZEN, (None, None), pairs="separate"),
        contents.cell("bert", TUNED, (0.7, 0.71)),
        contents.cell("bert", "two_stage", (0.6, 0.61), pairs="separate"),
        contents.cell("bert", FROZEN, (None, None), pretrained=False),
    ]
    for number in (0, 3):
        cells[number] = replace(cells[number], module=None, family=None)
    rows = paper_table(contents.comparison(cells[:2], (0, 1))).rows
    assert texts(rows[0]) == [["bert"], ["–"], ["70.5 ± 0.7"]]
    assert rows[0][1][0].note == "esim; failed in 2 of 2 seeds"
    assert len(rows) == 2
    rows = paper_table(contents.comparison(cells, (0, 1))).rows
    assert [row[0][0].text for row in rows][:2] == ["bert, separate texts", "bert"]
    assert rows[0][1][0].note == "esim; failed in 2 of 2 seeds"
    assert "untrained" in rows[2][0][0].text


def test_an_encoder_with_a_classification_token_has_a_row_of_its_own():
    """A cell that never finished too."""
    plain = contents.cell("gpt2", TUNED, (0.5, 0.51), pairs="joint")
    cells = [plain, replace(plain, id="token", classification_token=True)]
    unfinished = contents.cell("gpt2", FROZEN, (None, None), pairs="joint")
    cells.append(replace(unfinished, classification_token=True, module=None, family=None))
    first, second, _ = paper_table(contents.comparison(cells, (0, 1))).rows
    assert texts(first) == [["gpt2"], ["–"], ["50.5 ± 0.7"]]
    assert texts(second) == [["gpt2, classification token"], ["–"], ["50.5 ± 0.7"]]
    assert (first[1][0].note, second[1][0].note) == ("", "esim; failed in 2 of 2 seeds")


def test_of_several_heads_the_best_is_coloured():
    cells = [
        contents.cell("bert", FROZEN, (0.70,), head="esim"),
        contents.cell("bert", FROZEN, (0.60,), head="linear"),
        contents.cell("bert", TUNED, (0.65,)),
    ]
    table = paper_table(decided(contents.comparison(cells, (0,))))
    first, second = table.rows[0][1]
    assert (first.tone, second.tone, table.rows[0][2][0].tone) == ("freeze", None, None)
    assert (first.note, second.note) == ("esim; freeze: 🔥 − ❄ −5.0", "linear")
    assert "of several heads the best" in table.caption
    assert "one seed, so no deviation" in table.caption


def test_several_settings_of_another_adaptation_are_not_several_heads():
    cells = [contents.cell("bert", FROZEN, (0.7,)), contents.cell("bert", TUNED, (0.65,))]
    cells += [
        contents.cell("bert", "gradual_unfreezing", (0.6,), settings={"every": every})
        for every in (25, 50)
    ]
    assert "several heads" not in paper_table(contents.comparison(cells, (0,))).caption


def test_nothing_is_coloured_or_explained_without_both():
    cells = [contents.cell("bert", TUNED, (0.6, 0.7)), contents.cell("elmo", "two_stage", (0.2, 1))]
    table = paper_table(decided(contents.comparison(cells, (0, 1))))
    assert table.columns == ["encoder", "🔥 fine_tuning", "two_stage"]
    assert tones_of(table) == []
    assert "oloured" not in table.caption


def test_seeds_that_failed_are_counted():
    table = paper_table(contents.incomplete())
    bert, elmo, _ = table.rows
    # (65.2 + 2 · 56.7) / 3, with the baseline's score for the seeds without one.
    assert (bert[2][0].text, bert[2][0].note) == (
        "65.2", "linear; failed in 2 of 3 seeds; 59.5 with them",
    )  # fmt: skip
    assert (elmo[1][0].text, elmo[1][0].note) == ("–", "default; failed in 3 of 3 seeds")
    assert (bert[3][0].text, bert[3][0].note) == ("64.6 ± 1.1", "linear, head_epochs 2")
    assert "where some failed, over those that trained" in table.caption
    assert "failed" not in paper_table(contents.complete()).caption


def test_a_cell_of_which_no_seed_trained_is_never_coloured():
    content = contents.with_cell(
        replace(frozen_and_tuned((0.6, 0.6), (0.8, 0.8)), pairs=[]),
        1,
        contents.with_results,
        trained=0,
        outcomes=["one_answer"] * 2,
        failed=FailedSeeds(diverged=0, one_answer=2),
    )
    table = paper_table(content)
    assert tones_of(table) == []
    assert table.rows[0][2][0].note == "linear; failed in 2 of 2 seeds"


def test_the_baseline_is_the_last_row_in_no_column_alone():
    *_, row = paper_table(contents.complete()).rows
    assert texts(row) == [["baseline"], *[["56.7"]] * 4]
    assert row[0][0].note == "always 'NEUTRAL'"


ANSWERS = [
    ("yes", "classification", "always 'yes'"),
    ("it's", "pair_classification", 'always "it\'s"'),
    ("", "classification", "always ''"),
    ("O", "tagging", "always O"),
    (3.532, "pair_regression", "always 3.53, train's mean"),
    (0.0, "pair_regression", "always 0, train's mean"),
    (1234.5, "pair_regression", "always 1,234, train's mean"),
    (["a", "b"], "multilabel_classification", "always 'a', 'b'"),
    ([], "multilabel_classification", "always no label"),
    ("a\nb\x07\u202ec", "classification", r"always 'a\nb\x07\u202ec'"),
    ("x" * 500, "classification", f"always '{'x' * 26}…{'x' * 13}'"),
]


def test_what_the_baseline_answers():
    for answer, kind, expected in ANSWERS:
        assert baseline_text(answer, kind) == expected


def test_the_baselines_label_is_text_in_every_file():
    content = contents.complete()
    label = "<b>&|`*_[x](y)$"
    content = replace(content, baseline=replace(content.baseline, answer=label))
    table = paper_table(content)
    page = to_html("", [table], {})
    shown = html.escape(label).replace("_", '<span class="name">_</span>')
    assert f"always &#x27;{shown}&#x27;" in page
    text = to_markdown([table])
    (line,) = [line for line in text.splitlines() if line.startswith("| baseline (")]
    assert line == f"| baseline (always '{escaped(label)}') |" + " 56.7 |" * 4
    assert label not in page


def test_a_sentence_module_is_compared_with_the_papers_skip_thoughts():
    cells = [contents.cell("use", FROZEN, (0.72,)), contents.cell("use", TUNED, (0.73,))]
    cells = [replace(cell, family="sentence", pairs="separate") for cell in cells]
    content = replace(contents.comparison(cells, (0,)), dataset="mrpc", metric="accuracy")
    *_, papers, baseline = paper_table(content).rows
    assert texts(papers) == [["Skip-thoughts"], ["75.8"], ["–"]]
    assert papers[0][0].note == "the paper's table 2, on test"
    assert texts(baseline)[0] == ["baseline"]
    for changes in (
        {"dataset": "sick_e"},  # the paper has no number
        {"dataset": "my own data"},
        {"genre": "news"},
        {"metric": "macro_f1"},
        {"cells": [replace(cell, family="bert") for cell in cells]},
    ):
        assert len(paper_table(replace(content, **changes)).rows) == 2
