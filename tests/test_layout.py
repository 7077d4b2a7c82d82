"""The house of CONTRIBUTING.md: what is where, and that imports point down."""

import re
from pathlib import Path

from house import CONDUCTORS, dotted, import_statements, imports, packages_imported_with

ROOT = Path(__file__).resolve().parents[1]
# From the top, what a user calls, to the bottom, what everybody uses.
ROOMS = [
    "commands",
    "analysis",
    "comparison",
    "report",
    "training",
    "serving",
    "light",
    "runs",
    "config",
    "models",
    "adaptation",
    "generation",
    "encoder",
    "heads",
    "data",
    "statistics",
    "tasks",
    "layers",
    "printing",
]
# The names that `tf_adapt` itself imports when they are first used are not among its imports.
LOOSE = {"__init__", "__main__", "errors", "paper", "version"}


def test_every_file_is_in_a_room():
    assert {path.stem for path in (ROOT / "tf_adapt").glob("*.py")} == LOOSE
    folders = {path.parent.name for path in (ROOT / "tf_adapt").glob("*/__init__.py")}
    assert folders == set(ROOMS)


def test_imports_point_down():
    upwards = []
    for path in sorted((ROOT / "tf_adapt").rglob("*.py")):
        room = path.relative_to(ROOT / "tf_adapt").parts[0]
        if room not in ROOMS:
            continue
        for name in imports(path):
            other = (name.split(".") + [""])[1]
            if other in ROOMS and ROOMS.index(other) < ROOMS.index(room):
                upwards.append(f"{path.relative_to(ROOT)}: {name}")
    assert upwards == []


def test_modules_know_nothing_of_adaptation():
    for path in (ROOT / "hub_modules").rglob("*.py"):
        assert not {name for name in imports(path) if name.startswith("tf_adapt")}, path


def test_tests_mirror_the_house():
    unknown = []
    for path in (ROOT / "tests").rglob("test_*.py"):
        folder = path.parent.relative_to(ROOT / "tests").as_posix()
        home = ROOT / ("" if folder.startswith("hub_modules") else "tf_adapt") / folder
        if not home.is_dir() and folder not in (
            "benchmarks",
            "conformance",
            "faults",
            "oracles",
            "parity",
        ):
            unknown.append(path.name)
    assert unknown == []


def test_no_folder_is_crowded():
    crowded = {}
    for home in ("tf_adapt", "hub_modules"):
        for folder in {path.parent for path in (ROOT / home).rglob("*.py")}:
            files = len(list(folder.glob("*.py")))
            if files > 20:
                crowded[folder.relative_to(ROOT).as_posix()] = files
    assert crowded == {}


def test_a_config_stops_at_training():
    """The rooms below it get values."""
    below = ROOMS[ROOMS.index("training") + 1 :]
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for room in below
        if room != "config"
        for path in (ROOT / "tf_adapt" / room).rglob("*.py")
        for name in imports(path)
        if name.startswith("tf_adapt.config.")
    ]
    assert found == []


def test_a_run_is_resolved_in_one_place():
    """Elsewhere in `training` its sections and values are known, not the whole config."""
    home = ROOT / "tf_adapt" / "training"
    whole = {
        path.relative_to(home).as_posix()
        for path in home.rglob("*.py")
        if "tf_adapt.config.sections.Config" in imports(path)
        if path.parent.name != "resolving"
    }
    assert whole == {"train.py", "dry_run.py", "finished/load_run.py"}


def test_conductors_are_short():
    for name in CONDUCTORS:
        assert import_statements(name) <= 20, name


def test_light_exports_are_read_with_few_packages():
    """By the command line and the server, with those of requirements/light.txt and what these
    bring; what is imported in functions, tests/commands/test_without_tensorflow.py runs."""
    lines = (ROOT / "requirements" / "light.txt").read_text("utf-8").splitlines()
    asked = {re.split("[<>=]", line)[0] for line in lines if not line.startswith("#")}
    known = {name.lower().replace("-", "_").replace("pyyaml", "yaml") for name in asked}
    readers = [dotted(path) for path in sorted((ROOT / "tf_adapt" / "light").glob("*.py"))]
    assert len(known) > 5 and len(readers) > 5
    for start in (
        *readers,
        "tf_adapt.commands.main",
        "tf_adapt.serving.client.client",
        "tf_adapt.serving.reading.light",
        "tf_adapt.serving.server.run",
        "tf_adapt.training.finished.exported",
    ):
        found = packages_imported_with(start)
        others = {name: way for name, way in found.items() if name not in known | {"h11", "numpy"}}
        assert others == {}


def test_a_package_is_found():
    found = packages_imported_with("tf_adapt.serving.reading.saved_model")
    assert {"tensorflow", "keras", "numpy", "pydantic"} <= found.keys()
    assert found["tensorflow"][0] == "tf_adapt.serving.reading.saved_model"
