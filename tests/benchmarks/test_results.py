"""`python -m benchmarks.results`: what is published of a comparison."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import report_contents
from click.testing import CliRunner
from scipy.stats import pearsonr
from seqeval.metrics import f1_score
from sklearn.metrics import accuracy_score

from benchmarks.results import adding
from benchmarks.results.__main__ import main
from benchmarks.results.adding import HOME, ROOT, add
from benchmarks.results.costs import costs_block
from benchmarks.results.differences import MEASURES, TABLE, table
from benchmarks.results.few_labels import table as table_of_few_labels
from benchmarks.results.found_figure import FIGURE, figure
from benchmarks.results.gallery import gallery, shown
from benchmarks.results.pages import PAGES, made, not_shown
from benchmarks.results.published import published
from tf_adapt.comparison.advice.published import published as published_differences
from tf_adapt.comparison.kept.answers import (
    FILE,
    KeptAnswers,
    file_of_domain,
    read_answers,
    write_answers,
)
from tf_adapt.comparison.kept.scores import read_rescored, rescored
from tf_adapt.comparison.kept.shift import shifted_domains
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.report.content import ReferenceScores, to_json

LABELS = report_contents.LABELS


@pytest.fixture
def finished(tmp_path):
    """The folder of a comparison: ❄ at 60 %, 🔥 at 80."""
    folder, random = tmp_path / "SICK-E", np.random.default_rng(0)
    gold = random.choice(LABELS, 100).tolist()
    other = dict(zip(LABELS, LABELS[1:] + LABELS[:1], strict=True))
    cells, answers = [], {}
    for name, share in (("feature_extraction", 0.6), ("fine_tuning", 0.8)):
        cell = report_contents.cell("bert_small", name, [share] * 3)
        wrong = [random.permutation(100) >= 100 * share for _ in range(3)]
        answers[cell.id] = {
            seed: [
                other[label] if is_wrong else label
                for label, is_wrong in zip(gold, of, strict=True)
            ]
            for seed, of in enumerate(wrong)
        }
        cells.append(cell)
    content = report_contents.comparison(cells)
    kept = KeptAnswers("", gold, np.arange(100), answers)
    content = replace(
        content,
        examples=content.examples | {content.scored_on: 100},
        command=f"tf-adapt compare configs/small/table2.yaml --out {folder}",
    )
    folder.mkdir()
    report = json.dumps(to_json(rescored(content, kept)))
    (folder / "report.json").write_text(report)
    write_answers(kept, folder / FILE)
    return folder


def test_a_comparison_is_added_without_texts_and_places(finished, tmp_path):
    target = add(finished, "sick_e", tmp_path / "home")
    assert target == tmp_path / "home" / "sick_e"
    assert sorted(path.name for path in target.iterdir()) == [FILE, "report.json"]
    content, answers = read_rescored(target)
    assert [cell.results.mean for cell in content.cells] == pytest.approx([0.6, 0.8])
    assert content.command.endswith("--out comparisons/sick_e")
    assert content.disagreements == [] and str(tmp_path) not in (target / "report.json").read_text()
    before = {path.name: path.read_bytes() for path in target.iterdir()}
    add(target, "sick_e_again", tmp_path / "home")
    assert (tmp_path / "home/sick_e_again" / FILE).read_bytes() == before[FILE]


@pytest.mark.parametrize("folder", ["cell", "."])
def test_a_short_name_of_the_folder_is_replaced_as_an_argument_alone(
    finished, tmp_path, monkeypatch, folder
):
    place = finished.rename(tmp_path / "cell")
    report = json.loads((place / "report.json").read_text())
    report["command"] = f"tf-adapt compare cell.yaml --set a=cell.x --out {folder}/ {place}/runs"
    (place / "report.json").write_text(json.dumps(report))
    monkeypatch.chdir(place if folder == "." else tmp_path)
    target = add(Path(folder), "cell", tmp_path / "home")
    content, _ = read_rescored(target)
    assert content.command == (
        "tf-adapt compare cell.yaml --set a=cell.x --out comparisons/cell comparisons/cell/runs"
    )
    assert content.cells == read_rescored(place)[0].cells


def test_a_comparison_in_other_domains_is_added_with_their_answers(finished, tmp_path):
    content, kept = read_rescored(finished)
    described = {"there": "there (file there.tsv)"}
    shifted = shifted_domains(content, kept, {"there": kept}, described, {"there": 0})
    report = json.dumps(to_json(replace(content, shifted=shifted)))
    (finished / "report.json").write_text(report)
    target, abroad = tmp_path / "home" / "sick_e", file_of_domain("there")
    with pytest.raises(ArtifactError, match=abroad):
        add(finished, "sick_e", tmp_path / "home")
    assert not target.exists()
    write_answers(kept, finished / abroad)
    write_answers(kept, finished / file_of_domain("left_over"))
    add(finished, "sick_e", tmp_path / "home")
    assert sorted(path.name for path in target.iterdir()) == [FILE, abroad, "report.json"]
    (finished / "report.json").write_text(json.dumps(to_json(content)))
    add(finished, "sick_e", tmp_path / "home")
    assert sorted(path.name for path in target.iterdir()) == [FILE, "report.json"]


def test_cells_abroad_have_a_row_a_domain_and_are_pooled_over_the_moves(finished):
    """❄ 60 and 🔥 80 at home; the same in one domain, changed about in the other."""
    content, kept = read_rescored(finished)
    frozen, tuned = kept.cells
    answers = {"like": kept.cells, "also": kept.cells, "turned": {frozen: kept.cells[tuned]}}
    answers["turned"][tuned] = kept.cells[frozen]
    simple = {"TF-IDF": [kept.gold]}
    abroad = {name: replace(kept, cells=of, references=simple) for name, of in answers.items()}
    shifted = shifted_domains(
        content, kept, abroad, dict.fromkeys(abroad, ""), dict.fromkeys(abroad, 0)
    )
    page = "<!-- made: abroad shift -->\n<!-- /made -->"
    references = [ReferenceScores(name="TF-IDF", score=0.7, cells={})]
    contents = {"shift_x": replace(content, shifted=shifted, references=references)}
    lines = made(page, contents, "page").splitlines()
    assert "| shift_x | home | 29.0 | 70.0 (TF-IDF) | 60.0 ± 0.0 | 80.0 ± 0.0 | +20.0* |" in lines
    assert "|  | like | 29.0 | 100.0 | 60.0 ± 0.0 | 80.0 ± 0.0 | +20.0* |" in lines
    assert "|  | turned | 29.0 | 100.0 | 80.0 ± 0.0 | 60.0 ± 0.0 | −20.0* |" in lines
    # Twice +20 and once −20 there; 0, 0 and −40 from home.
    (row,) = [line for line in lines if line.startswith("| 🔥 − ❄ | accuracy | 3 | ")]
    there, gap = row.split(" | ")[3:]
    assert there.startswith("+6.7 (") and gap.startswith("−13.3 (")
    assert not_shown([page], contents) == []
    # What learns a part of the data is not pooled with what learns all of them.
    pooled = made("<!-- made: pooled all -->\n<!-- /made -->", contents, "page")
    assert "None is published yet." in pooled and made(page, {}, "").count("None is published") == 1


def test_what_is_too_large_is_not_copied(finished, tmp_path, monkeypatch):
    monkeypatch.setattr(adding, "LARGEST_MB", 0)
    with pytest.raises(ConfigError, match="home: expected at most 0 MB in all, got .* with sick_e"):
        add(finished, "sick_e", tmp_path / "home")
    assert not (tmp_path / "home").exists()


def test_a_damaged_comparison_gives_a_message(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.results.__main__.published", lambda: published(tmp_path))
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "report.json").write_text("[]")
    result = CliRunner().invoke(main, ["write"])
    assert result.exit_code == 1 and "expected a report, got something else" in result.output


def test_answers_of_another_comparison_are_refused(finished, tmp_path):
    content = json.loads((finished / "report.json").read_text())
    content["cells"][0]["scores"][1] = 0.61
    (finished / "report.json").write_text(json.dumps(content))
    with pytest.raises(ArtifactError, match="that score 0.6100 as in report.json, got 0.6"):
        add(finished, "sick_e", tmp_path / "home")
    content["examples"]["test"] = 99
    (finished / "report.json").write_text(json.dumps(content))
    with pytest.raises(ArtifactError, match="answers of the cells and the 99 scored examples"):
        add(finished, "sick_e", tmp_path / "home")
    with pytest.raises(ConfigError, match="--name: expected small letters"):
        add(finished, "../x", tmp_path / "home")
    (finished / FILE).unlink()
    result = CliRunner().invoke(main, ["add", str(finished)])
    assert result.exit_code == 1 and FILE in result.output


@pytest.fixture(scope="module")
def contents():
    return published()


def labels_and_shapes(svg: bytes) -> tuple[list[str], int]:
    """The texts of a figure and how many lines and marks it has: another version of matplotlib
    draws them with other bytes."""
    text = svg.decode("utf-8")
    return re.findall(r"<text[^>]*>(.*?)</text>", text), text.count("clip-path=")


@pytest.mark.slow
def test_the_pages_are_those_of_the_answers(contents):
    """`make results` changes nothing; each published comparison is on a page."""
    texts = {page: (ROOT / page).read_text("utf-8") for page in PAGES}
    for page, text in texts.items():
        assert made(text, contents, page) == text, f"{page}: make results"
    assert not_shown(list(texts.values()), contents) == []
    drawn, shown = figure(contents), (ROOT / FIGURE).read_bytes()
    assert labels_and_shapes(drawn) == labels_and_shapes(shown), f"{FIGURE}: make results"


@pytest.mark.slow
def test_the_table_that_ships_is_that_of_the_answers(contents):
    text = (ROOT / TABLE).read_text("utf-8")
    assert table(contents) == text, f"{TABLE}: make results"
    measured = {path.parent.name for path in HOME.glob(f"*/{MEASURES}")}
    measured |= {name for name, content in contents.items() if content.estimate is not None}
    rows = published_differences()
    measured &= {row.comparison for row in rows}  # it has ❄ and 🔥
    assert {row.comparison for row in rows if row.probe is not None} == measured
    for row in rows:
        assert row.difference == pytest.approx(row.tuned - row.frozen, abs=2e-4)


@pytest.mark.slow
def test_the_published_scores_are_those_of_scikit_learn(contents):
    """Counted once more, without our own scores."""
    rows = {
        "accuracy": accuracy_score,
        "pearson": lambda gold, said: pearsonr(gold, np.float64(said)).statistic,
        "span_f1": lambda gold, said: f1_score(list(map(list, gold)), list(map(list, said))),
    }
    counted = 0
    for name, content in contents.items():
        if content.metric not in rows:
            continue
        answers = read_answers(HOME / name / FILE)
        for cell in content.cells:
            for seed, score in zip(content.seeds, cell.results.scores, strict=True):
                if score is not None:
                    said = answers.cells[cell.id][seed]
                    expected = rows[content.metric](answers.gold, said)
                    assert score == pytest.approx(expected, abs=1e-9), (name, cell.id)
                    counted += 1
    assert counted >= 90


def test_reports_have_the_verdict_of_the_answers(finished):
    """Though costs are not known, and the report had none."""
    content = read_rescored(finished)[0]
    costs = replace(content.cells[0].costs, training_seconds=None)
    cells = [replace(cell, costs=costs) for cell in content.cells]
    content = replace(content, cells=cells, verdict=None)
    (report,) = shown({"one": content, "seedless": replace(content, seeds=[0])})
    assert (report.name, report.summary) == ("one", content.summary)
    assert "with fine_tuning (linear head): 80.0 accuracy" in report.sentence
    assert f"<h1>{report.sentence}</h1>" in report.html.replace(' class="long"', "")
    assert "s a training" not in report.html and report.svg.startswith("<?xml")
    assert f"**{report.sentence}**\n\n[![" in gallery([report])


def test_costs_beside_those_of_tuning_everything(finished, tmp_path):
    add(finished, "one", tmp_path / "home")
    (content,) = published(tmp_path / "home").values()

    def costing(seconds):
        cells = [
            replace(cell, costs=replace(cell.costs, training_seconds=seconds[cell.adaptation]))
            for cell in content.cells
        ]
        return replace(content, cells=cells)

    times = [(10.0, 20.0), (80.0, 10.0), (7.0, None)]
    contents = {
        f"table2_{number}": costing({"feature_extraction": frozen, "fine_tuning": tuned})
        for number, (frozen, tuned) in enumerate(times)
    }
    lines = costs_block(contents, "table2").splitlines()
    # Half and eight times: twice as geometric mean; without a time of 🔥 there is no ratio.
    assert [line.split(" | ")[1::2] for line in lines[2:]] == [
        ["❄ feature_extraction", "2.00 |"],
        ["🔥 fine_tuning", "1.00 |"],
    ]
    assert costs_block({}, "table2") == costs_block(contents, "other") == "None is published yet."


def test_the_table_of_few_labels_by_pencil():
    def of(*values):
        return {str(n): {"accuracy": 0.5, "matthews": value} for n, value in enumerate(values)}

    rows = table_of_few_labels(
        {
            "cola/8": {"ours": of(0.1, 0.2, 0.9), "SetFit": of(0.2, 0.2)},
            "trec/8": {"ours": of(0.1), "SetFit": of(0.1)},
        }
    ).splitlines()
    # Of two draws, the third has no other: differences −0.1 and 0, deviation 0.0707, error 0.05.
    assert (
        rows[2] == "| 8 | cola, Matthews correlation | 2 | 15.0 ± 7.1 | 20.0 ± 0.0 | −5.0 (± 5.0) |"
    )
    assert rows[3] == "| 8 | trec, accuracy | 1 | – | – |  |"


def test_pages_of_several_comparisons(finished, tmp_path):
    add(finished, "table2_sick_e", tmp_path / "home")
    contents = published(tmp_path / "home")
    (content,) = contents.values()
    page = "".join(
        f"<!-- made: {kind} {name} -->\nold\n<!-- /made -->\n"
        for kind, name in [
            ("comparison", "table2_sick_e"),
            ("layout", "table2"),
            ("pooled", "table2"),
            ("guidelines", "table2"),
            ("picture", "table2"),
            ("frozen_tuned", "all"),
        ]
    )
    text = made(page, contents, "page")
    assert made(text, contents, "page") == text and "old" not in text
    (pair,) = content.pairs
    ahead = f"+{-100 * pair.difference:.1f}"
    assert ahead == "+20.0" and text.count(ahead) >= 1
    assert "−20.0 (" in text and ", decided |" in text
    assert "| ❄ feature_extraction | 60.0 ± 0.0" in text
    assert "| bert_small | accuracy | 60.0 ± 0.0 | 80.0 ± 0.0 | 🔥 | 3 | `configs/small" in text
    assert "what_we_found.svg" in text and figure(contents) != figure({})
    # What is on one data set is not pooled.
    assert "<!-- made: pooled table2 -->\n\nNone is published yet." in text
    other = {f"table2_{name}": replace(content, dataset=name) for name in ("mrpc", "trec")}
    pooled = made("<!-- made: pooled all -->\n<!-- /made -->", contents | other, "page")
    assert "− ❄ feature_extraction | accuracy | 3 | +20.0" in pooled
    nothing = made("<!-- made: picture table2 -->\n<!-- /made -->", {}, "page")
    assert "None is published yet." in nothing and "svg" not in nothing
    for wrong in ("comparison other", "table table2"):
        with pytest.raises(ConfigError, match=f"page: `made: {wrong}`: expected one of comparis"):
            made(f"<!-- made: {wrong} -->\n<!-- /made -->", contents, "page")
    assert not_shown([page], {"table2_x": content, "other": content}) == ["other"]


def test_readmes_sentence_on_shift_is_the_pages():
    page = (ROOT / "docs/what_we_found.md").read_text("utf-8")
    head, _, *rows = page.split("made: abroad shift -->")[1].strip().splitlines()
    column = [name.strip() for name in head.split("|")].index("🔥 − ❄")
    (first,) = (n for n, row in enumerate(rows) if row.startswith("| shift_sick_mnli"))
    home, *abroad = (row.split("|")[column].strip() for row in rows[first : first + 6])
    said = re.search(
        r"MiniLM is ([\d.]+) points ahead of ❄ at home and up to ([\d.]+) behind on MultiNLI's "
        "genres, both decided",
        (ROOT / "README.md").read_text("utf-8"),
    )
    worst = min(abroad, key=lambda one: float(one.strip("*").replace("−", "-")))
    assert [home, worst] == [f"+{said[1]}*", f"−{said[2]}*"]
