"""Children of other environments: who is asked when, what is compared, what becomes of failures."""

from pathlib import Path

import numpy as np

from benchmarks.side_by_side import child, environments
from benchmarks.side_by_side.measurement import Contestant, Measurement
from benchmarks.side_by_side.turns import largest_difference, measured

SCRIPT = str(Path(__file__).parents[1] / "children" / "counting.py")


def contestant(name: str, environment: str = "ours", tolerance=0.0, **job):
    return Contestant(name, SCRIPT, environment, job, tolerance)


def results(folder: Path, *contestants, said=None, **options) -> dict:
    measurement = Measurement("some work", list(contestants), **options)
    say = (lambda text: None) if said is None else said.append
    found = measured(measurement, folder, say)
    return {one["name"]: one for one in found["contestants"]}


def test_contestants_take_turns_and_are_warmed_up_first(tmp_path):
    said = []
    found = results(tmp_path, contestant("A"), contestant("B"), rounds=2, said=said)
    assert [text.removeprefix("some work: ") for text in said] == [
        "A: warm-up",
        "B: warm-up",
        "turn 1: A",
        "turn 1: B",
        "turn 2: A",
        "turn 2: B",
    ]
    # Each is one process that stays alive: it counts its own turns.
    assert found["A"]["notes"] == found["B"]["notes"] == ["turns [None, 0]", "turns [None, 0, 1]"]
    assert [len(one["seconds"]) for one in found.values()] == [2, 2]


def test_outputs_of_the_first_turn_are_compared_with_the_first_contestant(tmp_path):
    found = results(
        tmp_path,
        contestant("A", value=1.0),
        contestant("B", value=1.25, tolerance=0.3),
        rounds=1,
        compared="the value",
    )
    assert found["A"]["difference"] == 0
    assert found["B"]["difference"] == 0.25
    assert list(tmp_path.iterdir()) == []


def test_calls_of_a_turn_are_one_time(tmp_path):
    found = results(tmp_path, contestant("A"), rounds=2, calls=3)
    assert len(found["A"]["seconds"]) == 2
    assert found["A"]["notes"][0] == "turns [None, 0, 0, 0]"


def test_peak_memory_is_that_of_the_work(tmp_path):
    found = results(tmp_path, contestant("A"), contestant("B", megabytes=300), rounds=1)
    assert 250 < found["B"]["peak_mb"] - found["A"]["peak_mb"] < 350


def test_what_is_not_installed_is_said_and_the_others_go_on(tmp_path, monkeypatch):
    monkeypatch.delenv("TF_ADAPT_ADDONS_PYTHON", raising=False)
    found = results(
        tmp_path,
        contestant("A"),
        contestant("no interpreter", "addons"),
        contestant("no library", missing=True),
        rounds=1,
    )
    assert found["A"]["failure"] is None
    assert found["no interpreter"]["failure"] == (
        "not installed: pip install -r requirements/addons.txt and name its interpreter in "
        "TF_ADAPT_ADDONS_PYTHON"
    )
    assert found["no library"]["failure"] == (
        "not installed: pip install '.[convert,int8,light]' (ModuleNotFoundError: No module named "
        "'no_such_library')"
    )


def test_a_child_that_fails_says_why_and_the_others_go_on(tmp_path):
    found = results(tmp_path, contestant("A"), contestant("B", fails_in_turn=1), rounds=3)
    assert found["B"]["failure"] == "failed: ValueError: the cat is on the keyboard"
    assert len(found["A"]["seconds"]) == 3


def test_children_have_fixed_threads(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    given = environments.variables()
    names = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "RAYON_NUM_THREADS")
    assert [given[name] for name in names] == ["2", "2", "2"]


def test_a_gpu_is_hidden_unless_it_is_named(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert environments.variables()["CUDA_VISIBLE_DEVICES"] == "-1"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    assert environments.variables()["CUDA_VISIBLE_DEVICES"] == "0"


def test_an_answer_names_versions():
    answer = child.ask_once(SCRIPT, "ours", {})
    assert list(answer["versions"]) == ["python"]
    assert answer["outputs"] is None


FILES = [
    ({"a": [1.0, 2.0]}, 0.5),
    ({"a": [1.0, np.nan]}, np.inf),
    ({"a": [1.0]}, np.inf),
    ({"b": [1.0, 2.5]}, np.inf),
]


def test_difference_of_two_files(tmp_path):
    for given, expected in FILES:
        np.savez(tmp_path / "theirs.npz", **given)
        np.savez(tmp_path / "ours.npz", a=[1.0, 2.5])
        assert largest_difference(tmp_path / "theirs.npz", tmp_path / "ours.npz") == expected
