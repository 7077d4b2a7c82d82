"""Inputs that a signature does not expect: an error that says so, never a crash (S5).

The exports and modules are asked in a process that knows TensorFlow alone, so that a crash there
is one failed test here.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from hub_modules.export import native_encoder, write_module
from hub_modules.programs.signature_checks import check_text
from hub_modules.sources import ModuleSource
from tf_adapt.serving.exports.shared_export import ServedTask, export_shared

pytestmark = pytest.mark.slow

# Prints one line for each request, at once: what was asked before a crash stays known.
STRANGER = """
import ast, json, sys
import tensorflow as tf
import tensorflow_text
loaded = {}
for folder, name, inputs in ast.literal_eval(sys.stdin.read()):
    if folder not in loaded:
        loaded[folder] = tf.saved_model.load(folder).signatures
    signature = loaded[folder][name]
    specs = signature.structured_input_signature[1]
    try:
        given = {key: tf.constant(value, specs[key].dtype) for key, value in inputs.items()}
        answer = {key: list(value.shape) for key, value in signature(**given).items()}
    except tf.errors.InvalidArgumentError as error:
        answer = " ".join(str(error).split())
    print(json.dumps(answer), flush=True)
"""
TASKS = {
    "one": (ta.Task("classification", labels=["bad", "good"]), "linear"),
    "pair": (ta.Task("pair_classification", labels=["no", "yes"]), "linear"),
    "tags": (ta.Task("tagging", labels=["O", "B-PER", "I-PER"]), "linear_tagger"),
}
ELMO = {
    "filters": [[1, 4], [2, 8]],
    "character_width": 4,
    "num_highway": 1,
    "projection_width": 8,
    "lstm_width": 16,
    "num_layers": 1,
}
IDS = ("input_word_ids", "input_mask", "input_type_ids")
# What is asked → the signature, the inputs, and the shapes of the answer or what the error says.
CASES = {
    "text, batch of one": ("one", {"text": ["a"]}, {"label": [1], "scores": [1, 2]}),
    "text, empty batch": ("one", {"text": []}, {"label": [0], "scores": [0, 2]}),
    "text, scalar": ("one", {"text": "a"}, "text: expected rank 1, [batch] string, got rank 0"),
    "text, rank 2": ("one", {"text": [["a", "b"]]}, "[batch] string, got rank 2"),
    "text, not UTF-8": (
        *("one", {"text": ["a", b"b\xff"]}),
        "text: expected UTF-8 without NUL, got other bytes at [[1]]",
    ),
    "text, half a surrogate pair": ("one", {"text": [b"\xed\xa0\x80"]}, "text: expected UTF-8"),
    "text, NUL": ("one", {"text": ["a\0b"]}, "text: expected UTF-8 without NUL"),
    "text, any other character": (
        *("one", {"text": ["\x01\ufffe\ufeff\U0010ffff\ue000\ud7ff\x80"]}),
        {"label": [1], "scores": [1, 2]},
    ),
    "pair, empty batch": ("pair", {"text_a": [], "text_b": []}, {"label": [0], "scores": [0, 2]}),
    "pair, one scalar": (
        *("pair", {"text_a": ["a"], "text_b": "b"}),
        "text_b: expected rank 1, [batch] string, got rank 0",
    ),
    "pair, unequal": (
        *("pair", {"text_a": ["a"], "text_b": ["b", "c"]}),
        "text_b: expected 1 rows, as many as text_a has, got 2",
    ),
    "pair, not UTF-8": ("pair", {"text_a": ["a"], "text_b": [b"\xc3"]}, "text_b: expected UTF-8"),
    "tokens, batch of one": (
        "tags",
        {"tokens": [["a"]]},
        {"tags": [1, 1], "scores": [1, 1, 3]},
    ),
    "tokens, empty batch": ("tags", {"tokens": [[]]}, {"tags": [1, 0], "scores": [1, 0, 3]}),
    "tokens, scalar": ("tags", {"tokens": "a"}, "[batch, words] string, got rank 0"),
    "tokens, rank 1": ("tags", {"tokens": ["a"]}, "[batch, words] string, got rank 1"),
    "tokens, rank 3": ("tags", {"tokens": [[["a"]]]}, "[batch, words] string, got rank 3"),
    "tokens, not UTF-8": (
        *("tags", {"tokens": [["a", "b"], [b"a\xff", ""]]}),
        "tokens: expected UTF-8 without NUL, got other bytes at [[1 0]]",
    ),
    "elmo, scalar": ("elmo/default", {"text": "a"}, "text: expected rank 1, [batch] string"),
    "elmo, rank 2": ("elmo/serving_default", {"text": [["a"]]}, "[batch] string, got rank 2"),
    "elmo, scalar tokens": (
        *("elmo/tokens", {"tokens": "a", "sequence_len": 1}),
        "tokens: expected rank 2, [batch, time] string, got rank 0",
    ),
    "elmo, too few lengths": (
        *("elmo/tokens", {"tokens": [["a"], ["b"]], "sequence_len": [1]}),
        "sequence_len: expected 2 rows, as many as tokens has, got 1",
    ),
    "bert, scalar": (
        *("bert/serving_default", dict.fromkeys(IDS, 1)),
        "input_word_ids: expected rank 2, [batch, time] int32, got rank 0",
    ),
    "bert, rank 3": (
        "bert/serving_default",
        dict.fromkeys(IDS, [[[1]]]),
        "[batch, time] int32, got rank 3",
    ),
}


@pytest.fixture(scope="module")
def exported(shallow_bert, tmp_path_factory) -> Path:
    """An export of one signature for each kind of input."""
    encoder = ta.HubEncoder(shallow_bert, trainable=False)
    tasks = {
        name: ServedTask(ta.build_model(task, encoder, head))
        for name, (task, head) in TASKS.items()
    }
    return export_shared(tasks, tmp_path_factory.mktemp("served") / "tasks")


def test_s5_inputs_of_a_signature(exported, tiny_program, tmp_path):
    encoder = native_encoder("elmo", ELMO)
    weights = {name: weight.numpy() for name, weight in encoder.weights_by_name().items()}
    write_module(ModuleSource("elmo", ELMO, weights, None, None), tmp_path / "elmo")
    modules = {"elmo": tmp_path / "elmo" / "encoder", "bert": tiny_program / "encoder"}
    requests = []
    for where, inputs, _ in CASES.values():
        module, _, signature = where.rpartition("/")
        requests.append((str(modules.get(module, exported)), signature, inputs))
    done = subprocess.run(
        [sys.executable, "-I", "-c", STRANGER],
        input=repr(requests),
        capture_output=True,
        text=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    found = dict(zip(CASES, answers, strict=False))
    for case, (*_, expected) in CASES.items():
        assert case in found, f"{case}, exit code {done.returncode}: {done.stderr[-2000:]}"
        if isinstance(expected, str):
            assert expected in found[case], case
        else:
            assert found[case] == expected, case
    assert done.returncode == 0


def test_s5_the_published_shapes_are_those_of_the_documentation(exported):
    signatures = tf.saved_model.load(str(exported)).signatures
    shapes = {
        name: {key: spec.shape.as_list() for key, spec in one.structured_input_signature[1].items()}
        for name, one in signatures.items()
    }
    pair = {"text_a": [None], "text_b": [None]}
    assert shapes == {"one": {"text": [None]}, "pair": pair, "tags": {"tokens": [None, None]}}


def test_s5_text_is_what_python_calls_text():
    bytes_of_interest = [0x00, 0x41, 0x7F, 0x80, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xDF]
    bytes_of_interest += [0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF4, 0xF5, 0xFF]
    random = np.random.default_rng(0)
    checked = tf.function(check_text)
    verdicts = set()
    for length in random.integers(0, 5, 400):
        candidate = bytes(random.choice(bytes_of_interest, length).astype(np.uint8))
        try:
            legal = "\0" not in candidate.decode("utf-8")
        except UnicodeDecodeError:
            legal = False
        try:
            checked("text", tf.constant([candidate]))
            found = True
        except tf.errors.InvalidArgumentError:
            found = False
        assert found == legal, candidate
        verdicts.add(legal)
    assert verdicts == {True, False}
