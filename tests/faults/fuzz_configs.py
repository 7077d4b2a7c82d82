"""Mutated configs and command lines, which must end as one of our errors (exit 0, 2, 3, 4 or 5).

A config goes as far as its data: nothing is built, trained or downloaded.

Usage: python -m tests.faults.fuzz_configs SECONDS [SEED]
Prints how many were tried, and every offender with its input; exits with 1 if there is one.
"""

import contextlib
import os
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

from click.testing import CliRunner

from tf_adapt.commands.main import cli
from tf_adapt.training.resolving import run_config

ALLOWED = (0, 2, 3, 4, 5)
SLOWEST_SECONDS = 10
LONG = {"estimate"}  # it encodes the texts of a good config
RUN = """\
about: {summary: a test, expected: none, minutes: 1}
data:
  dataset: sample_classification
  source: sample
  train_examples: 8
encoder:
  handle: bert_small
  execution: native
adaptation: {name: gradual_unfreezing, every: 1, unit: epochs}
optimizer: {name: adamw, decay: 0.5, factors: null}
schedule: {name: slanted_triangular, ratio: 32.0}
auxiliary:
  language_model: {weight: 0.5, final_weight: 0.1, anneal_steps: 10}
penalties: {l2_sp: {alpha: 0.1, beta: 0.01}}
features: {limit_mb: 100, require: false}
training:
  epochs: 3
  batch_size: 8
  learning_rate: 1.0e-3
  warmup: 0.1
  patience: 2
  max_length: 64
  devices: null
  seed: 1
"""
FILES = """\
data:
  format: tsv
  kind: classification
  train: table.tsv
  dev: table.tsv
  columns: {text_a: text, label: label, group: group}
  labels: ["yes", "no"]
  held_out: 0.5
encoder: {handle: elmo_small}
adaptation: feature_extraction
head: bcn
training: {epochs: 1, batch_size: 2, learning_rate: 1.0e-3}
"""
SETS = """\
data: {format: tsv, kind: multilabel_classification, train: table.tsv, dev: table.tsv,
  columns: {text_a: text, label: label}}
encoder: {handle: bert_small}
adaptation: fine_tuning
head: linear
training: {epochs: 1, batch_size: 2, learning_rate: 1.0e-3, choose_thresholds: true}
"""
TAGS = """\
data: {format: conll, kind: tagging, train: tags.txt, dev: tags.txt, scheme: IOB2,
  columns: {words: 0, tags: 1}}
encoder: {handle: bert_small}
adaptation: {name: two_stage, head_epochs: 1}
penalties: {ewc: {fisher: table.tsv, weight: 1.0}}
training: {epochs: 2, batch_size: 2, learning_rate: 1.0e-3, document_context: true}
"""
COMPARISON = """\
data: {dataset: sample_pair_classification, source: sample}
compare:
  encoders: [elmo_small, {handle: bert_small, learning_rates: [3.0e-4], pairs: separate}]
  adaptations: [feature_extraction, {name: two_stage, head_epochs: 1}]
  heads: [esim]
  learning_rates: {default: [1.0e-3], feature_extraction: [3.0e-3]}
  epochs: {default: 4, feature_extraction: 5}
  head_units: {esim: 10}
  settings: {two_stage: {training: {weight_decay: 0.1}}}
  score_on: dev
  train_examples: [8, all]
  seeds: 3
  threads: 1
training: {epochs: 1, batch_size: 8}
"""
CONFIGS = (RUN, FILES, SETS, TAGS, COMPARISON)
TABLE = "text\tlabel\tgroup\n" + "".join(
    f"text {n}\t{['yes', 'no'][n % 2]}\tg{n}\n" for n in range(6)
)
VALUES = (
    "null", "~", "true", "no", "-1", "0", "1", "2.5", "1e-3", "1.0e+30", ".nan", "-.inf", '""',
    "''", "x", "/", "//", ".", "..", "/dev/null", "[]", "[1]", "{}", "{a: 1}", "[[[]]]", "9" * 20,
    "9" * 400, "9" * 5000, "1" + "0" * 30, "-" + "9" * 30, "0x" + "f" * 30, "0b_", "0o7", "1:30",
    "2020-99-99", "2001-01-01 00:00:00 +99:99", '"\\0"', '"\\ud800"', '"\\U00ffffff"', "\u200b",
    "&a x", "*a", "<<", "? x", "- x", "| x", ">\n  x", "é" * 300, "x" * 5000, "../../x",
    "table.tsv", "a\u2028b", "os.system", "cpu:1", "cpu:999", "test", "default", "fine_tuning",
    "tagging", "csv", "{" * 30, "[" * 30 + "]" * 30, "!!python/object/apply:os.system [x]", "=",
    "%x", "@x", "regression", "multilabel_classification",
)  # fmt: skip
TAGS_OF_YAML = (
    "!", "!x", "!!int", "!!float", "!!bool", "!!null", "!!binary", "!!timestamp", "!!set", "!!omap",
    "!!pairs", "!!map", "!!seq", "!!str", "!!merge", "!!value", "!<x>", "!!python/name:os.system",
)  # fmt: skip
NAMES = (
    "", "-", "--", ".", "..", "/proc/x", "/dev/null", "a\0b", "x" * 300, "x/" * 3000, "\udcff",
    "\ud800", "é", "a\nb", "\x1b[2J", "table.tsv", "folder", "folder/x", "table.tsv/x", "absent",
    "run.yaml", "compare.yaml", "1", "-1", "0", "2.5", "nan", "1e400", "9" * 400, "٣", "a=b", "=",
    "training.epochs=0", "training.epochs=1", ".=1", "a.b.c=!!x y", 'encoder.handle="\\0"',
    "data=[", "data.train=[]", "sst2", "esim", "bert", "tagging", "bilm-tf", "huggingface",
    "keras-nlp", "google-bert",
)  # fmt: skip
USUAL = ("table.tsv", "tags.txt", "folder", "out", "run.yaml", "compare.yaml", "1", "2")


def mutated(text: str, chance: random.Random) -> bytes:
    """The text of a config, damaged in one or two ways."""
    content = text
    for _ in range(chance.randint(1, 2)):
        content = chance.choice(MUTATIONS)(content, chance)
    encoded = content.encode("utf-8", "surrogatepass")
    return _odd_bytes(encoded, chance) if chance.random() < 0.1 else encoded


def _other_value(text: str, chance: random.Random) -> str:
    return _at_a_value(text, chance, lambda value: chance.choice(VALUES))


def _tagged(text: str, chance: random.Random) -> str:
    return _at_a_value(text, chance, lambda value: f"{chance.choice(TAGS_OF_YAML)} {value}")


def _tagged_odd_value(text: str, chance: random.Random) -> str:
    tag = chance.choice(TAGS_OF_YAML)
    return _at_a_value(text, chance, lambda value: f"{tag} {chance.choice(VALUES)}")


def _at_a_value(text: str, chance: random.Random, change: Callable[[str], str]) -> str:
    places = list(re.finditer(r"(?<=: )[^,}\]\n]+", text))
    if not places:
        return text
    place = chance.choice(places)
    return text[: place.start()] + change(place.group()) + text[place.end() :]


def _other_key(text: str, chance: random.Random) -> str:
    places = list(re.finditer(r"\w+(?=:)", text))
    if not places:
        return text
    place = chance.choice(places)
    other = chance.choice([*VALUES, *(one.group() for one in places)])
    return text[: place.start()] + other + text[place.end() :]


def _cut(text: str, chance: random.Random) -> str:
    return text[: chance.randrange(len(text) + 1)]


def _without_a_line(text: str, chance: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    if lines:
        del lines[chance.randrange(len(lines))]
    return "".join(lines)


def _line_elsewhere(text: str, chance: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    if lines:
        lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
    return "".join(lines)


def _nested(text: str, chance: random.Random) -> str:
    opening, depth = chance.choice(["[", "{a: ", "- ", "? "]), chance.choice([19, 21, 1000])
    return _at_a_value(text, chance, lambda value: opening * depth + value)


def _inserted(text: str, chance: random.Random) -> str:
    place = chance.randrange(len(text) + 1)
    odd = chance.choice(
        ["\t", "\r", "\0", "\u2028", "\ufeff", "\ud800", "'", '"', ":", "#", "&a ", "*a", "---\n",
         "...\n", "%YAML 1.1\n", "%TAG ! x:\n", "<<: {a: 1}\n", "\x85", "\U0001f600", "\x7f"]
    )  # fmt: skip
    return text[:place] + odd + text[place:]


MUTATIONS = (
    _other_value, _other_value, _tagged, _tagged_odd_value, _other_key, _cut, _without_a_line,
    _line_elsewhere, _nested, _inserted,
)  # fmt: skip


def _odd_bytes(content: bytes, chance: random.Random) -> bytes:
    odd = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        odd.insert(chance.randrange(len(odd) + 1), chance.randrange(256))
    return bytes(odd)


def _arguments(chance: random.Random) -> list[str]:
    """A command line: a command, and options and arguments of odd values."""
    command, words = cli, []
    while hasattr(command, "commands"):
        name = chance.choice(sorted({*command.commands} - LONG))
        command, words = command.commands[name], [*words, name]
    for parameter in command.params:
        if chance.random() < (0.95 if parameter.required else 0.3):
            name = [] if parameter.param_type_name == "argument" else [parameter.opts[0]]
            usual = USUAL if chance.random() < 0.6 else NAMES
            choices = getattr(parameter.type, "choices", usual)
            value = [] if getattr(parameter, "is_flag", False) else [chance.choice(choices)]
            words += name + value
    if chance.random() < 0.1:
        words.insert(chance.randrange(len(words) + 1), chance.choice(NAMES))
    return words


def one_case(chance: random.Random) -> tuple[list[str], bytes | None]:
    """A command line, and the config that it names, if it is one of ours."""
    if chance.random() < 0.2:
        return _arguments(chance), None
    text = chance.choice(CONFIGS)
    words = ["compare" if text is COMPARISON else "train", "config.yaml", "--out", "out"]
    while chance.random() < 0.1:
        words += chance.choice([["--set", chance.choice(NAMES)], ["--seed", chance.choice(NAMES)]])
    return words, mutated(text, chance)


def offence(words: list[str], content: bytes | None) -> str | None:
    """What is wrong with how a command ended; None where it is as it should be."""
    if content is not None:
        Path("config.yaml").write_bytes(content)
    started = time.monotonic()
    result = CliRunner().invoke(cli, words, input=b"a\n")
    seconds = time.monotonic() - started
    if isinstance(result.exception, Exception):
        return f"raised {result.exception!r}"
    if result.exit_code not in ALLOWED or "Traceback" in result.output:
        return f"exit {result.exit_code}: {result.stderr[-300:]}"
    return f"took {seconds:.1f} s" if seconds > SLOWEST_SECONDS else None


@contextlib.contextmanager
def in_a_folder() -> Iterator[None]:
    """Works in a folder of its own, where what would compute reads the data alone."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder) / "inner"
        inner.mkdir()
        (inner / "table.tsv").write_text(TABLE, "utf-8")
        (inner / "tags.txt").write_text("a B-X\nb I-X\n\nc O\n", "utf-8")
        (inner / "run.yaml").write_text(RUN, "utf-8")
        (inner / "compare.yaml").write_text(COMPARISON, "utf-8")
        (inner / "folder").mkdir()
        os.chdir(inner)
        try:
            with (
                mock.patch("tf_adapt.training.train.train", _read_data),
                mock.patch("tf_adapt.comparison.comparing.compare", _refused),
                mock.patch("tf_adapt.training.resolving.data_report.inspect_data", _refused),
                mock.patch("tf_adapt.comparison.plan.data_check.inspect_comparison_data", _refused),
                mock.patch("tf_adapt.comparison.plan.dry_run.dry_run", _refused),
                mock.patch("tf_adapt.training.dry_run.dry_run", _refused),
            ):
                yield
        finally:
            os.chdir(before)


def _read_data(config, folder=None, session=None) -> dict:
    from tf_adapt.config.paths import resolve_paths
    from tf_adapt.data.splits.read_splits import load_splits

    config = resolve_paths(config)
    if folder is not None:
        run_config.saved_config(Path(folder))
    if getattr(config.data, "source", None) != "tfds":  # which downloads
        load_splits(config.data)
    return {}


def _refused(*arguments, **options) -> None:
    from tf_adapt.errors import ConfigError

    raise ConfigError("good so far")


def fuzz(seconds: float, seed: int = 0, most: int | None = None) -> tuple[int, list[str]]:
    """How many cases were tried, and the offenders."""
    chance, offenders, tried = random.Random(seed), [], 0
    end = time.monotonic() + seconds
    with in_a_folder():
        while time.monotonic() < end and tried != most:
            words, content = one_case(chance)
            found = offence(words, content)
            tried += 1
            if found is not None:
                offenders.append(f"case {tried}: {words!r}\n{content!r}\n{found}")
    return tried, offenders


def main() -> None:
    seconds, seed = float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    tried, offenders = fuzz(seconds, seed)
    print("\n\n".join([*offenders, f"{tried} tried, {len(offenders)} offenders, seed {seed}"]))
    sys.exit(1 if offenders else 0)


if __name__ == "__main__":
    main()
