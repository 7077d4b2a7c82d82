import hashlib
import html
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import report_contents as contents
from sketch import SKETCH

from hub_modules.storage import files
from tf_adapt.errors import ArtifactError
from tf_adapt.report import write
from tf_adapt.report.blocks import Picture, Section
from tf_adapt.report.content import Agreement, Verdict, to_json
from tf_adapt.report.figures.drawing import Drawing
from tf_adapt.report.html import to_html
from tf_adapt.report.lines import to_lines
from tf_adapt.report.markdown import to_markdown
from tf_adapt.report.scored_cells import FailedSeeds
from tf_adapt.report.sections import sections
from tf_adapt.report.verdict_blocks import verdict_blocks
from tf_adapt.report.write import FIGURES, write_report

HELPERS = Path(contents.__file__).parent
PROGRAM = """
import sys
sys.path.insert(0, {helpers!r})
import report_contents
from tf_adapt.report.write import write_report
write_report(report_contents.complete(), {folder!r})
print([name for name in ("tensorflow", "keras", "scipy", "pandas") if name in sys.modules])
"""


def hashes(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.slow
def test_the_record_is_the_content(reports):
    for name in ("complete", "incomplete", "hostile"):
        text = (reports / name / "report.json").read_text("utf-8")
        assert json.loads(text) == to_json(getattr(contents, name)())


EIGHT = (
    "feature_extraction", "fine_tuning", "two_stage", "gradual_unfreezing",
    "sequential_unfreezing", "adapters", "lora", "bitfit",
)  # fmt: skip


@pytest.mark.slow
def test_another_process_writes_the_same_bytes_without_tensorflow(reports, tmp_path):
    program = PROGRAM.format(helpers=str(HELPERS), folder=str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
    expected = hashes(reports / "complete")
    assert len(expected) == 3 + 2 * (len(FIGURES) - 1)  # there was no search
    assert hashes(tmp_path) == expected


@pytest.mark.slow
def test_figures_of_an_earlier_report_do_not_stay(reports, tmp_path):
    folder = shutil.copytree(reports / "complete", tmp_path / "report")
    write_report(contents.one_cell(), folder)
    assert hashes(folder) == hashes(reports / "one_cell")
    assert sorted(path.name for path in (folder / "figures").iterdir()) == [
        "curves.png", "curves.svg", "reliability.png", "reliability.svg",
        "scores.png", "scores.svg",
    ]  # fmt: skip


@pytest.mark.parametrize("at", range(5))
def test_a_failed_write_leaves_whole_files(at, tmp_path, monkeypatch):
    content = contents.with_cell(contents.one_cell(), 0, replace, curves=[])
    drawing = Drawing(b'<svg viewBox="0 0 9 9"></svg>', b"first")
    monkeypatch.setattr(write, "draw", lambda *arguments: drawing)
    write_report(content, tmp_path)
    before = hashes(tmp_path)
    content = replace(content, summary="another one")
    drawing = Drawing(b'<svg viewBox="0 0 8 8"></svg>', b"second")
    calls = []

    def rename(source, target):
        calls.append(target)
        if len(calls) > at:
            raise OSError(28, "No space left on device")
        source.replace(target)

    monkeypatch.setattr(files, "rename", rename)
    with pytest.raises(ArtifactError, match="No space left on device"):
        write_report(content, tmp_path)
    after = hashes(tmp_path)
    assert after.keys() == before.keys()
    changed = {tmp_path / name for name in after if after[name] != before[name]}
    assert changed == set(calls[:at])
    assert after["report.json"] == before["report.json"]


def test_numbers_that_are_not_finite_are_refused_before_anything_is_written(tmp_path):
    content = contents.with_cell(contents.one_cell(), 0, contents.with_results, mean=float("nan"))
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_report(content, tmp_path / "report")
    assert not (tmp_path / "report").exists()


def test_what_is_missing_is_said(reports):
    text = (reports / "incomplete" / "report.md").read_text("utf-8")
    assert (
        "> **Seeds that failed: 1. bert_small · 🔥 fine_tuning · linear: diverged in 2 of 3; "
        "3. elmo_small · ❄ feature_extraction · default: diverged in 3 of 3. Means and tests are "
        "of the seeds that trained; a cell of which fewer than 3 did is not decided.**"
    ) in text
    assert "# Not decided: seeds failed." in text
    assert "no: fewer than three seeds trained" in text
    assert (
        "In no pair, since no seed trained: 3. elmo_small · ❄ feature_extraction · default." in text
    )
    assert "can neither confirm nor contradict" in text
    for absent in ("Which labels are confused", "Where the cells disagree", "Exported"):
        assert absent not in text


def test_one_seed_and_one_split_are_said(reports):
    text = (reports / "one_cell" / "report.md").read_text("utf-8")
    assert "Pearson correlation × 100 on dev, one seed, so no deviation" in text
    assert "dev both chose and scored" in text
    assert "there is nothing to test" in text
    assert "One learning rate in each cell, which was run with 1 seed (7)." in text
    assert "learning rates tried" not in text
    assert "with a seed that is not scored" not in text
    assert "±" not in text.split("## Scores")[1].split("<details>")[0]


def test_sentences_stand_below_their_subjects():
    content = contents.complete()
    guideline = replace(content.verdict.guideline, sentence="Freeze.", agrees=False)
    content = contents.with_verdict(content, guideline=guideline)
    text = to_markdown(sections(content))
    before, rests_on, *_ = text.split("\n## ")
    assert re.findall(r"(?m)^\*\*(.*)\*\*\n\n- ", rests_on) == [
        "Decision", "Cost", "Data and split", "The paper's guideline", "What to do next",
    ]  # fmt: skip
    assert "**The paper's guideline**\n\n- Freeze. This comparison does not agree with it." in text
    lines = to_lines(verdict_blocks(content))
    page = html.unescape(to_html("", verdict_blocks(content), {}))
    assert lines[0] == content.verdict.sentence
    assert lines[2] == ("to train on 2,000 ■■■■■■■■■■■■■■■■, to choose 500 ■■■■, scored 500 ■■■■")
    assert "<li>to train on 2,000</li><li>to choose 500</li><li>scored 500</li>" in page
    first = [line for line in lines if line.startswith("- ")]
    assert first == [
        "- Run 4 to 27 more seeds. The cell's model is in runs/sick_e/export/1.",
        "- Items of the tests: 500 pairs in 425 groups.",
        "- Freeze. This comparison does not agree with it.",
    ]
    assert first == re.findall(r"(?m)^- .*", before.replace("\\", ""))


def test_with_folds_each_example_is_scored():
    content = replace(contents.complete(), folds=5, examples={"train": 289, "dev": 32, "test": 401})
    (line,) = [line for line in to_lines(verdict_blocks(content)) if "to train on" in line]
    assert line.startswith("to train on 289 ■")
    assert "scored 80 ■■■■■; 5 times with other parts, so that each of 401 examples is" in line
    assert "scored by a model that did not see it" in line
    page = to_markdown(sections(content))
    (tried,) = [line for line in page.splitlines() if "learning rates tried in each" in line]
    assert "the runs with the chosen ones are scored; the chosen one was run with" in tried
    assert "repeats of 5 folds" in tried and "not scored" not in page


def test_a_page_is_folded_below_the_first_lines():
    page = to_html(
        "",
        sections(contents.one_cell()),
        {"scores": SKETCH, "curves": SKETCH, "reliability": SKETCH},
    )
    above, *folded = page.split('<details class="section">')
    for part in ("<h1", '<figure class="wide">', '<div class="split">'):
        assert above.count(part) == 1
    assert len(folded) >= 6
    for part in folded[:-1]:
        assert part.startswith("\n<summary><h2>")


def test_no_verdict_is_said():
    content = contents.complete()
    assert "# No verdict" in to_markdown(sections(replace(content, verdict=None)))


def nothing_trained(outcomes):
    content, cells = contents.incomplete(), []
    for cell in content.cells:
        known = [score for score in cell.results.scores if score is not None]
        scores = cell.results.scores if "one_answer" in outcomes else [None] * 3
        ended = ["diverged" if score is None else "one_answer" for score in scores]
        failed = FailedSeeds(ended.count("diverged"), ended.count("one_answer"))
        changes = {"scores": scores, "outcomes": ended, "trained": 0, "failed": failed}
        if scores == [None] * 3:
            changes |= dict.fromkeys(("mean", "deviation", "min", "max"))
            cell = replace(cell, learning_rate=None, curves=[], layer_weights=None,
                           labels=None, reliability=None, costs=contents.UNKNOWN_COSTS)  # fmt: skip
        cells.append(contents.with_results(cell, **changes))
        assert known or cells[-1].results.mean is None
    verdict = Verdict(
        sentence="Nothing to judge.", decided=False, above_baseline=False, best=None,
        alternatives=[], recommended=None, next_step="train", first=[], evidence={},
        guideline=Agreement("", None, {}),
    )  # fmt: skip
    return replace(content, cells=cells, pairs=[], verdict=verdict)


def test_a_comparison_in_which_every_seed_diverged(tmp_path):
    write_report(nothing_trained(["diverged"]), tmp_path)
    text = (tmp_path / "report.md").read_text("utf-8")
    assert "1. bert\\_small" not in text
    assert "diverged in 3 of 3; 2. bert_small" in text
    assert "Fewer than two cells trained: there is nothing to test." in text
    assert "guideline" not in text
    assert "(means, where none did" not in text
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == [
        "scores.png", "scores.svg",
    ]  # fmt: skip


def test_a_comparison_in_which_every_seed_gives_one_answer():
    text = to_markdown(sections(nothing_trained(["one_answer", "diverged"])))
    assert "diverged in 2 of 3, one answer to everything in 1 of 3" in text
    assert "(means, where none did, of those with a score)" in text
    assert "63.4 (failed) |" in text
    assert "Failed: one answer to everything" in text
    assert "Nothing is coloured, since no cell is shown to be above the baseline." in text


def test_thirty_cells_with_long_names():
    blocks = sections(contents.large())
    text = to_markdown(blocks)
    assert "The other pairs: 406" in text
    assert "is over 435 pairs that can be tested" in text
    inside = [block for part in blocks if isinstance(part, Section) for block in part.blocks]
    pictures = [block for block in [*blocks, *inside] if isinstance(block, Picture)]
    assert {picture.name for picture in pictures} == set(FIGURES)


@pytest.mark.slow
def test_the_page_of_500_runs_is_below_5_mb(tmp_path):
    cells = [contents.cell("bert_small", a, [0.7] * 62, n) for n, a in enumerate(EIGHT)]
    write_report(contents.comparison(cells, seeds=range(62)), tmp_path)
    assert (tmp_path / "report.html").stat().st_size < 2e6
    assert (tmp_path / "report.json").stat().st_size < 1e6


def test_settings_that_are_not_the_same_in_all_cells_are_said():
    content = contents.complete()
    epochs = {one.id: 15 if one.adaptation == "feature_extraction" else 4 for one in content.cells}
    text = to_markdown(sections(replace(content, different={"training.epochs": epochs})))
    text = text.replace("\\", "")
    assert "Not the same in all cells: training.epochs is 4 (" in text
    assert "15 (feature_extraction)" in text
