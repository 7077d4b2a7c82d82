"""What the tests catch: small faults are put into the code, one at a time, and tests run on it.

`python -m tests.mutants --coverage FILE` works on a seeded sample, in a copy of the tree, and
writes each result to `tests/mutants.json` at once, so that it goes on where it ended. A mutant is
tried against the tests of its file and, if it survives, against those that reach its line, fastest
first, for five minutes at most: "survived" means not killed in five minutes. FILE, which says who
reaches a line, is written by `pytest --cov=tf_adapt --cov-context=test --cov-report=`; the seconds
of a test are those of `tests/durations.json`.
"""

import argparse
import ast
import contextlib
import copy
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS, DURATIONS = ROOT / "tests/mutants.json", ROOT / "tests/durations.json"
SEED, LONGEST, LONGEST_TEST = 2019, 300, 90
# So many mutants of each part.
PARTS = {
    "statistics/*": 40,
    "tasks/metrics tasks/span_f1": 20,
    "layers/crf*": 15,
    "adaptation/phases adaptation/adaptations adaptation/schedules adaptation/discriminative "
    "adaptation/penalties": 25,
    "data/splits/* data/labels data/batches": 20,
    "runs/checkpoints": 8,
    "encoder/feature*": 14,
    "config/checks": 8,
}
# Mutants that change nothing, each with the reason.
EQUIVALENT = {
    "tf_adapt/adaptation/discriminative.py DiscriminativeOptimizer.__init__: False → True": "set "
    "by `build` before an update reads it",
    "tf_adapt/statistics/slices.py _p_of_equal: variance < ROUNDING ** 2 → "
    "variance <= ROUNDING ** 2": "no variance is this very number",
    "tf_adapt/statistics/slices.py _variance: spread > 0 → spread >= 0": "without spread the "
    "variance is 0, and its degrees of freedom are not read",
    "tf_adapt/adaptation/schedules.py SlantedTriangular._at: 1e-09 → 1.000000001": "a fall of less "
    "than one step is over at the next whole one",
    "tf_adapt/encoder/feature_arrays.py features_from: True → False": "both lists have the same "
    "length wherever they are made",
    "tf_adapt/encoder/feature_files.py RowsOnDisk.expect: os.posix_fadvise(self._file, "
    "*map(int, place), os.POSIX_FADV_WILLNEED) → pass": "advice to the system, for speed alone",
    "tf_adapt/encoder/feature_files.py write_shard: 1 → 2": "white space in a file of JSON",
}
COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """`before`, the text at `span` of `path`, becomes `after`; `name` outlives shifts of lines."""

    name: str
    path: str
    line: int
    span: tuple[int, int]
    after: str


def mutated(node: ast.AST) -> ast.AST | None:
    """A node with one small fault, or nothing where there is none to make."""
    new = copy.deepcopy(node)
    match new:
        case ast.Compare(ops=[operator]) if type(operator) in COMPARISONS:
            new.ops = [COMPARISONS[type(operator)]()]
        case ast.BinOp(op=operator) if type(operator) in OPERATORS:
            new.op = OPERATORS[type(operator)]()
        case ast.BoolOp(op=operator):
            new.op = ast.Or() if isinstance(operator, ast.And) else ast.And()
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            new = new.operand
        case ast.Constant(value=bool(value)):
            new.value = not value
        case ast.Constant(value=int(value) | float(value)):
            new.value = value + 1
        case ast.Call(func=ast.Name(id=called)) if called in CALLS:
            new.func.id = CALLS[called]
        case ast.Call(func=ast.Attribute(attr=called)) if called in CALLS:
            new.func.attr = CALLS[called]
        case ast.IfExp():
            new.test = ast.UnaryOp(ast.Not(), new.test)
        case ast.Return(value=ast.expr()) if not isinstance(new.value, ast.Constant):
            new.value = ast.Constant(None)
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            new = ast.Pass()
        case _:
            return None
    return new


def mutants_of(path: Path) -> list[Mutant]:
    """Every mutant of a file but those of docstrings, messages, annotations and decorators."""
    text = path.read_text("utf-8")
    lines = [0]
    for line in text.splitlines(keepends=True):
        lines.append(lines[-1] + len(line.encode()))
    found: list[Mutant] = []
    counts: dict[str, int] = defaultdict(int)

    def add(node, where):
        new = mutated(node)
        if new is None:
            return
        span = (
            lines[node.lineno - 1] + node.col_offset,
            lines[node.end_lineno - 1] + node.end_col_offset,
        )
        before, after = ast.unparse(node), ast.unparse(new)
        name = f"{path.relative_to(ROOT)} {where}: {before} → {after}"
        counts[name] += 1
        name += f" #{counts[name]}" if counts[name] > 1 else ""
        if isinstance(node, ast.expr):
            after = f"({after})"
        found.append(Mutant(name, str(path.relative_to(ROOT)), node.lineno, span, after))

    def visit(node, where):
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom):
            return
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            where = f"{where}.{node.name}".lstrip(".")
            parts = node.body
            if isinstance(node, ast.FunctionDef):
                parts = [*node.args.defaults, *(d for d in node.args.kw_defaults if d), *parts]
        elif isinstance(node, ast.AnnAssign):
            parts = [node.value] if node.value else []
        else:
            add(node, where)
            parts = list(ast.iter_child_nodes(node))
        for part in parts:
            visit(part, where)

    visit(ast.parse(text), "")
    return found


def sample(known: Collection[str]) -> list[Mutant]:
    """The known mutants of each part that are still there, and further ones by a seed in the place
    of those whose code has changed."""
    chosen = []
    for patterns, count in PARTS.items():
        paths = [
            path for one in patterns.split() for path in sorted(ROOT.glob(f"tf_adapt/{one}.py"))
        ]
        found = [mutant for path in paths for mutant in mutants_of(path)]
        kept = [mutant for mutant in found if mutant.name in known][:count]
        others = [mutant for mutant in found if mutant.name not in known]
        chosen += kept + random.Random(f"{SEED} {patterns}").sample(others, count - len(kept))
    return chosen


def tests_of(path: str) -> list[str]:
    """The files of tests that bear a module's name; without one, those that import it."""
    module = Path(path)
    folder = ROOT / "tests" / module.parent.relative_to("tf_adapt")
    named = [folder / f"test_{module.stem}.py", *folder.glob(f"test_{module.stem}_*.py")]
    found = [one for one in named if one.is_file()]
    if not found:
        dotted = ".".join(module.with_suffix("").parts)
        found = [
            one for one in (ROOT / "tests").rglob("test_*.py") if dotted in one.read_text("utf-8")
        ]
    return sorted(str(one.relative_to(ROOT)) for one in found)


def tests_at(mutant: Mutant, coverage_file: Path) -> list[str]:
    """The tests that reach a line, fastest first, as many as five minutes take."""
    import coverage

    data = coverage.CoverageData(str(coverage_file))
    data.read()
    seconds = {test: taken for test, (taken, _) in json.loads(DURATIONS.read_text("utf-8")).items()}
    reached: set[str] = set()
    for path in data.measured_files():
        if path.endswith("/" + mutant.path):
            reached |= set(data.contexts_by_lineno(path).get(mutant.line, ()))
    tests = sorted({one.split("|")[0] for one in reached if one}, key=lambda t: seconds.get(t, 1))
    total, chosen = 0.0, []
    for test in tests:
        total += seconds.get(test, 1)
        if total > LONGEST:
            break
        chosen.append(test)
    return chosen


def outcome(tree: Path, tests: list[str]) -> str:
    """ "killed", "survived" or, where the tests did not end, "too long"; in a child process."""
    child = os.fork()
    if child == 0:
        os.setsid()
        code = 3
        with contextlib.suppress(BaseException):
            log = os.open(tree / "mutant.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(log, 1)
            os.dup2(log, 2)
            os.chdir(tree)
            sys.path.insert(0, str(tree))
            os.environ["PYTHONPATH"] = str(tree)
            import pytest

            options = ["-x", "-q", "-p", "no:cacheprovider", "--timeout", str(LONGEST_TEST)]
            code = int(pytest.main([*options, "-m", "not large and not oracle", *tests]))
        os._exit(code)
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            if code == 4:
                raise SystemExit(f"pytest: expected tests that exist, got {' '.join(tests)}")
            # 5: no test was collected.
            return "survived" if code in (0, 5) else "killed"
        time.sleep(0.1)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "too long"


def try_out(mutant: Mutant, tree: Path, coverage_file: Path) -> dict:
    """The result of one mutant, with the tests that decided."""
    path = tree / mutant.path
    whole = path.read_bytes()
    start, end = mutant.span
    path.write_bytes(whole[:start] + mutant.after.encode() + whole[end:])
    try:
        own = tests_of(mutant.path)
        result = outcome(tree, own) if own else "survived"
        by = "its file's tests"
        if result != "killed":
            tests = tests_at(mutant, coverage_file)
            result = outcome(tree, tests) if tests else "survived"
            by = f"{len(tests)} tests that reach line {mutant.line}"
        return {"result": "killed" if result == "killed" else "survived", "by": by}
    finally:
        path.write_bytes(whole)


def shares(results: dict) -> None:
    """Prints the share that is killed of each part."""
    for patterns in PARTS:
        stems = tuple(f"tf_adapt/{one.rstrip('*')}" for one in patterns.split())
        part = [
            result["result"]
            for name, result in results.items()
            if name.startswith(stems) and name not in EQUIVALENT
        ]
        killed = part.count("killed")
        print(f"{patterns}: {killed} of {len(part)} killed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--coverage", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=100)
    parser.add_argument("--only", default="", help="mutants whose name contains this, again")
    options = parser.parse_args()
    import keras  # noqa: F401  # imported once, for all children
    import scipy.stats  # noqa: F401

    known = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    mutants = sample(known)
    results = {one.name: known[one.name] for one in mutants if one.name in known}
    end = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        ignored = shutil.ignore_patterns(".git", ".venv", "build")
        shutil.copytree(ROOT, tree, symlinks=True, ignore=ignored)
        for mutant in mutants:
            again = options.only and options.only in mutant.name
            if time.monotonic() > end or (mutant.name in results and not again):
                continue
            results[mutant.name] = try_out(mutant, tree, options.coverage.resolve())
            print(results[mutant.name]["result"], mutant.name, flush=True)
            written = json.dumps(results, indent=1, ensure_ascii=False, sort_keys=True)
            RESULTS.write_text(written + "\n", "utf-8")
    shares(results)


if __name__ == "__main__":
    main()
