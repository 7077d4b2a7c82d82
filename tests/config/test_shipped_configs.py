"""The dry run of every config under `configs/`, on real data.

A module that does not ship has the shipped one of its family in its place, an AWD-LSTM a tiny one;
IMDB's reviews have made-up ones. Of cells whose model and whose texts were in an earlier config,
none is built again.
"""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import keras
import pytest
import yaml
from step_costs import COSTS

from tf_adapt.comparison import plan_in_words
from tf_adapt.comparison.plan import dry_run
from tf_adapt.comparison.plan.settings import load_comparison
from tf_adapt.config.reading import load_config
from tf_adapt.config.sections import Config
from tf_adapt.config.task_checks import kind_of
from tf_adapt.training.dry_run import dry_run as dry_run_of

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
# Its text is not a dataset's file, but made of one; those of a start are tested with it.
FILES = sorted(path for path in CONFIGS.rglob("*.yaml") if path.parent.name != "language_model")


@pytest.fixture
def at_hand(tiny_lstm):
    """The module in the place of a handle."""

    def at_hand(handle: str) -> str:
        if "/" not in handle or "modern_bert" in handle:
            return handle
        if "awd_lstm" in handle:
            return str(tiny_lstm)
        if "gpt2" in handle:
            return "lm_small"
        return "elmo_small" if "elmo" in handle else "bert_small"

    return at_hand


def overrides(content: dict, at_hand) -> list[str]:
    """Modules at hand for those of the reader."""
    if "compare" not in content:
        handle = at_hand(content["encoder"]["handle"])
        # bert_small has 512 positions, the reader's module may have more.
        longest = content["training"].get("max_length") or 0
        return [
            f"encoder.handle={handle}",
            *(["training.max_length=512"] if longest > 512 else []),
            # Some of MultiNLI's texts are longer than that.
            *(["training.truncate=true"] if content["data"].get("dataset") == "mnli" else []),
        ]
    encoders = [
        {"handle": entry} if isinstance(entry, str) else dict(entry)
        for entry in content["compare"]["encoders"]
    ]
    for entry in encoders:
        entry["handle"] = at_hand(entry["handle"])
    found = [f"compare.encoders={yaml.safe_dump(encoders, default_flow_style=True, width=10**6)}"]
    # They add MultiNLI as well; and the shipped modules have fewer layers.
    found += ["training.truncate=true"] if "signals" in content["compare"] else []
    return found + [
        f"compare.signals.{name}.encoder.keep_layers=[0, 1, 2]"
        for name, signal in content["compare"].get("signals", {}).items()
        if "keep_layers" in signal.get("encoder", {})
    ]


def make_starts(content: dict, folder: Path, at_hand) -> None:
    """The configs that a config starts from, on modules at hand, and their texts."""
    signals = content.get("compare", {}).get("signals", {})
    for section in (content, *signals.values()):
        if "config" in section.get("start", {}):
            name = section["start"]["config"]
            path = CONFIGS.parent / name
            start = yaml.safe_load(path.read_text("utf-8"))
            start["encoder"]["handle"] = at_hand(start["encoder"]["handle"])
            start["training"]["truncate"] = True
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(yaml.safe_dump(start), "utf-8")
            make_texts(path, folder)


def make_texts(path: Path, folder: Path) -> None:
    """The files that a config needs, by the commands in its comments."""
    for line in path.read_text("utf-8").splitlines():
        if found := re.match(r"# The \w+: python (\S+) (.*)", line):
            arguments = [str(CONFIGS.parent / found[1]), *found[2].split()]
            subprocess.run([sys.executable, *arguments], check=True, cwd=folder)
        elif line.startswith("#   "):
            subprocess.run(line[1:], shell=True, check=True, cwd=folder)


def make_reviews(folder: Path) -> None:
    """A folder as IMDB's is published."""
    for part in ("train/neg", "train/pos", "train/unsup", "test/neg", "test/pos"):
        (folder / part).mkdir(parents=True)
        for number in range(60):
            (folder / part / f"{number}_7.txt").write_text(f"A film, no. {number} of {part}.")


class Built:
    """What has been built and read so far; two configs often differ in numbers only."""

    def __init__(self):
        self.models: set[str] = set()
        self.texts: set[str] = set()

    def is_new(self, config: Config) -> bool:
        """Whether its model or its texts are not those of a config before; they are from now on."""
        model, read = config.model_dump(), [config.training.limits]
        # Numbers of training, of which none is part of a model.
        for name in ("training", "schedule", "optimizer", "head_units", "about"):
            model.pop(name)
        model["encoder"].pop("trust")
        texts = {"data": model.pop("data"), "tasks": model["tasks"]}
        read += [config.encoder.handle, config.encoder.pairs, texts]
        kind, part = None, str(read)
        if config.data is not None:  # part of what was read whole is nothing new
            kind = kind_of(config)
            texts["data"] |= {"held_out": None}
            part = str(read)
            texts["data"] |= {"train_examples": None}
        built, whole = str((kind, model)), str(read)
        new = built not in self.models or not self.texts & {part, whole}
        self.models.add(built)
        self.texts.add(part)
        return new


@pytest.fixture(scope="module")
def built():
    return Built()


@pytest.fixture(autouse=True)
def forgotten_kernels():
    """Until Keras' session is cleared, TensorFlow keeps a kernel for each variable ever made."""
    yield
    keras.utils.clear_session()


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CONFIGS)))
def test_dry_run(path, shared, at_hand, built, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for folder in (shared / "data").iterdir():
        (tmp_path / "data" / folder.name).symlink_to(folder)
    make_reviews(tmp_path / "aclImdb")
    content = yaml.safe_load(path.read_text("utf-8"))
    make_starts(content, tmp_path, at_hand)
    make_texts(path, tmp_path)
    sets = overrides(content, at_hand)
    if "compare" not in content:
        config = load_config(path, sets)
        assert not built.is_new(config) or dry_run_of(config)["plan"]
        return
    comparison = load_comparison(path, sets)
    cells = [cell for cell in comparison.cells if built.is_new(cell.config)]
    if not cells:
        return
    monkeypatch.setattr(dry_run, "measured_costs", lambda *arguments: COSTS)
    found = dry_run.dry_run(replace(comparison, cells=tuple(cells)))
    assert len(found["cells"]) == len(cells) and plan_in_words.lines(found)
