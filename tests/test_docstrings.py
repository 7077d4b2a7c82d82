"""The examples of docstrings, which the site shows, run; small modules play the shipped ones."""

import ast
from doctest import DocTestParser
from pathlib import Path

import keras
import pytest
from eager import without_graphs

import tf_adapt as ta

ROOT = Path(__file__).parent.parent


def examples() -> dict[str, list]:
    """The prompts of each docstring that has some, with what they print, by name."""
    found = {}
    for path in sorted((ROOT / "tf_adapt").rglob("*.py")):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if ">>> " in text else ():
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                lines = DocTestParser().get_examples(ast.get_docstring(node) or "")
                found |= {node.name: lines} if lines else {}
    return found


EXAMPLES = examples()


@pytest.fixture
def given(shallow_bert, shallow_causal) -> dict:
    """What the examples take as known."""
    questions = ta.Task("classification", labels=["no", "yes"])
    names = ta.Task("tagging", labels=["O", "B-PER", "I-PER"])
    return {
        "ta": ta,
        "keras": keras,
        "AuxiliaryLoss": ta.AuxiliaryLoss,
        "build_language_model": ta.build_language_model,
        "language_model_objective": ta.language_model_objective,
        "encoder": ta.HubEncoder(str(shallow_causal), trainable=True),
        "task": questions,
        "questions": questions,
        "names": names,
        "train": {
            "questions": (["who ?", "what ?"], ["no", "yes"]),
            "names": ([["Ann", "ran"], ["No"]], [["B-PER", "O"], ["O"]]),
        },
        "modules": {
            "bert_small": shallow_bert,
            "lm_small": shallow_causal,
            "modules/masked_bert": shallow_causal,
        },
    }


@pytest.fixture
def eagerly():
    """An example trains for a step: a graph of it takes ten times longer than the step."""
    with without_graphs():
        yield


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs(name, given, eagerly):
    for example in EXAMPLES[name]:
        source = example.source
        for handle, module in given["modules"].items():
            source = source.replace(f'"{handle}"', repr(str(module)))
        if example.want:
            assert f"{eval(source, given)!r}\n" == example.want
        else:
            exec(source, given)


def test_the_examples_are_found():
    assert {"HubEncoder", "Generator", "build_model", "dawid_skene"} <= EXAMPLES.keys()
