"""Everything that other people's scripts rely on is in `public_surface.txt`, and still there.

Prints the present surface: `python -P tests/test_public_surface.py > tests/public_surface.txt`.
"""

from collections.abc import Iterator
from pathlib import Path

import click

import tf_adapt
from tf_adapt.commands.main import cli
from tf_adapt.comparison.plan.schema import config_schema
from tf_adapt.config.reading import config_from
from tf_adapt.runs.run_schemas import Metrics

LISTED = Path(__file__).with_name("public_surface.txt")


def surface() -> list[str]:
    """Names in Python, options of commands, keys of configs, keys of `metrics.json`."""
    found = [f"tf_adapt.{name}" for name in tf_adapt.__all__]
    found += options(cli, "tf-adapt")
    schema = config_schema()["$defs"]
    found += keys(schema["Run"], schema, "config")
    found += keys(schema["Comparison"]["properties"]["compare"], schema, "config.compare")
    found += [f"metrics.json {key}" for key in Metrics.model_fields]
    return sorted(set(found))


def options(command: click.Command, words: str) -> Iterator[str]:
    yield words
    for parameter in command.params:
        is_option = isinstance(parameter, click.Option)
        yield from (f"{words} {name}" for name in parameter.opts if is_option)
    for name, inner in getattr(command, "commands", {}).items():
        yield from options(inner, f"{words} {name}")


def keys(section: dict, schema: dict, path: str) -> Iterator[str]:
    """The keys of a section and of the sections in it; of every form that it may have."""
    if "$ref" in section:
        section = schema[section["$ref"].rsplit("/", 1)[1]]
    forms = [*section.get("anyOf", []), *section.get("oneOf", []), *section.get("allOf", [])]
    forms += [section[one] for one in ("items", "additionalProperties") if section.get(one)]
    for form in forms:
        if isinstance(form, dict):
            yield from keys(form, schema, path)
    for key, inner in section.get("properties", {}).items():
        yield f"{path}.{key}"
        if path.count(".") < 4:  # a comparison's cells have sections of runs again
            yield from keys(inner, schema, f"{path}.{key}")


def test_nothing_disappears_and_nothing_is_public_by_accident():
    listed, found = set(LISTED.read_text("utf-8").splitlines()), set(surface())
    assert listed - found == set(), "gone: other people's scripts use it"
    assert found - listed == set(), "new: add it to public_surface.txt"


def test_the_readme_names_are_public():
    listed = LISTED.read_text("utf-8").splitlines()
    for name in ("tf_adapt.HubEncoder", "tf-adapt compare --seeds", "config.encoder.handle"):
        assert name in listed
    assert len(listed) > 300


def test_every_way_to_write_a_config_is_a_listed_key():
    written = {
        "data": {"dataset": "sample_tagging", "source": "sample"},
        "encoder": {"handle": "bert_small"},
        "adaptation": "fine_tuning",
        "training": {"epochs": 1, "batch_size": 8, "learning_rate": 1e-3},
    }
    config = config_from(written, "test")
    listed = set(LISTED.read_text("utf-8").splitlines())
    assert {f"config.{name}" for name in dict(config)} <= listed


if __name__ == "__main__":
    print("\n".join(surface()))
