"""Decoding against transformers (recorded) and keras-hub's `CausalLM.generate` and samplers.

`recorded/huggingface_gpt2/generated.json`: `random_cases(1, 401, 20)` and what
`tests/children/transformers_generation.py` (transformers 5.23) returned for them.
"""

import json
from pathlib import Path

import keras_hub
import numpy as np
import pytest
import tensorflow as tf
from generation_cases import continued, up_to_the_end
from huggingface_folders import keras_hub_is_new
from scipy import stats

from hub_modules.native.causal import CausalEncoder
from hub_modules.sources import huggingface, keras_nlp
from tf_adapt.generation.decoding import Decoding
from tf_adapt.generation.generator import TokenGenerator
from tf_adapt.generation.sampling import next_tokens

RECORDED = Path(__file__).parent / "recorded"

if not keras_hub_is_new():
    pytest.skip("needs keras-hub 0.32", allow_module_level=True)


def generator(source) -> TokenGenerator:
    encoder = CausalEncoder(**source.config)
    encoder.build()
    encoder.load_weights_by_name(source.weights)
    return TokenGenerator(encoder)


def test_greedy_and_beam_search_as_transformers():
    folder = RECORDED / "huggingface_gpt2"
    recorded = json.loads((folder / "generated.json").read_text("utf-8"))
    tokens = generator(huggingface.read(folder / "model"))
    for case, expected in zip(recorded["cases"], recorded["continuations"], strict=True):
        found = up_to_the_end(continued(tokens, case), case["ends"])
        assert found == up_to_the_end(expected, case["ends"]), case


def test_greedy_as_keras_hub_on_the_same_weights():
    preset = RECORDED / "keras_hub_gpt2" / "preset"
    backbone = keras_hub.models.GPT2Backbone.from_preset(str(preset))
    theirs = keras_hub.models.GPT2CausalLM(backbone, preprocessor=None)
    theirs.compile(sampler="greedy")
    tokens, new = generator(keras_nlp.read(preset)), 8
    random = np.random.default_rng(2)
    ids = random.integers(0, backbone.vocabulary_size, (3, 6)).astype("int32")
    mask = (np.arange(6) < np.array([[6], [4], [1]])).astype("int32")
    ids *= mask
    room = np.zeros((3, new), "int32")
    given = {
        "token_ids": np.concatenate([ids, room], axis=1),
        "padding_mask": np.concatenate([mask, room], axis=1),
    }
    expected = theirs.generate(given, stop_token_ids=None)["token_ids"]
    inputs = {"input_word_ids": tf.constant(ids), "input_mask": tf.constant(mask)}
    no_end = backbone.vocabulary_size
    found = tokens(inputs, [no_end], Decoding(new)).numpy()
    for row, length in enumerate(mask.sum(axis=1)):
        assert found[row].tolist() == expected[row, length : length + new].tolist()


@pytest.mark.parametrize(
    ("sampler", "top_k", "top_p"),
    [
        (keras_hub.samplers.RandomSampler(seed=1), 0, 1.0),
        (keras_hub.samplers.TopKSampler(k=5, seed=2), 5, 1.0),
        (keras_hub.samplers.TopPSampler(p=0.7, seed=3), 0, 0.7),
    ],
)
def test_draws_are_distributed_as_those_of_keras_hub(sampler, top_k, top_p):
    """Ours exactly, by equally spaced numbers; theirs counted."""
    logits = np.random.default_rng(4).normal(size=(1, 12), scale=1.5).astype("float32")
    temperature, count = 0.8, 20_000
    drawn = (np.arange(count, dtype="float32") + 0.5) / count
    ours = next_tokens(np.repeat(logits, count, 0), temperature, top_k, top_p, drawn)
    expected = np.bincount(ours, minlength=12)
    sampler.temperature = temperature
    probabilities = sampler.compute_probabilities(np.repeat(logits, count, 0))
    theirs = np.bincount(np.ravel(sampler.get_next_token(probabilities)), minlength=12)
    possible = expected > 0
    assert theirs[~possible].sum() == 0
    assert 1 < possible.sum() <= (top_k or 12)
    assert stats.chisquare(theirs[possible], expected[possible]).pvalue > 0.01
