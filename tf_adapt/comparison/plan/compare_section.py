"""Reads the section `compare` of a config: short forms, names, what excludes what. Imports no
TensorFlow."""

from typing import Any

from hub_modules.storage.strict_yaml import KeyPath
from tf_adapt.adaptation.adaptations import ADAPTATIONS
from tf_adapt.comparison.plan.sections import (
    VARIED_IN_MEMBERS,
    VARIED_IN_SETTINGS,
    VARIED_IN_SIGNALS,
    Compare,
)
from tf_adapt.comparison.plan.signal_cells.members import check_members
from tf_adapt.comparison.plan.signals import check_signals, typed_signals
from tf_adapt.comparison.search.section import PAPER
from tf_adapt.config.messages import Problems
from tf_adapt.config.reading import typed
from tf_adapt.heads.names import HEAD_NAMES
from tf_adapt.printing.words import did_you_mean


def compare_section(section: Any, problems: Problems) -> Compare | None:
    """The section `compare`; None if a key is wrong."""
    section = _written_out(section)
    for key, elsewhere in (("settings", VARIED_IN_SETTINGS), ("signals", VARIED_IN_SIGNALS)):
        sections = section.get(key) if isinstance(section, dict) else None
        for name, content in sections.items() if isinstance(sections, dict) else ():
            path = ("compare", key, name)
            refuse_varied(content, path, elsewhere, problems)
            members = content.get("members") if isinstance(content, dict) else None
            for number, member in enumerate(members if isinstance(members, list) else ()):
                refuse_varied(member, (*path, "members", number), VARIED_IN_MEMBERS, problems)
    if isinstance(section, dict) and isinstance(section.get("signals"), dict):
        section["signals"] = typed_signals(section["signals"], problems)
    varied = typed(Compare, section, ("compare",), problems)
    if varied is not None:
        _check_names(varied, problems)
        _check_beside_search(varied, problems)
        check_signals(varied, problems)
        check_members(varied.signals, problems)
    return varied


def _check_names(varied: Compare, problems: Problems) -> None:
    """Checks that the keys of sections by adaptation (or head) are such names."""
    by_adaptation = ["default", *ADAPTATIONS]
    sections = {
        ("learning_rates",): (varied.learning_rates, by_adaptation),
        ("epochs",): (varied.epochs, by_adaptation),
        ("settings",): (varied.settings, by_adaptation),
        ("head_units",): (varied.head_units, [*ADAPTATIONS, *HEAD_NAMES]),
    }
    for number, encoder in enumerate(varied.encoders):
        key = ("encoders", number, "learning_rates")
        sections[key] = (encoder.learning_rates, by_adaptation)
    for key, (section, names) in sections.items():
        for name in section or ():
            if name not in names:
                problems.add(
                    ("compare", *key, name),
                    f"expected one of {', '.join(names)}, got {name!r}{did_you_mean(name, names)}",
                )


def _check_beside_search(varied: Compare, problems: Problems) -> None:
    """Checks that a search is the only thing that chooses."""
    if varied.search is None:
        return
    rates = [(("learning_rates",), varied.learning_rates)]
    for number, encoder in enumerate(varied.encoders):
        rates.append((("encoders", number, "learning_rates"), encoder.learning_rates))
    for key, given in rates:
        if given is not None:
            problems.add(
                ("compare", *key),
                "expected null beside compare.search, whose space has training.learning_rate, got "
                "learning rates; leave one of them out",
            )
    if varied.extend and "extend" in varied.model_fields_set:
        problems.add(
            ("compare", "extend"),
            "expected false beside compare.search, whose space has the epochs, got true",
        )


def refuse_varied(
    content: Any, prefix: KeyPath, varied: dict[KeyPath, str], problems: Problems
) -> None:
    """Refuses keys that the section `compare` sets for every cell."""
    for key, home in varied.items():
        section = content
        for part in key[:-1]:
            section = section.get(part) if isinstance(section, dict) else None
        if isinstance(section, dict) and key[-1] in section:
            problems.add(
                (*prefix, *key),
                f"expected as compare.{home} in a comparison, got a key of its own; move it there",
            )


def _written_out(section: Any) -> Any:
    """Expands short forms: a handle or name to a section, a list of rates to `default`, a
    range of a search to a list."""
    if not isinstance(section, dict):
        return section
    section = dict(section)
    for key, name in (("encoders", "handle"), ("adaptations", "name")):
        if isinstance(section.get(key), list):
            section[key] = [{name: x} if isinstance(x, str) else x for x in section[key]]
    encoders = section.get("encoders")
    for entry in (section, *(encoders if isinstance(encoders, list) else ())):
        if isinstance(entry, dict) and isinstance(entry.get("learning_rates"), list):
            entry["learning_rates"] = {"default": entry["learning_rates"]}
    search = section.get("search")
    if isinstance(search, dict) and search.get("space") == PAPER:
        section["search"] = search | {"space": {}}
    elif isinstance(search, dict) and isinstance(search.get("space"), dict):
        space = {key: [x] if isinstance(x, dict) else x for key, x in search["space"].items()}
        section["search"] = search | {"space": space}
    return section
