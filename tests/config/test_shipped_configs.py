"""`tf-adapt data check` and `--dry-run` of every config under `configs/`, on real data.

A module that does not ship has the shipped one of its family in its place.
"""

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from tf_adapt.commands.main import cli

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
# Its text is not a dataset's file, but made of one.
FILES = sorted(path for path in CONFIGS.rglob("*.yaml") if path.parent.name != "language_model")


def overrides(content: dict) -> list[str]:
    """Shipped modules for those of the reader, as `--set` has them."""
    if "compare" not in content:
        handle = shipped(content["encoder"]["handle"])
        # bert_small has 256 positions, the reader's module may have more.
        longest = content["training"].get("max_length") or 0
        return [
            f"encoder.handle={handle}",
            *(["training.max_length=256"] if longest > 256 else []),
        ]
    encoders = [
        {"handle": entry} if isinstance(entry, str) else dict(entry)
        for entry in content["compare"]["encoders"]
    ]
    for entry in encoders:
        entry["handle"] = shipped(entry["handle"])
    return [f"compare.encoders={yaml.safe_dump(encoders, default_flow_style=True, width=10**6)}"]


def shipped(handle: str) -> str:
    if "/" not in handle:
        return handle
    return "elmo_small" if "elmo" in handle else "bert_small"


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CONFIGS)))
def test_data_check_and_dry_run(path, shared, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").symlink_to(shared / "data")
    content = yaml.safe_load(path.read_text("utf-8"))
    sets = [word for value in overrides(content) for word in ("--set", value)]
    command = "compare" if "compare" in content else "train"
    for arguments in (["data", "check", str(path)], [command, str(path), "--dry-run"]):
        result = CliRunner().invoke(cli, [*arguments, *sets])
        assert result.exit_code == 0, result.stderr
        assert result.stdout
