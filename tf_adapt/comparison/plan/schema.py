"""The JSON schema of the configs of runs and comparisons, for completion and checks in editors.

Generated from the sections that configs are read with; describes each key's meaning and expected
values. Rules across keys (columns and kind, keys and adaptation) are checked when a config is read.
Imports no TensorFlow.
"""

import copy
import sys
from typing import Any

from pydantic.json_schema import models_json_schema

from tf_adapt.adaptation.adaptations import ADAPTATIONS, SHORT_NAMES
from tf_adapt.comparison.plan.sections import (
    VARIED,
    VARIED_IN_MEMBERS,
    VARIED_IN_SETTINGS,
    VARIED_IN_SIGNALS,
    Compare,
)
from tf_adapt.comparison.plan.signals import NAME
from tf_adapt.comparison.plan.sizes import ALL
from tf_adapt.comparison.search.section import PAPER
from tf_adapt.config.fields import Section
from tf_adapt.config.meanings import meanings
from tf_adapt.config.sections import OF_TASKS, Config
from tf_adapt.config.signal_sections import PERTURBATION_NAMES
from tf_adapt.heads.names import HEAD_NAMES

Schema = dict[str, Any]
DRAFT = "https://json-schema.org/draft/2020-12/schema"
_SECTION = ("a section", "a section, or null")
_ADAPTATIONS = [*ADAPTATIONS, *SHORT_NAMES]


def config_schema() -> Schema:
    """The schema (draft 2020-12) of a config that `tf-adapt train` or `tf-adapt compare` reads."""
    _, models_schema = models_json_schema([(Config, "validation"), (Compare, "validation")])
    sections = models_schema["$defs"]
    classes = {model.__name__: model for model in _below(Section)}
    modules = {model.__module__ for model in classes.values()}
    known = meanings(*(sys.modules[name] for name in modules))
    for name, section in sections.items():
        section.pop("title", None)
        bases = [base.__name__ for base in classes[name].__mro__]
        for key, field in section["properties"].items():
            field.pop("title", None)
            _describe(field, next((known[b, key] for b in bases if (b, key) in known), None))
    _accept_short_names(sections)
    _list_cells(sections)
    run = sections.pop("Config")
    comparison = _comparison(run, sections)
    run["anyOf"] = [{"required": ["data"]}, {"required": ["tasks"]}]
    return {
        "$schema": DRAFT,
        "title": "A config of tf-adapt",
        "anyOf": [{"$ref": "#/$defs/Run"}, {"$ref": "#/$defs/Comparison"}],
        "$defs": {"Run": run, "Comparison": comparison} | sections,
    }


def _below(section: type) -> list[type]:
    """The classes of all sections."""
    return [below for model in section.__subclasses__() for below in (model, *_below(model))]


def _describe(field: Schema, meaning: str | None) -> None:
    """Writes a key's description: its meaning and expected values; sections have their own."""
    expected = field.pop("description", None)
    if expected in _SECTION:
        return
    sentences = [meaning] if meaning else []
    field["description"] = " ".join([*sentences, f"Expected: {expected}."])


def _accept_short_names(sections: dict[str, Schema]) -> None:
    """Adds the short names that `tf_adapt.config.names` accepts."""
    sections["AdaptationConfig"]["properties"]["name"]["enum"] = _ADAPTATIONS
    consistency = sections["ConsistencyConfig"]["properties"]
    names = {"enum": list(PERTURBATION_NAMES)}
    consistency["perturbation"] = _either(consistency["perturbation"], names)
    for name in ("Columns", "FeatureColumns"):
        columns = sections[name]["properties"]
        text = copy.deepcopy(columns["text_a"])
        text["description"] = "The same as text_a, for kinds with one text."
        sections[name]["properties"] = {"text": text} | columns


def _list_cells(sections: dict[str, Schema]) -> None:
    """Adds the short forms in `compare`: names instead of sections, and sections by adaptation."""
    run, compare = sections["Config"]["properties"], sections["Compare"]["properties"]
    name = {"enum": _ADAPTATIONS}
    run["adaptation"] = _either(run["adaptation"], name)
    _either_item(compare["adaptations"], name)
    _either_item(compare["encoders"], {"type": "string"})
    compare["heads"]["anyOf"][0]["items"] = {"enum": list(HEAD_NAMES)}
    sizes = {"anyOf": [{"type": "integer", "minimum": 1}, {"const": ALL}]}
    compare["train_examples"]["anyOf"][0]["items"] = sizes

    space = sections["SearchSection"]["properties"]["space"]
    alternatives = space["additionalProperties"]
    space["additionalProperties"] = {"anyOf": [alternatives["items"], alternatives]}
    sections["SearchSection"]["properties"]["space"] = _either(space, {"const": PAPER})

    by_adaptation = {"enum": ["default", *_ADAPTATIONS]}
    rates = {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "minItems": 1}
    for section in (compare, sections["EncoderEntry"]["properties"]):
        given = section["learning_rates"]["anyOf"]
        given[0] |= {"additionalProperties": rates, "propertyNames": by_adaptation}
        given.insert(0, rates)
    compare["epochs"]["anyOf"][0]["propertyNames"] = by_adaptation
    compare["settings"]["propertyNames"] = by_adaptation
    compare["head_units"]["anyOf"][0]["propertyNames"] = {"enum": [*_ADAPTATIONS, *HEAD_NAMES]}
    # Missing keys default to the shared ones.
    training = {
        "TrainingSettings": VARIED_IN_SETTINGS,
        "SignalTraining": VARIED_IN_SIGNALS,
        "MemberTraining": VARIED_IN_MEMBERS,
    }
    cells = ("CellSettings", "SignalSettings", "MemberSettings", "EncoderSettings")
    for name in (*cells, *training):
        for field in sections[name]["properties"].values():
            field.pop("default", None)
    compare["signals"]["propertyNames"] = {"pattern": f"^{NAME.pattern}$"}
    for name, varied in training.items():
        _leave_out(sections[name], _keys_of_training(varied))


def _comparison(run: Schema, sections: dict[str, Schema]) -> Schema:
    """A run's config with the section `compare`, without the keys that it sets for every cell."""
    comparison = copy.deepcopy(run)
    comparison["description"] = "Everything that a comparison depends on."
    _leave_out(comparison, {path[0] for path in VARIED if len(path) == 1})
    training = sections["ComparisonTraining"] = copy.deepcopy(sections["TrainingConfig"])
    _leave_out(training, _keys_of_training(VARIED))
    comparison["properties"]["training"] = {"$ref": "#/$defs/ComparisonTraining"}
    comparison["properties"]["compare"] = {"$ref": "#/$defs/Compare"}
    _leave_out(comparison, set(OF_TASKS))
    comparison["required"] += ["data", "compare"]
    return comparison


def _either(field: Schema, other: Schema) -> Schema:
    description = {"description": field.pop("description")} if "description" in field else {}
    return {"anyOf": [other, field]} | description


def _either_item(field: Schema, other: Schema) -> None:
    field["items"] = _either(field["items"], other)


def _keys_of_training(varied: dict[tuple[str, ...], str]) -> set[str]:
    return {path[1] for path in varied if path[0] == "training"}


def _leave_out(section: Schema, keys: set[str]) -> None:
    for key in keys:
        del section["properties"][key]
    section["required"] = [key for key in section.get("required", []) if key not in keys]
