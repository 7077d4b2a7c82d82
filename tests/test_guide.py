"""The pages that have code: programs run, configs are read, shell commands exist."""

import copy
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import click
import jsonschema
import pytest
import yaml
from eager import without_graphs
from made_runs import make_run

from tf_adapt.commands.main import cli
from tf_adapt.comparison.plan.schema import config_schema
from tf_adapt.comparison.plan.settings import load_comparison
from tf_adapt.config.reading import config_from

DOCS = Path(__file__).parent.parent / "docs"
README = DOCS.parent / "README.md"
PAGES = {
    path.relative_to(DOCS.parent).with_suffix("").as_posix().removeprefix("docs/"): path.read_text(
        "utf-8"
    )
    for path in [*sorted(DOCS.rglob("*.md")), README]
}
# Blocks below a line `<!-- not run: REASON -->`, by page: how many for which reason.
NOT_RUN = {
    "coming_from": {"needs network": 1},
    "guide_comparing": {"takes minutes": 1},
    "guide_devices": {"needs other machines": 1, "needs Ray": 1, "needs Slurm": 1},
    "guide_memory_speed": {"needs the package openvino": 1},
    "guide_modules": {
        "needs network": 3,
        "takes hours": 1,
        "needs PyTorch and fast.ai's files": 1,
    },
    "guide_serving": {"needs a server": 2},
    "guide_ensembles": {"needs finished runs": 1},
}
_BLOCK = re.compile(
    r"(?:^<!-- not run: ([^\n]+) -->\n)?^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE
)


class Block(NamedTuple):
    """A piece of code on a page; `reason` says why it is not run."""

    page: str
    language: str
    code: str
    reason: str | None


BLOCKS = [
    Block(page, language, code, reason or None)
    for page, text in PAGES.items()
    for reason, language, code in _BLOCK.findall(text)
]


def blocks(*languages: str) -> list[Block]:
    return [one for one in BLOCKS if one.language in languages and one.reason is None]


def check_your_data(found: dict) -> None:
    _, targets = next(iter(found["ta"].batches(found["dataset"], found["task"], found["encoder"])))
    assert sorted(targets.numpy()) == [0, 1, 1]


def check_keras(found: dict) -> None:
    assert found["answers"]["label"].numpy()[0].decode() in found["labels"]
    assert [one.label in ("bad", "good") for one in found["predictions"]] == [True] * 3


# What is to be seen of a page's program once it has run.
CHECKS = {"guide_your_data": check_your_data, "guide_keras": check_keras}
# README's program is run as it is (tests/test_examples.py).
PROGRAMS = sorted({block.page for block in blocks("python")} - {"README"})
# They name the second layer of an encoder.
ABOUT_LAYERS = {"coming_from", "guide_adaptations"}


@pytest.fixture
def eagerly():
    """A page trains for a step or two: a graph of it takes ten times longer than the steps."""
    with without_graphs():
        yield


@pytest.mark.slow
@pytest.mark.parametrize("page", PROGRAMS)
def test_the_programs_of_a_page_run(page, request, tiny_elmo, eagerly, tmp_path, monkeypatch):
    """All blocks in order, in an empty folder; tiny modules play the shipped ones."""
    monkeypatch.chdir(tmp_path)
    bert = request.getfixturevalue("tiny_bert" if page in ABOUT_LAYERS else "shallow_bert")
    tiny = {'"bert_small"': repr(str(bert)), '"elmo_small"': repr(str(tiny_elmo))}
    if page == "guide_start_and_teacher":
        make_run(Path("runs/questions"), bert, "classification")
    found = {"__name__": page}
    for block in blocks("python"):
        if block.page == page:
            code = re.sub('"(bert|elmo)_small"', lambda name: tiny[name[0]], block.code)
            exec(compile(code, f"{page}.md", "exec"), found)
    CHECKS.get(page, lambda _: None)(found)


def test_what_is_not_run_is_known():
    """A block that is not run must be meant: add it to `NOT_RUN` with its reason."""
    found = {page: Counter() for page in PAGES}
    for block in BLOCKS:
        found[block.page].update([block.reason] * (block.reason is not None))
    assert found == {page: NOT_RUN.get(page, {}) for page in PAGES}
    # A mark that stands elsewhere than right above a block would be overlooked.
    written = sum(text.count("<!-- not run") for text in PAGES.values())
    assert written == sum(count for reasons in found.values() for count in reasons.values())


def partial_schema() -> dict:
    """The schema of configs for a part of one: nothing is needed."""
    schema = copy.deepcopy(config_schema())
    for name in ("Run", "Comparison", "TrainingConfig", "ComparisonTraining", "Compare"):
        schema["$defs"][name]["required"] = []
    del schema["$defs"]["Run"]["anyOf"]  # data or tasks
    return schema


def test_the_configs_are_read(tmp_path):
    validator = jsonschema.Draft202012Validator(partial_schema())
    for block in blocks("yaml"):
        content = yaml.safe_load(block.code)
        if content is None:  # a comment for editors
            continue
        error = jsonschema.exceptions.best_match(validator.iter_errors(content))
        assert error is None, f"{block.page}: {error.json_path}: {error.message}\n{block.code}"
        if "compare" in content and "data" in content:
            file = tmp_path / "compare.yaml"
            file.write_text(block.code, "utf-8")
            assert load_comparison(file).cells
        elif {"encoder", "training"} <= content.keys() and content.keys() & {"data", "tasks"}:
            config_from(content, block.page)


def test_the_sections_on_data_are_what_they_say():
    rest = {
        "encoder": {"handle": "bert_small"},
        "adaptation": "tune",
        "training": {"epochs": 1, "batch_size": 8, "learning_rate": 0.001},
    }
    written = [one.code for one in blocks("yaml") if one.page == "guide_your_data"]
    sections = [config_from(yaml.safe_load(block) | rest, "guide").data for block in written]
    found = [getattr(section, "kind", None) or section.dataset for section in sections]
    assert found == ["classification", "tagging", "squad", "dialog", "classification"]


def commands_of(script: str) -> list[list[str]]:
    """The arguments of each `tf-adapt …` in a script."""
    found = []
    for line in script.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="&|;<>")
        lexer.whitespace_split, lexer.commenters = True, "#"
        words: list[str] = []
        for word in [*lexer, ";"]:
            if set(word) <= set("&|;<>"):
                if words and words[0].split("/")[-1] == "tf-adapt":
                    found.append(words[1:])
                words = []
            elif words or not re.fullmatch(r"\w+=.*", word):  # no variable of the environment
                words.append(word)
    return found


def wrong_in(arguments: list[str]) -> str | None:
    """What is wrong with the arguments of `tf-adapt`: a command, an option, or a number of them."""
    command, context = cli, click.Context(cli, info_name="tf-adapt")
    while isinstance(command, click.Group):
        if not arguments or arguments[0].startswith("-"):
            break
        name, *arguments = arguments
        command = command.get_command(context, name)
        if command is None:
            return f"no command {name}"
        context = click.Context(command, parent=context, info_name=name)
    try:
        given, rest, _ = command.make_parser(context).parse_args(list(arguments))
    except click.UsageError as error:
        return error.format_message()
    for parameter in command.params:
        value = given.get(parameter.name)
        if isinstance(parameter.type, click.Choice) and isinstance(value, str):
            try:
                parameter.type.convert(value, parameter, context)
            except click.UsageError as error:
                return error.format_message()
    return f"not expected: {rest}" if rest and not isinstance(command, click.Group) else None


def test_the_commands_and_their_options_exist():
    found = 0
    for block in BLOCKS:
        for arguments in commands_of(block.code) if block.language in ("bash", "sh") else ():
            found += 1
            problem = wrong_in(arguments)
            assert problem is None, f"{block.page}: tf-adapt {' '.join(arguments)}: {problem}"
    assert found >= 3


def test_a_wrong_command_is_found():
    for line in [
        "tf-adapt trian c.yaml --out r",
        "tf-adapt train c.yaml --outt r",
        "A=1 .venv/bin/tf-adapt train c.yaml --out",
        "cd x && tf-adapt module convert --from nowhere SOURCE --out r  # why",
        "tf-adapt evaluate a b --data c",
    ]:
        (arguments,) = commands_of(line)
        assert wrong_in(arguments) is not None


def test_the_shell_completes_commands(tmp_path):
    """What the shell's script asks of the program, with the script that the guide evaluates."""
    program = tmp_path / "tf-adapt"
    program.write_text(f"#!{sys.executable}\nfrom tf_adapt.commands.main import run\nrun()\n")
    program.chmod(0o755)
    line = next(line for line in "".join(PAGES.values()).splitlines() if "bash_source" in line)
    ask = "COMP_WORDS=(tf-adapt tr); COMP_CWORD=1; _tf_adapt_completion tf-adapt tr tf-adapt"
    script = f"{line}\n{ask}\necho ${{COMPREPLY[@]}}"
    found = subprocess.run(
        ["bash", "-c", script],
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "train", found.stderr
