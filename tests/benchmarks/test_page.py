"""Medians, ratios and their spread, computed with a pencil; the tables of what was recorded."""

from click.testing import CliRunner

from benchmarks.__main__ import BENCHMARKS, main, recorded, write
from benchmarks.side_by_side import machine
from benchmarks.side_by_side.environments import ROOT
from benchmarks.side_by_side.page import section, table
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


def test_a_bound_on_memory():
    lines = table({"a chip": measurement(contestant("ours", [1.0]), at_most=1.5, at_most_mb=500.0)})
    assert cells(lines[-1]) == ["ours", "1 s (1 s to 1 s), 512 MB, **missed**", "< 1.5 s, ≤ 500 MB"]


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


def result(*measurements, **changes) -> dict:
    return {"machine": "a machine", "measurements": list(measurements), "notes": []} | changes


def test_a_new_result_stands_beside_those_of_other_processors(tmp_path, monkeypatch):
    for name, seconds in (("one", 1.0), ("another", 2.0), ("one", 4.0)):
        monkeypatch.setattr("benchmarks.__main__.processor", lambda name=name: name)
        given = result(measurement(contestant("ours", [seconds])))
        write(tmp_path, "crf", given | {"about": "What it is."})
    found = recorded(tmp_path)
    assert list(found["crf"]["processors"]) == ["one", "another"]
    text = section("crf", found["crf"])
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


def test_what_is_recorded_is_shown():
    """Of several processors, work under other conditions, notes, failures, and durations."""
    assert set(recorded(ROOT / "docs")) <= set(BENCHMARKS)
    done = CliRunner().invoke(main, ["--show", "crf", "heads"], env={"TF_ADAPT_SHARED": None})
    assert done.exit_code == 0, done.output
    titles = [line for line in done.output.splitlines() if line.startswith("## ")]
    assert titles == ["## crf", "## heads"]
    assert "| pytorch-crf | 6.89 ms, ratio 4.53" in done.output
