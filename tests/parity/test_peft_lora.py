"""LoRA against PEFT: hidden states apart and merged, merged kernels, gradients of A and B."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from hub_modules.native.added.lora import merged
from hub_modules.native.added.settings import Lora
from hub_modules.native.bert import BertEncoder
from hub_modules.sources.huggingface import table_rows
from hub_modules.sources.layouts.names import to_ours

FOLDER = Path(__file__).parent / "recorded" / "peft"
CONFIG = {
    "vocabulary_size": 20,
    "width": 8,
    "num_layers": 2,
    "num_heads": 2,
    "intermediate_width": 12,
    "max_positions": 10,
    "type_vocabulary_size": 2,
}
INPUTS = {
    "input_word_ids": "input_ids",
    "input_mask": "attention_mask",
    "input_type_ids": "token_type_ids",
}
CASES = ("query_value", "all")


@pytest.fixture(scope="module")
def recorded():
    with np.load(FOLDER / "lora.npz", allow_pickle=False) as arrays:
        return dict(arrays)


def part(recorded, prefix: str) -> dict[str, np.ndarray]:
    """The arrays of a prefix, by the rest of their names."""
    return {n.removeprefix(prefix): a for n, a in recorded.items() if n.startswith(prefix)}


def inputs(recorded) -> dict[str, np.ndarray]:
    given = part(recorded, "inputs:")
    return {ours: given[theirs].astype("int32") for ours, theirs in INPUTS.items()}


def encoder_of(recorded, case: str) -> BertEncoder:
    places = [place.split(":") for place in part(recorded, f"{case}:a:")]
    targets = dict.fromkeys(target for _, target in places)
    lora = Lora(int(recorded[f"{case}:rank"]), float(recorded[f"{case}:alpha"]), tuple(targets))
    encoder = BertEncoder(**CONFIG)
    encoder.build()
    encoder.add(lora)
    encoder.load_weights_by_name(
        to_ours(table_rows(CONFIG), part(recorded, "weights:").get, "peft")
    )
    for name, weight in matrices(encoder, recorded, case).items():
        weight.assign(recorded[f"{case}:{name}"].T)
    return encoder


def matrices(encoder, recorded, case: str) -> dict:
    """Our A and B by PEFT's names of theirs."""
    named = encoder.weights_by_name()
    return {
        f"{letter}:{place}": named["layer_{}_{}_lora/{}".format(*place.split(":"), letter)]
        for letter in "ab"
        for place in part(recorded, f"{case}:{letter}:")
    }


@pytest.mark.parametrize("case", CASES)
def test_states_apart_and_merged(recorded, case, compare):
    encoder = encoder_of(recorded, case)
    packed = inputs(recorded)
    real = packed["input_mask"] == 1
    apart = encoder(packed)["layers"]
    with merged(encoder):
        together = encoder(packed)["layers"]
        kernels = {name: weight.numpy() for name, weight in encoder.weights_by_name().items()}
    for number in range(3):
        for what, layers, key in (("", apart, "hidden"), ("merged ", together, "merged_hidden")):
            expected = recorded[f"{case}:{key}:{number}"]
            got = np.asarray(layers[number])[real]
            compare(f"LoRA {case}, {what}layer {number}", got, expected[real], 1e-5)
    theirs = part(recorded, f"{case}:merged:")
    rows = [row for row in table_rows(CONFIG) if row.foreign in theirs]
    assert len(rows) == len(theirs) > 0
    for name, array in to_ours(rows, theirs.get, "peft").items():
        compare(f"LoRA {case}, {name}", kernels[name], array, 1e-6)


@pytest.mark.parametrize("case", CASES)
def test_gradients_of_a_and_b(recorded, case, compare):
    encoder = encoder_of(recorded, case)
    packed = inputs(recorded)
    weights = matrices(encoder, recorded, case)
    with tf.GradientTape() as tape:
        top = encoder(packed)["layers"][-1]
        loss = tf.reduce_mean(tf.boolean_mask(top, packed["input_mask"] == 1) ** 2)
    found = tape.gradient(loss, {name: weight.value for name, weight in weights.items()})
    for name, gradient in found.items():
        expected = recorded[f"{case}:of_{name}"].T
        assert np.abs(expected).max() > 1e-4
        compare(f"LoRA {case}, gradient of {name}", gradient, expected, 1e-5)


@pytest.mark.oracle
def test_what_is_recorded_is_what_peft_computes(recorded, tmp_path):
    python = os.environ.get("TF_ADAPT_ORACLES_PYTHON")
    if not python:
        pytest.skip("TF_ADAPT_ORACLES_PYTHON does not name an interpreter with peft")
    command = [python, str(FOLDER / "record.py"), tmp_path / "lora.npz"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    with np.load(tmp_path / "lora.npz", allow_pickle=False) as again:
        assert set(again.files) == set(recorded)
        for name in again.files:
            np.testing.assert_allclose(again[name], recorded[name], atol=1e-5, err_msg=name)
