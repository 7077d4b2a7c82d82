"""`tf-adapt data check` and `--dry-run` of every config under `configs/`, on real data.

A module that does not ship has the shipped one of its family in its place, an AWD-LSTM a tiny one;
IMDB's reviews have made-up ones.
"""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from tf_adapt.commands.main import cli

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
# Its text is not a dataset's file, but made of one; those of a start are tested with it.
FILES = sorted(path for path in CONFIGS.rglob("*.yaml") if path.parent.name != "language_model")


@pytest.fixture
def at_hand(tiny_lstm):
    """The module in the place of a handle."""

    def at_hand(handle: str) -> str:
        if "/" not in handle:
            return handle
        if "awd_lstm" in handle:
            return str(tiny_lstm)
        if "gpt2" in handle:
            return "lm_small"
        return "elmo_small" if "elmo" in handle else "bert_small"

    return at_hand


def overrides(content: dict, at_hand) -> list[str]:
    """Modules at hand for those of the reader, as `--set` has them."""
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
        _, found, command = line.partition("# The documents: python ")
        if found:
            arguments = [str(CONFIGS.parent / command.split()[0]), *command.split()[1:]]
            subprocess.run([sys.executable, *arguments], check=True, cwd=folder)
        elif line.startswith("#   "):
            subprocess.run(line[1:], shell=True, check=True, cwd=folder)


def make_reviews(folder: Path) -> None:
    """A folder as IMDB's is published."""
    for part in ("train/neg", "train/pos", "train/unsup", "test/neg", "test/pos"):
        (folder / part).mkdir(parents=True)
        for number in range(60):
            (folder / part / f"{number}_7.txt").write_text(f"A film, no. {number} of {part}.")


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CONFIGS)))
def test_data_check_and_dry_run(path, shared, at_hand, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for folder in (shared / "data").iterdir():
        (tmp_path / "data" / folder.name).symlink_to(folder)
    make_reviews(tmp_path / "aclImdb")
    content = yaml.safe_load(path.read_text("utf-8"))
    make_starts(content, tmp_path, at_hand)
    make_texts(path, tmp_path)
    sets = [word for value in overrides(content, at_hand) for word in ("--set", value)]
    command = "compare" if "compare" in content else "train"
    for arguments in (["data", "check", str(path)], [command, str(path), "--dry-run"]):
        result = CliRunner().invoke(cli, [*arguments, *sets])
        assert result.exit_code == 0, result.stderr
        assert result.stdout
