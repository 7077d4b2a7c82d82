"""Aliases of names in a config: `freeze`, `tune`, and `text` for tasks on single texts.

Checks, comparisons and written files use the canonical names only.
"""

from hub_modules.storage.strict_yaml import KeyPath
from tf_adapt.adaptation.adaptations import SHORT_NAMES
from tf_adapt.config.messages import Problems

_COLUMNS = {"text": "text_a"}
# Sections of `compare` whose keys are names of adaptations.
_BY_ADAPTATION = ("learning_rates", "epochs", "head_units", "settings")


def canonical_path(path: KeyPath) -> KeyPath:
    """The path of a key, as `--set` writes it, in canonical names."""
    last = 4 if path[:1] == ("tasks",) else 2
    aliases = _aliases(path[:last])
    return tuple(
        aliases.get(part, part) if depth == last else part for depth, part in enumerate(path)
    )


def with_canonical_names(content: dict, problems: Problems) -> dict:
    """Plain nested values with canonical names as keys; the values of sections are not copied.

    An alias next to its canonical name is added to `problems`, whose locations get the new keys.
    """
    content = dict(content)
    _rename_columns(content, (), problems)
    _rename_in_tasks(content, (), problems)
    if isinstance(content.get("compare"), dict):
        compare = content["compare"] = dict(content["compare"])
        for key in _BY_ADAPTATION:
            _rename(compare, key, ("compare",), problems)
        if isinstance(compare.get("signals"), dict):
            compare["signals"] = signals = dict(compare["signals"])
            for name, signal in signals.items():
                if isinstance(signal, dict):
                    signals[name] = signal = dict(signal)
                    _rename_in_tasks(signal, ("compare", "signals", name), problems)
        if isinstance(compare.get("encoders"), list):
            encoders = compare["encoders"] = [
                dict(entry) if isinstance(entry, dict) else entry for entry in compare["encoders"]
            ]
            for number, encoder in enumerate(encoders):
                if isinstance(encoder, dict):
                    path = ("compare", "encoders", number)
                    _rename(encoder, "learning_rates", path, problems)
    return content


def _rename_in_tasks(home: dict, prefix: KeyPath, problems: Problems) -> None:
    if not isinstance(home.get("tasks"), dict):
        return
    home["tasks"] = {
        name: dict(task) if isinstance(task, dict) else task for name, task in home["tasks"].items()
    }
    for name, task in home["tasks"].items():
        if isinstance(task, dict):
            _rename_columns(task, (*prefix, "tasks", name), problems)


def _rename_columns(home: dict, prefix: KeyPath, problems: Problems) -> None:
    if isinstance(home.get("data"), dict):
        home["data"] = dict(home["data"])
        _rename(home["data"], "columns", (*prefix, "data"), problems)


def _aliases(path: KeyPath) -> dict[str, str]:
    """Alias → canonical name, for the keys of a section."""
    if path[-2:] == ("data", "columns"):
        return _COLUMNS
    is_by_adaptation = path[:1] == ("compare",) and path[-1] in _BY_ADAPTATION
    return SHORT_NAMES if is_by_adaptation else {}


def _rename(home: dict, key: str, prefix: KeyPath, problems: Problems) -> None:
    section, path = home.get(key), (*prefix, key)
    if not isinstance(section, dict):
        return
    aliases = _aliases(path)
    for short, name in aliases.items():
        if short in section and name in section:
            problems.add(
                (*path, short), f"expected one of {short} and {name}, which are the same, got both"
            )
        elif short in section:
            problems.copy_locations((*path, short), (*path, name))
    home[key] = {aliases.get(name, name): value for name, value in section.items()}
