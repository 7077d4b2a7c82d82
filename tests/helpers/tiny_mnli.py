"""A tiny MultiNLI, runs on its genres, and the command that analyses them."""

import json
import re
from pathlib import Path

import finished_runs
import yaml
from click.testing import CliRunner

from tf_adapt.commands.main import cli
from tf_adapt.config.reading import config_from
from tf_adapt.training.resolving import run_config

HEADER = "genre\tgold_label\tsentence1\tsentence2"
LABELS = ("entailment", "neutral", "contradiction")
WORDS = {"fiction": "he said nothing", "slate": "the press writes", "travel": "the hotel is old"}
FROZEN, TUNED = "feature_extraction", "fine_tuning"


def run(*arguments):
    return CliRunner().invoke(cli, ["analyze", "domains", *map(str, arguments)])


def refused(code: int, message: str, *arguments) -> None:
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    assert re.search(message, result.stderr.splitlines()[-1]), result.stderr


def found_by(*arguments) -> dict:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def content(data: dict, adaptation: str = TUNED, seed: int = 0, encoder: str = "bert_small"):
    training = {"epochs": 1, "batch_size": 16, "learning_rate": 0.01, "seed": seed}
    encoder = {"handle": encoder}
    return {"data": data, "encoder": encoder, "adaptation": adaptation, "training": training}


def write(path: Path, config: dict) -> Path:
    path.write_text(yaml.safe_dump(config), "utf-8")
    return path


def text_file(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def data_of(folder: Path, **keys) -> dict:
    return {"dataset": "mnli", "source": "files", "data_dir": str(folder)} | keys


def write_mnli(folder: Path) -> Path:
    """Three genres of 12 pairs with words of their own, in each split."""
    for split, name in (("train", "train.tsv"), ("dev", "dev_matched.tsv")):
        lines = [HEADER]
        for genre, words in WORDS.items():
            for number in range(12):
                label = LABELS[number % 3]
                lines.append(f"{genre}\t{label}\t{words} {number}\t{words} {number} ({split})")
        (folder / name).write_text("\n".join(lines) + "\n", "utf-8")
    return folder


def finished(folder: Path, config: dict, right: dict[str, int], split: str = "dev") -> Path:
    """What a run leaves behind, with so many right predictions of each of its genres."""
    folder.mkdir(parents=True)
    run_config.start(folder, config_from(config, "test"))
    rows = ["prediction"]
    for genre in sorted(right):
        for number in range(12):
            rows.append(LABELS[(number if number < right[genre] else number + 1) % 3])
    scores = {split: {"accuracy": 0.5}}
    finished_runs.finish(folder, {split: "\n".join(rows) + "\n"}, **scores)
    return folder


def of_one_genre(folder: Path, mnli: Path, genre: str, adaptation=TUNED, seed=0, right=6) -> Path:
    config = content(data_of(mnli, genre=genre), adaptation, seed)
    return finished(folder, config, {genre: right})


def with_runs(*runs: Path) -> list:
    return [part for run in runs for part in ("--run", run)]
