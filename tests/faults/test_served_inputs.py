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
from hub_modules.sources import ModuleSource

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
TAGS = ["O", "B-PER", "I-PER"]
KINDS = {
    "classification": {"labels": ["bad", "good"]},
    "pair_classification": {"labels": ["no", "yes"]},
    "tagging": {"labels": TAGS},
}
ELMO = {
    "filters": [[1, 4], [2, 8]],
    "character_width": 4,
    "num_highway": 1,
    "projection_width": 8,
    "lstm_width": 16,
    "num_layers": 1,
}
BERT = {
    "vocabulary_size": 7,
    "width": 8,
    "num_layers": 1,
    "num_heads": 2,
    "intermediate_width": 8,
    "max_positions": 6,
}


def write_small_module(family: str, config: dict, folder: Path) -> Path:
    encoder = native_encoder(family, config)
    weights = {name: weight.numpy() for name, weight in encoder.weights_by_name().items()}
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"] if family == "bert" else None
    write_module(ModuleSource(family, config, weights, pieces, family == "bert" or None), folder)
    return folder / "encoder"


BAD, PAIR, TAGGED = "classification", "pair_classification", "tagging"
IDS = ("input_word_ids", "input_mask", "input_type_ids")
# What is asked → the signature, the inputs, and the shapes of the answer or what the error says.
CASES = {
    "text, batch of one": (BAD, "", {"text": ["a"]}, {"label": [1], "scores": [1, 2]}),
    "text, empty batch": (BAD, "", {"text": []}, {"label": [0], "scores": [0, 2]}),
    "text, scalar": (BAD, "", {"text": "a"}, "text: expected rank 1, [batch] string, got rank 0"),
    "text, rank 2": (BAD, "", {"text": [["a", "b"]]}, "[batch] string, got rank 2"),
    "text, not UTF-8": (
        *(BAD, "", {"text": ["a", b"b\xff"]}),
        "text: expected UTF-8 without NUL, got other bytes at [[1]]",
    ),
    "text, half a surrogate pair": (BAD, "", {"text": [b"\xed\xa0\x80"]}, "text: expected UTF-8"),
    "text, NUL": (BAD, "", {"text": ["a\0b"]}, "text: expected UTF-8 without NUL"),
    "text, any other character": (
        *(BAD, "", {"text": ["\x01\ufffe\ufeff\U0010ffff\ue000\ud7ff\x80"]}),
        {"label": [1], "scores": [1, 2]},
    ),
    "pair, empty batch": (PAIR, "", {"text_a": [], "text_b": []}, {"label": [0], "scores": [0, 2]}),
    "pair, one scalar": (
        *(PAIR, "", {"text_a": ["a"], "text_b": "b"}),
        "text_b: expected rank 1, [batch] string, got rank 0",
    ),
    "pair, unequal": (
        *(PAIR, "", {"text_a": ["a"], "text_b": ["b", "c"]}),
        "text_b: expected 1 rows, as many as text_a has, got 2",
    ),
    "pair, not UTF-8": (PAIR, "", {"text_a": ["a"], "text_b": [b"\xc3"]}, "text_b: expected UTF-8"),
    "tokens, batch of one": (
        TAGGED,
        "",
        {"tokens": [["a"]]},
        {"tags": [1, 1], "scores": [1, 1, 3]},
    ),
    "tokens, empty batch": (TAGGED, "", {"tokens": [[]]}, {"tags": [1, 0], "scores": [1, 0, 3]}),
    "tokens, scalar": (TAGGED, "", {"tokens": "a"}, "[batch, words] string, got rank 0"),
    "tokens, rank 1": (TAGGED, "", {"tokens": ["a"]}, "[batch, words] string, got rank 1"),
    "tokens, rank 3": (TAGGED, "", {"tokens": [[["a"]]]}, "[batch, words] string, got rank 3"),
    "tokens, not UTF-8": (
        *(TAGGED, "", {"tokens": [["a", "b"], [b"a\xff", ""]]}),
        "tokens: expected UTF-8 without NUL, got other bytes at [[1 0]]",
    ),
    "elmo, scalar": ("elmo", "default", {"text": "a"}, "text: expected rank 1, [batch] string"),
    "elmo, rank 2": ("elmo", "", {"text": [["a"]]}, "[batch] string, got rank 2"),
    "elmo, scalar tokens": (
        *("elmo", "tokens", {"tokens": "a", "sequence_len": 1}),
        "tokens: expected rank 2, [batch, time] string, got rank 0",
    ),
    "elmo, too few lengths": (
        *("elmo", "tokens", {"tokens": [["a"], ["b"]], "sequence_len": [1]}),
        "sequence_len: expected 2 rows, as many as tokens has, got 1",
    ),
    "bert, scalar": (
        *("bert", "", dict.fromkeys(IDS, 1)),
        "input_word_ids: expected rank 2, [batch, time] int32, got rank 0",
    ),
    "bert, rank 3": ("bert", "", dict.fromkeys(IDS, [[[1]]]), "[batch, time] int32, got rank 3"),
}


@pytest.fixture(scope="module")
def answers(tiny_bert, tmp_path_factory) -> dict:
    folder = tmp_path_factory.mktemp("served")
    encoder = ta.HubEncoder(tiny_bert, trainable=False)
    folders = {
        kind: ta.export(
            ta.build_model(
                ta.Task(kind, **settings),
                encoder,
                "linear_tagger" if kind == "tagging" else "linear",
            ),
            folder / kind,
        )
        for kind, settings in KINDS.items()
    }
    folders["elmo"] = write_small_module("elmo", ELMO, folder / "elmo")
    folders["bert"] = write_small_module("bert", BERT, folder / "bert")
    requests = [
        (str(folders[where]), name or "serving_default", inputs)
        for where, name, inputs, _ in CASES.values()
    ]
    done = subprocess.run(
        [sys.executable, "-I", "-c", STRANGER],
        input=repr(requests),
        capture_output=True,
        text=True,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return dict(zip(CASES, lines, strict=False)) | {"exit code": done.returncode, "": done.stderr}


@pytest.mark.parametrize("case", CASES)
def test_s5_inputs_of_a_signature(answers, case):
    expected = CASES[case][-1]
    assert case in answers, f"exit code {answers['exit code']}: {answers[''][-2000:]}"
    if isinstance(expected, str):
        assert expected in answers[case]
    else:
        assert answers[case] == expected


def test_s5_the_process_lives(answers):
    assert answers["exit code"] == 0


def test_s5_the_published_shapes_are_those_of_the_documentation(tiny_bert, tmp_path):
    encoder = ta.HubEncoder(tiny_bert, trainable=False)
    model = ta.build_model(ta.Task("classification", labels=["a", "b"]), encoder, "linear")
    folder = ta.export(model, tmp_path / "1")
    signature = tf.saved_model.load(str(folder)).signatures["serving_default"]
    assert signature.structured_input_signature[1]["text"].shape.as_list() == [None]


def test_s5_text_is_what_python_calls_text():
    from hub_modules.programs.signature_checks import check_text

    bytes_of_interest = [0x00, 0x41, 0x7F, 0x80, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xDF]
    bytes_of_interest += [0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF4, 0xF5, 0xFF]
    random = np.random.default_rng(0)
    checked = tf.function(check_text)
    verdicts = set()
    for length in random.integers(0, 5, 2000):
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
