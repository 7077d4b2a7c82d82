import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
import report_contents as contents

from tf_adapt import files
from tf_adapt.errors import ArtifactError
from tf_adapt.report import write
from tf_adapt.report.drawing import Drawing
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


def test_the_record_is_the_content(reports):
    for name in ("complete", "incomplete", "hostile"):
        text = (reports / name / "report.json").read_text("utf-8")
        assert json.loads(text) == getattr(contents, name)()


def test_another_process_writes_the_same_bytes_without_tensorflow(reports, tmp_path):
    program = PROGRAM.format(helpers=str(HELPERS), folder=str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
    expected = hashes(reports / "complete")
    assert len(expected) == 3 + 2 * len(FIGURES)
    assert hashes(tmp_path) == expected


def test_figures_of_an_earlier_report_do_not_stay(reports, tmp_path):
    write_report(contents.complete(), tmp_path)
    write_report(contents.one_cell(), tmp_path)
    assert hashes(tmp_path) == hashes(reports / "one_cell")
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == [
        "curves.png", "curves.svg", "scores.png", "scores.svg",
    ]  # fmt: skip


@pytest.mark.parametrize("at", range(5))
def test_a_failed_write_leaves_whole_files(at, tmp_path, monkeypatch):
    content = contents.one_cell()
    content["cells"][0]["curves"] = []
    drawing = Drawing(b'<svg viewBox="0 0 9 9"></svg>', b"first")
    monkeypatch.setattr(write, "draw", lambda *arguments: drawing)
    write_report(content, tmp_path)
    before = hashes(tmp_path)
    content["summary"] = "another one"
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
    content = contents.one_cell()
    content["cells"][0]["mean"] = float("nan")
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_report(content, tmp_path / "report")
    assert not (tmp_path / "report").exists()


def test_what_is_missing_is_said(reports):
    text = (reports / "incomplete" / "report.md").read_text("utf-8")
    assert "Incomplete: 4 of 9 scores are known." in text
    assert "# Not decided: runs are missing." in text
    assert "failed" in text
    assert "can neither confirm nor contradict" in text
    for absent in ("Which labels are confused", "Where the cells disagree", "Exported"):
        assert absent not in text


def test_one_seed_and_one_split_are_said(reports):
    text = (reports / "one_cell" / "report.md").read_text("utf-8")
    assert "Pearson correlation × 100 on dev, one seed, so no deviation" in text
    assert "dev both chose and scored" in text
    assert "there is nothing to test" in text
    assert "1 learning rate tried" in text
    assert (
        "±" not in text.split("## Costs")[0].split("A dot for each seed")[0].split("## Scores")[1]
    )


def test_alternatives_are_named():
    from tf_adapt.report.markdown import to_markdown
    from tf_adapt.report.sections import sections

    content = contents.complete()
    ids = [cell["id"] for cell in content["cells"]]
    content["verdict"] |= {"decided": False, "alternatives": [ids[4]], "recommended": ids[4]}
    content["verdict"]["guideline"] = {"sentence": "Freeze.", "agrees": False}
    text = to_markdown(sections(content))
    assert "Not decided against the best: 2. elmo_small · ❄ feature_extraction · esim." in text
    assert "The cheapest of the best and these: 2. elmo_small" in text
    assert "Freeze. This comparison does not agree with it." in text
    content["verdict"] = None
    assert "# No verdict" in to_markdown(sections(content))


@pytest.mark.slow
def test_thirty_cells_with_long_names(tmp_path):
    write_report(contents.large(), tmp_path)
    text = (tmp_path / "report.md").read_text("utf-8")
    assert "The other pairs: 406" in text
    assert "all 435 pairs" in text
    assert len(hashes(tmp_path)) == 3 + 2 * len(FIGURES)
