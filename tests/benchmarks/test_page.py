"""Medians, ratios and their spread, computed with a pencil; the page of all recorded results."""

import json
from pathlib import Path

from benchmarks.__main__ import BENCHMARKS, write
from benchmarks.side_by_side import machine
from benchmarks.side_by_side.page import duration, page, table
from benchmarks.side_by_side.summary import our_failure, problems


def contestant(name: str, seconds: list[float], **changes) -> dict:
    return {
        "name": name,
        "seconds": seconds,
        "peak_mb": 512.4,
        "amount": None,
        "notes": [],
        "versions": {},
        "difference": None,
        "tolerance": 0.0,
        "why": "",
        "failure": None,
    } | changes


def measurement(*contestants, **changes) -> dict:
    return {
        "work": "some work",
        "rounds": 3,
        "calls": 1,
        "fastest": False,
        "compared": "",
        "unit": "",
        "at_least": {},
        "at_most": None,
        "contestants": list(contestants),
    } | changes


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_table_by_pencil():
    # Ratios by round 6/2, 4/4, 9/3, sorted 1, 3, 3: not the 2 of the medians 6/3.
    ours = contestant("ours", [2.0, 4.0, 3.0], amount=1200, difference=0.0)
    theirs = contestant("theirs", [6.0, 4.0, 9.0], difference=0.00123, tolerance=0.01)
    given = measurement(
        ours, theirs, unit="units", compared="all of it", at_least={"theirs": 2.5}, at_most=3.0
    )
    lines = table({"a chip": given})
    assert lines[0] == "**some work** (3 turns; compared: all of it)"
    assert [cells(line) for line in lines[2:]] == [
        ["", "a chip", "difference (allowed)", "target"],
        ["---"] * 4,
        ["ours", "3 s (2 s to 4 s), 400 units/s, 512 MB, **missed**", "", "< 3 s"],
        [
            "theirs",
            "6 s, ratio 3.00 (1.00 to 3.00), 200 units/s, 512 MB",
            "0.0012 (0.01)",
            "≥ 2.5",
        ],
    ]


def test_columns_without_content_are_left_out():
    lines = table({"a chip": measurement(contestant("ours", [0.012, 0.010]))})
    assert [cells(line) for line in lines[2:]] == [
        ["", "a chip"],
        ["---"] * 2,
        ["ours", "11 ms (10 ms to 12 ms), 512 MB"],
    ]


def test_each_processor_has_a_column():
    ours = contestant("ours", [2.0], difference=0.0)
    slow = contestant("theirs", [3.0], difference=0.1, tolerance=0.2)
    fast = contestant("theirs", [1.0], difference=0.3, tolerance=0.2)
    one = measurement(ours, slow, contestant("third", [8.0]), at_least={"theirs": 1.2})
    other = measurement(ours, fast, at_least={"theirs": 1.2})
    lines = table({"one chip": one, "another": other})
    assert [cells(line)[:4] for line in (lines[2], *lines[5:7])] == [
        ["", "one chip", "another", "difference (allowed)"],
        [
            "theirs",
            "3 s, ratio 1.50 (1.50 to 1.50), 512 MB",
            "1 s, ratio 0.50 (0.50 to 0.50), 512 MB, **missed**",
            "**0.3 (0.2)**",
        ],
        ["third", "8 s, ratio 4.00 (4.00 to 4.00), 512 MB", "", ""],
    ]


def test_a_failure_stands_where_its_time_would():
    broken = contestant("theirs", [], failure="not installed: pip install x", peak_mb=None)
    lines = table({"a chip": measurement(contestant("ours", [1.0]), broken)})
    assert cells(lines[-1])[:2] == ["theirs", "not installed: pip install x"]
    first_missing = measurement(
        broken | {"name": "ours"}, contestant("theirs", [1.0]), at_least={"theirs": 2.0}
    )
    assert cells(table({"a chip": first_missing})[-1])[1] == "1 s (1 s to 1 s), 512 MB"


def test_only_our_own_failure_is_one_of_the_run():
    broken, fine = contestant("one", [], failure="it broke"), contestant("other", [1.0])
    assert our_failure(measurement(broken, fine)) == ["some work: it broke"]
    assert our_failure(measurement(fine, broken)) == []


def test_outputs_that_differ_are_a_problem():
    wrong = contestant("theirs", [1.0], difference=0.5, tolerance=0.1, why="it rounds")
    given = measurement(contestant("ours", [1.0], difference=0.0), wrong)
    said = "some work: theirs: outputs differ by 0.5, expected at most 0.1"
    assert problems(given) == [said]
    lines = table({"a chip": given})
    assert "**0.5 (0.1)**" in lines[5]
    assert [line.strip() for line in lines[6:]] == [said, "theirs: it rounds."]


def test_conditions_and_notes():
    ours = contestant("ours", [1.0], notes=["dev 0.8", "dev 0.8"])
    lines = table({"a chip": measurement(ours, rounds=7, calls=15, fastest=True)})
    assert lines[0] == "**some work** (7 turns; the fastest of 15 calls in each)"
    assert cells(lines[4]) == ["ours", "1 s (1 s to 1 s), 512 MB, dev 0.8"]


DURATIONS = [(75.26, "75.3 s"), (1234.6, "1,235 s"), (0.0421, "42.1 ms"), (0.000256, "0.256 ms")]


def test_durations_have_three_digits():
    for seconds, text in DURATIONS:
        assert duration(seconds) == text


def result(*measurements, **changes) -> dict:
    return {"machine": "a machine", "measurements": list(measurements), "notes": []} | changes


def test_the_page_has_a_section_for_each_benchmark():
    one, other = measurement(contestant("ours", [1.0])), measurement(contestant("ours", [2.0]))
    processors = {"x": result(one), "y": result(other, notes=["No."])}
    lines = page(
        {
            "b": {"about": "More.", "processors": {"x": result()}},
            "a": {"about": "What it is.", "processors": processors},
        }
    ).splitlines()
    assert lines[lines.index("## a") :] == [
        *("## a", "", "What it is.", "", "**some work** (3 turns)", ""),
        *("|  | x | y |", "| --- | --- | --- |"),
        *("| ours | 1 s (1 s to 1 s), 512 MB | 2 s (2 s to 2 s), 512 MB |", ""),
        *("- x: a machine.", "- y: a machine. No.", ""),
        *("## b", "", "More.", "", "- x: a machine."),
    ]


def test_work_under_other_conditions_has_a_table_of_its_own():
    one, other = (measurement(contestant("ours", [1.0]), rounds=rounds) for rounds in (3, 5))
    found = page({"a": {"about": "", "processors": {"x": result(one), "y": result(other)}}})
    assert "(3 turns)\n\n|  | x |\n" in found
    assert "(5 turns)\n\n|  | y |\n" in found


def test_a_new_result_stands_beside_those_of_other_processors(tmp_path, monkeypatch):
    for name, seconds in (("one", 1.0), ("another", 2.0), ("one", 4.0)):
        monkeypatch.setattr("benchmarks.__main__.processor", lambda name=name: name)
        given = result(measurement(contestant("ours", [seconds])))
        write(tmp_path, "crf", given | {"about": "What it is."})
    recorded = json.loads((tmp_path / "benchmarks.json").read_text("utf-8"))
    assert list(recorded["crf"]["processors"]) == ["one", "another"]
    text = (tmp_path / "benchmarks.md").read_text("utf-8")
    assert "| ours | 4 s (4 s to 4 s), 512 MB | 2 s (2 s to 2 s), 512 MB |" in text


PROCESSORS = [
    ("Intel(R) Xeon(R) Processor", {"avx2", "amx_bf16"}, "Intel Xeon with AMX"),
    ("Intel(R) Xeon(R) Processor", {"avx2"}, "Intel Xeon"),
    ("AMD EPYC", set(), "AMD EPYC"),
]


def test_names_of_processors(monkeypatch):
    for model, flags, name in PROCESSORS:
        monkeypatch.setattr(machine, "_processor", lambda given=(model, flags): given)
        assert machine.processor() == name


def test_the_recorded_page_is_that_of_the_recorded_results():
    docs = Path(__file__).parents[2] / "docs"
    recorded = json.loads((docs / "benchmarks.json").read_text("utf-8"))
    assert set(recorded) == set(BENCHMARKS)
    assert page(recorded) == (docs / "benchmarks.md").read_text("utf-8")
