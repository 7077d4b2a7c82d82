"""Medians, ratios and their spread, computed with a pencil."""

import pytest

from benchmarks.side_by_side.page import duration, measurement_lines, page
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
        "shared": False,
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
    lines = measurement_lines(given)
    assert lines[0] == "**some work** (3 turns; compared: all of it)"
    assert [cells(line) for line in lines[2:]] == [
        ["", "time", "per second", "ratio", "memory", "difference (allowed)", "target"],
        ["---"] * 7,
        ["ours", "3 s (2 s to 4 s)", "400 units", "", "512 MB", "0 (0)", "< 3 s: **missed**"],
        [
            "theirs",
            "6 s (4 s to 9 s)",
            "200 units",
            "3.00 (1.00 to 3.00)",
            "512 MB",
            "0.0012 (0.01)",
            "≥ 2.5: reached",
        ],
    ]


def test_columns_without_content_are_left_out():
    lines = measurement_lines(measurement(contestant("ours", [0.012, 0.010])))
    assert [cells(line) for line in lines[2:]] == [
        ["", "time", "memory"],
        ["---"] * 3,
        ["ours", "11 ms (10 ms to 12 ms)", "512 MB"],
    ]


def test_a_failure_stands_where_its_time_would():
    broken = contestant("theirs", [], failure="not installed: pip install x", peak_mb=None)
    lines = measurement_lines(measurement(contestant("ours", [1.0]), broken))
    assert cells(lines[-1])[:2] == ["theirs", "not installed: pip install x"]
    first_missing = measurement(broken, contestant("theirs", [1.0]), at_least={"theirs": 2.0})
    assert cells(measurement_lines(first_missing)[-1])[1] == "1 s (1 s to 1 s)"


def test_only_our_own_failure_is_one_of_the_run():
    broken, fine = contestant("one", [], failure="it broke"), contestant("other", [1.0])
    assert our_failure(measurement(broken, fine)) == ["some work: it broke"]
    assert our_failure(measurement(fine, broken)) == []


def test_outputs_that_differ_are_a_problem():
    wrong = contestant("theirs", [1.0], difference=0.5, tolerance=0.1, why="it rounds")
    given = measurement(contestant("ours", [1.0], difference=0.0), wrong)
    said = "some work: theirs: outputs differ by 0.5, expected at most 0.1"
    assert problems(given) == [said]
    lines = measurement_lines(given)
    assert "**0.5 (0.1)**" in lines[5]
    assert [line.strip() for line in lines[6:]] == [said, "theirs: it rounds."]


def test_conditions_and_notes():
    ours = contestant("ours", [1.0], notes=["dev 0.8", "dev 0.8"], shared=True)
    lines = measurement_lines(measurement(ours, rounds=7, calls=15, fastest=True))
    assert lines[0] == "**some work** (7 turns; the fastest of 15 calls in each)"
    assert cells(lines[4]) == ["ours (dev 0.8)", "1 s (1 s to 1 s)", "512 MB (together)"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(75.26, "75.3 s"), (1234.6, "1,235 s"), (0.0421, "42.1 ms"), (0.000256, "0.256 ms")],
)
def test_durations_have_three_digits(seconds, text):
    assert duration(seconds) == text


def test_the_page_has_a_section_for_each_benchmark():
    result = {"about": "What it is.", "machine": "a machine", "measurements": [], "notes": ["No."]}
    lines = page({"b": result, "a": result}).splitlines()
    start = lines.index("## a")
    assert lines[start:] == [
        *("## a", "", "What it is.", "", "No.", "", "Measured on: a machine.", ""),
        *("## b", "", "What it is.", "", "No.", "", "Measured on: a machine."),
    ]
