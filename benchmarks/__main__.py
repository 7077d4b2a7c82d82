"""`python -m benchmarks [NAME …]`: times us and the alternatives side by side, in one run."""

import functools
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from benchmarks.settings import Settings
from benchmarks.side_by_side.child import NoAnswerError
from benchmarks.side_by_side.environments import ROOT, use_two_cores
from benchmarks.side_by_side.machine import machine, processor
from benchmarks.side_by_side.page import section, table
from benchmarks.side_by_side.summary import our_failure, problems
from benchmarks.side_by_side.turns import measured
from hub_modules.storage.files import write_text

# Name → module of this package; each has `ABOUT` and `measurements(settings)`.
BENCHMARKS = {
    "encode": "encode",
    "training-epoch": "training_epoch",
    "feature-cache": "feature_cache",
    "frozen-linear": "frozen_linear",
    "frozen-below-top": "frozen_below_top",
    "frozen-bcn": "frozen_bcn",
    "elmo": "elmo",
    "crf": "crf",
    "heads": "heads",
    "memory": "memory",
    "local-layers": "local_layers",
    "size": "size",
    "starting": "starting",
    "serving": "serving",
    "engines": "engines",
    "light": "light",
    "quickstart": "quickstart",
    "decoding": "decoding",
}
NUMBERS = "benchmarks.json"


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(BENCHMARKS)), metavar="[NAME]…")
@click.option(
    "--shared",
    envvar="TF_ADAPT_SHARED",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder with data and models [TF_ADAPT_SHARED].",
)
@click.option(
    "--minilm",
    default="modules/minilm_l6_h384",
    show_default=True,
    type=click.Path(path_type=Path),
    help="MiniLM as a module of ours.",
)
@click.option("--quick", is_flag=True, help="Next to no work, one turn; writes nothing.")
@click.option("--show", is_flag=True, help="Print what was measured before; nothing is run.")
@click.option(
    "--out",
    default=ROOT / "docs",
    type=click.Path(path_type=Path),
    help=f"The folder of {NUMBERS} [docs].",
)
def main(
    names: tuple[str, ...], shared: Path | None, minilm: Path, quick: bool, show: bool, out: Path
) -> None:
    """Runs the named benchmarks (all of them without a name) and writes what they measured.

    What was measured before under other names, or on other processors, stays. Names: see
    BENCHMARKS in benchmarks/__main__.py.
    """
    if show:
        for name, result in recorded(out).items():
            if name in (names or BENCHMARKS):
                click.echo(section(name, result))
        return
    if shared is None:
        raise click.UsageError("--shared: missing; or set TF_ADAPT_SHARED")
    if not (minilm / "manifest.json").is_file():
        raise click.UsageError(
            f"--minilm {minilm}: no module there; make it: tf-adapt module convert --from "
            f"huggingface {shared}/models/minilm_l6_h384 --out {minilm}"
        )
    binding = use_two_cores()
    wrong = []
    for name in names or BENCHMARKS:
        with tempfile.TemporaryDirectory() as work:
            settings = Settings(shared.resolve(), minilm.resolve(), quick, Path(work))
            kept = (lambda result: None) if quick else functools.partial(write, out, name)
            result = run(name, settings, binding, kept)
        for measurement in result["measurements"]:
            click.echo("\n".join(["", *table({processor(): measurement})]))
            wrong += our_failure(measurement) + problems(measurement)
        click.echo("\n".join(result["notes"]))
    if wrong:
        sys.exit("\n".join(wrong))


def run(
    name: str, settings: Settings, binding: str, keep: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """The result of one benchmark; what cannot be measured is a note.

    Args:
        keep: is given the result after each measurement.
    """
    load = os.getloadavg()[0]
    measurements, notes = [], []
    module = importlib.import_module(f"benchmarks.{BENCHMARKS[name]}")
    try:
        for measurement in module.measurements(settings):
            click.echo(f"\n== {name}: {measurement.work}", err=True)
            measurements.append(measured(measurement, settings.work, _say))
            keep(_result(module.ABOUT, binding, load, measurements, notes))
    except NoAnswerError as error:
        notes.append(f"Not measured: {error}.")
        keep(_result(module.ABOUT, binding, load, measurements, notes))
    return _result(module.ABOUT, binding, load, measurements, notes)


def _result(about: str, binding: str, load: float, measurements: list, notes: list) -> dict:
    return {
        "about": about,
        "machine": machine(binding, load, measurements),
        "measurements": measurements,
        "notes": notes,
    }


def recorded(out: Path) -> dict[str, Any]:
    """What was measured before, by name."""
    path = out / NUMBERS
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def write(out: Path, name: str, result: dict[str, Any]) -> None:
    """Puts the result beside those of other names and processors."""
    results = recorded(out)
    others = results.get(name, {}).get("processors", {})
    about, here = result["about"], {key: result[key] for key in result if key != "about"}
    results[name] = {"about": about, "processors": others | {processor(): here}}
    write_text(out / NUMBERS, json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def _say(text: str) -> None:
    click.echo(text, err=True)


if __name__ == "__main__":
    main()
