"""Modules, runs, exports and comparisons, damaged at random or by someone who keeps their hashes
right: every command ends with a result or with one of our errors.

Usage: python tests/faults/fuzz_artifacts.py SECONDS [SEED [CASES]]. Prints how often which exit
code came out, and what to repeat for each one that must not: `case(NUMBER)` of that seed.
"""

import collections
import hashlib
import io
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np
import tensorflow as tf
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "helpers"))

from random_modules import write_tiny_bert, write_tiny_elmo
from worker_here import WorkerHere

from tf_adapt.commands.main import cli
from tf_adapt.comparison.execution import local

ALLOWED = (0, 2, 3, 4, 5)
KINDS = ("ConfigError", "DataError", "ArtifactError", "TrainingError")
CONFIG = """\
data: {{dataset: sample_classification, source: sample, train_examples: 32}}
encoder: {{handle: {module}}}
adaptation: fine_tuning
training: {{epochs: 2, batch_size: 8, learning_rate: 1.0e-2}}
"""
# Begins with the run above and learns from its answers: both are copied into its folder.
SECOND = (
    CONFIG
    + """\
start: {{run: {work}/run}}
teacher: {{run: {work}/run, unlabelled: {work}/unlabelled.tsv}}
"""
)
COMPARISON = """\
data: {{dataset: sample_classification, source: sample, train_examples: 32, held_out: 0.2}}
compare:
  encoders: [{module}]
  adaptations: [feature_extraction, fine_tuning]
  heads: [linear]
  learning_rates: [1.0e-2]
  seeds: 1
training: {{epochs: 1, batch_size: 8}}
"""
ODD = [
    None, True, 0, -1, 1, 2.5, 1e308, 10**30, "", "x", "../../x", "/", "a\x00b", "\x1b[2J",
    "é" * 300, [], [1], ["x"], {}, {"a": 1}, [[[]]], "0" * 64, "checkpoint_000001",
    float("nan"), float("inf"),
]  # fmt: skip


@dataclass(frozen=True)
class Artifact:
    """A good folder, and the commands that read it; `{}` is where its copy is."""

    folder: Path
    commands: tuple[tuple[str, ...], ...]


def run(*arguments: str):
    """A command in this process."""
    return CliRunner().invoke(cli, list(arguments))


def good(work: Path) -> list[Artifact]:
    """One of each kind, made by the commands themselves."""
    module, elmo, texts = work / "module", work / "elmo", work / "texts.tsv"
    write_tiny_bert(module, num_layers=1)
    write_tiny_elmo(elmo)
    configs = {"run": CONFIG, "second": SECOND, "comparison": COMPARISON}
    for name, text in configs.items():
        (work / f"{name}.yaml").write_text(text.format(module=module, work=work))
    texts.write_text("text\tlabel\nwhat is the\tx\n")
    (work / "unlabelled.tsv").write_text("text\nwhat is the\nwho is where\n")
    config, second, comparison = (str(work / f"{name}.yaml") for name in configs)
    for arguments in (
        ("train", config, "--out", str(work / "run")),
        ("train", second, "--out", str(work / "second")),
        ("ensemble", str(work / "run"), str(work / "second"), "--out", str(work / "ensemble")),
        ("export", str(work / "run"), "--out", str(work / "exports")),
        ("compare", comparison, "--out", str(work / "comparison"), "--jobs", "1"),
    ):
        with mock.patch.object(local, "_start", WorkerHere):  # starts no process
            result = run(*arguments)
        assert result.exit_code == 0, result.output
    output = ("--output", str(work / "predictions"))
    predict = ("predict", "{}", "--input", str(texts), *output)
    return [
        Artifact(work / "run", (predict, ("train", config, "--out", "{}"))),
        # Trusted, a damaged program is tried in a child process first, which takes seconds.
        Artifact(work / "exports" / "1", (predict, predict, (*predict, "--trust"))),
        Artifact(work / "second", (predict, ("train", second, "--out", "{}"))),
        Artifact(work / "ensemble", (predict,)),
        Artifact(module, (("module", "inspect", "{}"),)),
        Artifact(elmo, (("module", "inspect", "{}"),)),
        Artifact(
            work / "comparison",
            (("compare", comparison, "--out", "{}", "--jobs", "1"), ("analyze", "pairs", "{}",
             "--out", str(work / "analysis"))),
        ),
    ]  # fmt: skip


def files(folder: Path) -> list[Path]:
    """All files, in a fixed order."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def damage_bytes(folder: Path, generator: random.Random) -> str:
    """Some bytes of a file."""
    path = generator.choice(files(folder))
    path.write_bytes(mutated(path.read_bytes(), generator))
    return f"bytes of {path.relative_to(folder)}"


def mutated(content: bytes, generator: random.Random) -> bytes:
    """Content with some bytes flipped, removed or added."""
    changed = bytearray(content)
    for _ in range(generator.randint(1, 3)):
        place = generator.randrange(len(changed) + 1)
        way = generator.randrange(4)
        if way == 0 and place < len(changed):
            changed[place] ^= 1 << generator.randrange(8)
        elif way == 1:
            del changed[place : place + generator.randint(1, 100)]
        elif way == 2:
            changed[place:place] = generator.randbytes(generator.randint(1, 20))
        else:
            del changed[place:]
    return bytes(changed)


def damage_tree(folder: Path, generator: random.Random) -> str:
    """A file or folder that is gone, empty, or something else."""
    path = generator.choice(sorted(folder.rglob("*")))
    way = generator.choice(["remove", "empty", "folder", "loop"])
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    if way == "empty":
        path.touch()
    elif way == "folder":
        path.mkdir()
    elif way == "loop":
        path.symlink_to(path.name)
    return f"{way} {path.relative_to(folder)}"


def damage_json(folder: Path, generator: random.Random) -> str:
    """A value of a JSON file, its hash kept right."""
    path = generator.choice([path for path in files(folder) if path.suffix == ".json"])
    whole = {"": json.loads(path.read_bytes())}
    owner, key = generator.choice(list(nodes(whole)))
    way = generator.choice(["replace", "replace", "remove", "add", "deep"])
    value = generator.choice(ODD)
    if way == "remove":
        del owner[key]
    elif way == "add" and isinstance(owner, dict):
        owner[generator.choice(["more", "", "format", "files"])] = value
    elif way == "deep":
        owner[key] = json.loads("[" * 200 + "]" * 200)
    else:
        owner[key] = value
    text = json.dumps(whole.get("", 0))
    if generator.random() < 0.05:
        text = generator.choice(
            ["", "[]", "{}", "[" * 100_000, text[:-1], "null", '{"a":' * 90_000]
        )
    path.write_text(text)
    seal(folder, path)
    return f"{way} {key!r} of {path.relative_to(folder)}: {value!r}"


def nodes(value):
    """Every place in nested values: what holds it, and its key."""
    for key, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(inner, dict | list):
            yield from nodes(inner)


def damage_arrays(folder: Path, generator: random.Random) -> str:
    """An array of a `.npz` file, its hash kept right."""
    found = [path for path in files(folder) if path.suffix == ".npz"]
    if not found:
        return damage_json(folder, generator)
    path = generator.choice(found)
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    name = generator.choice(sorted(arrays))
    way = generator.choice(["remove", "rename", "reshape", "retype", "add", "objects", "packed"])
    array = arrays[name]
    if way in ("remove", "rename"):
        del arrays[name]
    if way in ("rename", "add"):
        arrays["x" * generator.randint(0, 9)] = array
    if way == "reshape":
        arrays[name] = np.zeros([3] * generator.randint(0, 4), array.dtype)
    if way == "retype":
        arrays[name] = array.astype(generator.choice(["float64", "int8", "complex64", "U3"]))
    if way == "objects":
        arrays[name] = np.array([{}], object)
    content = io.BytesIO()
    (np.savez_compressed if way == "packed" else np.savez)(content, **arrays)
    path.write_bytes(content.getvalue())
    seal(folder, path)
    return f"{way} {name} of {path.relative_to(folder)}"


def damage_sealed(folder: Path, generator: random.Random) -> str:
    """Some bytes of a file, its hash kept right."""
    path = generator.choice(files(folder))
    path.write_bytes(mutated(path.read_bytes(), generator))
    seal(folder, path)
    return f"sealed bytes of {path.relative_to(folder)}"


def seal(folder: Path, path: Path) -> None:
    """Puts a file's hash wherever a hash of it stands."""
    for above in [above for above in path.parents if above.is_relative_to(folder)]:
        for name in ("record.json", "manifest.json"):
            record = above / name
            if record == path or not record.is_file():
                continue
            try:
                content = json.loads(record.read_bytes())
                entry = content["files"][path.relative_to(above).as_posix()]
            except (ValueError, KeyError, TypeError):
                continue
            new = {
                "bytes": path.stat().st_size,
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            }
            if isinstance(entry, list):
                entry[:] = [new]
            elif isinstance(entry, dict):
                entry.update(new)
            record.write_text(json.dumps(content))
            path = record if name == "manifest.json" else path
        if path.name == "manifest.json" and path.parent == above:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            (above / "manifest.sha256").write_text(digest)


DAMAGES: tuple[Callable[[Path, random.Random], str], ...] = (
    damage_bytes,
    damage_tree,
    damage_json,
    damage_json,
    damage_json,
    damage_arrays,
    damage_sealed,
)


def case(artifacts: list[Artifact], work: Path, number: int, seed: int) -> tuple[str, str, int]:
    """One damage and one command: what was done, what is wrong with the end, the exit code."""
    generator = random.Random(f"{seed} {number}")
    # Comparisons take ten times as long as the others.
    artifact = generator.choices(artifacts, [4, 3, 2, 2, 2, 2, 1])[0]
    copy = work / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(artifact.folder, copy)
    (copy / "metrics.json").unlink(missing_ok=True) if generator.random() < 0.3 else None
    what = generator.choice(DAMAGES)(copy, generator)
    arguments = [part.format(copy) for part in generator.choice(artifact.commands)]
    result = run(*arguments)
    last = (result.stderr.strip().splitlines() or [""])[-1]
    wrong = ""
    if result.exit_code not in ALLOWED:
        wrong = f"exit {result.exit_code}: {last}"
    elif result.exit_code and not last.startswith(KINDS):
        wrong = f"last line: {last}"
    elif "Traceback" in result.output:
        wrong = f"traceback: {last}"
    return f"{artifact.folder.name}, {what}: {' '.join(arguments[:2])}", wrong, result.exit_code


def fuzz(seconds: float, seed: int = 0, cases: int | None = None) -> tuple[dict[int, int], list]:
    """Runs cases until the time is over; returns how often each exit code came, and offenders."""
    codes: collections.Counter[int] = collections.Counter()
    offenders, number = [], 0
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        os.environ["XDG_STATE_HOME"] = str(work / "state")
        # What is damaged is read in the same way; graphs of so few steps cost more than they save.
        tf.config.run_functions_eagerly(True)
        artifacts = good(work)
        started = time.monotonic()
        while time.monotonic() - started < seconds and (cases is None or number < cases):
            what, wrong, code = case(artifacts, work, number, seed)
            codes[code] += 1
            if wrong:
                offenders.append((number, what, wrong))
                print(number, what, wrong, sep="\n    ", flush=True)
            number += 1
    return dict(codes), offenders


if __name__ == "__main__":
    given = dict(zip(("seed", "cases"), map(int, sys.argv[2:]), strict=False))
    found, wrong = fuzz(float(sys.argv[1]), **given)
    print(f"{sum(found.values())} cases, by exit code: {found}; {len(wrong)} must not be")
    sys.exit(bool(wrong))
