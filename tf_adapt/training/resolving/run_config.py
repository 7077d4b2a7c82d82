"""The config of a run in its folder: written at the start, read again, compared.

Imports no TensorFlow.
"""

import json
from pathlib import Path
from typing import Any

from tf_adapt.config.reading import config_from, dump_config
from tf_adapt.config.sections import Config
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.paper import FROZEN
from tf_adapt.runs import run_folder

SLICES = "slices."
# Keys without an effect on the weights: the notes, the storage of features, what is scored apart.
FREE_KEYS = (
    "about",
    *(f"features.{key}" for key in ("cache", "require", "limit_mb", "disk_limit_mb")),
    SLICES,
)


def start(folder: Path, config: Config) -> None:
    """Marks the folder as an unfinished run of this config; requires the lock."""
    run_folder.start(folder, dump_config(config), list(config.tasks or ()))


def saved_config(folder: Path) -> Config | None:
    """The config with which a run was started; None for a new or empty folder.

    Raises:
        ArtifactError: the folder holds something else, or its config is damaged.
    """
    saved = run_folder.saved_content(folder)
    if saved is None:
        return None
    content, locations = saved
    try:
        return config_from(as_now(content), str(folder / run_folder.CONFIG), locations)
    except ConfigError as error:
        raise ArtifactError(f"run folder: {error}") from None


def as_now(content: dict[str, Any]) -> dict[str, Any]:
    """A config as earlier versions wrote it: `data.leave_out`, called `fold` before there were
    folds; parts of a user's train that are not stratified; SST-2's two datasets; a linear head on a
    frozen encoder that is not scaled, and without pooling reads the pooled vector."""
    if "head_scaled" not in content and content.get("head") == "linear":
        adaptation = content.get("adaptation")
        name = adaptation.get("name") if isinstance(adaptation, dict) else adaptation
        content |= {"head_scaled": False} if name == FROZEN else {}
    sections = [content, *(content.get("tasks") or {}).values()]
    for data in [section["data"] for section in sections if isinstance(section.get("data"), dict)]:
        is_cut = data.get("held_out") or data.get("fold") or data.get("dev") is None
        if is_cut and not {"dataset", "stratified"} & data.keys() and data.get("format") != "text":
            data["stratified"] = False
        # Before there was `data.metric`, sst2 was sentences where it was read from files.
        sentences = data.get("source") == "files" and "metric" not in data
        names = {"sst2_phrases": "sst2", **({"sst2": "sst2_sentences"} if sentences else {})}
        if data.get("dataset") in names:
            data["dataset"] = names[data["dataset"]]
        fold = data.get("fold")
        if fold and "leave_out" not in data:
            part = {"part" if key == "leave_out" else key: value for key, value in fold.items()}
            data |= {"fold": None, "leave_out": part}
    return content


def check_same_run(folder: Path, started: Config, wanted: Config) -> None:
    """Checks that a run may resume with this config.

    Raises:
        ConfigError: a key differs; only `FREE_KEYS` and more `training.epochs` may.
    """
    changed = changed_keys(started, wanted)
    # Of several tasks, how often each is trained may depend on the number of epochs.
    if wanted.tasks is None and wanted.training.epochs >= started.training.epochs:
        changed.pop("training.epochs", None)
    if changed:
        shown = ", ".join(changed.values())
        before, now = flat(started.model_dump()), flat(wanted.model_dump())
        # A key that is left out may have had another default in an earlier version.
        left_out = [key for key in changed if now.get(key) is None]
        advice = "".join(f" --set {key}={json.dumps(before.get(key))}" for key in left_out)
        raise ConfigError(
            f"{folder}: this run was started with another config: {shown}; give it another "
            f"--out, or the same config{advice} (only more training.epochs may be asked of it)"
        )


def changed_keys(started: Config, wanted: Config) -> dict[str, str]:
    """The keys that differ, except `FREE_KEYS`, each with a text of both values.

    Slices with heads of their own are not free; where the data are kept is. A tag scheme may be
    left to the tags: what was read is compared apart, and earlier runs have the scheme that was
    inferred. Earlier runs name no prompts where they have none.
    """
    with_heads = started.slice_heads or wanted.slice_heads
    free = tuple(key for key in FREE_KEYS if not (with_heads and key == SLICES))
    before, now = flat(started.model_dump()), flat(wanted.model_dump())
    return {
        key: f"{key} (was {before.get(key)}, now {now.get(key)})"
        for key in sorted(before.keys() | now.keys())
        if before.get(key) != now.get(key) and not key.startswith(free)
        if not (key.endswith("data.scheme") and now.get(key) is None)
        if not key.endswith("data.memory_mb")
        if not (key == "encoder.prompts" and not (before.get(key) or now.get(key)))
    }


def flat(section: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested sections as one dict, keys joined by dots."""
    joined: dict[str, Any] = {}
    for key, value in section.items():
        if isinstance(value, dict):
            joined |= flat(value, f"{prefix}{key}.")
        else:
            joined[f"{prefix}{key}"] = value
    return joined
