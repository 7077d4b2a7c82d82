"""The loss of an encoder's source task against NumPy and a language model's evaluation."""

import math

import numpy as np
import pytest
import tensorflow as tf
from language_models import log_softmax, numpy_states, tiny_elmo_module, with_output_layer

import tf_adapt as ta
from hub_modules.load import load_output_layer
from tf_adapt.data.packing.prepare import prepare
from tf_adapt.models.language_losses import EVALUATION_SEED, MASKED_SHARE
from tf_adapt.models.language_model import build_language_model
from tf_adapt.models.signals.piece_masking import mask_pieces
from tf_adapt.models.source_task import source_loss
from tf_adapt.tasks.task import Task

TEXTS = ["who is the cat ?", "a b c d e f g h the what is", "what is of the time", "e f g a"]


@pytest.fixture(scope="module")
def folder(shallow_bert, tmp_path_factory):
    folder = tmp_path_factory.mktemp("modules")
    with_output_layer(shallow_bert, folder / "bert")
    tiny_elmo_module(folder / "elmo")
    return folder


def prepared(encoder):
    return prepare(TEXTS * 3, Task("language_model"), encoder)


def evaluated(encoder):
    """The mean loss by the evaluation of a language model, as it was before."""
    model = build_language_model(Task("language_model"), encoder)
    model.compile(loss=model.task.loss, metrics=model.task.metrics)
    texts = ta.batches(TEXTS * 3, model.task, encoder, batch_size=5, shuffle=False)
    return math.log(model.evaluate(texts, return_dict=True, verbose=0)["perplexity"])


@pytest.mark.slow
@pytest.mark.parametrize("module", ["bert", "elmo"])
def test_the_loss_is_that_of_a_language_models_evaluation(folder, module):
    encoder = ta.HubEncoder(str(folder / module))
    found, targets = source_loss(encoder, prepared(encoder))
    assert found == pytest.approx(evaluated(encoder), rel=1e-6)
    # ELMo predicts two words at each; BERT a part of the pieces.
    words = 3 * sum(len(text.split()) for text in TEXTS)
    assert targets == 2 * words if module == "elmo" else 0 < targets < words


def test_the_masked_loss_against_numpy(folder):
    encoder = ta.HubEncoder(str(folder / "bert"))
    inputs = encoder.preprocessor(tf.constant(TEXTS), 40)
    ids, hidden = mask_pieces(
        inputs["input_word_ids"],
        inputs["input_mask"],
        encoder.preprocessor.special_token_ids,
        MASKED_SHARE,
        EVALUATION_SEED,
    )
    states = encoder(inputs | {"input_word_ids": ids})["layers"][-1].numpy().astype("float64")

    class Objective:
        output_layer, _ = load_output_layer(encoder.handle, encoder.native)

    normed, bias = numpy_states(Objective, states)
    table = encoder.native.embeddings.word_embeddings.numpy().astype("float64")
    logs = log_softmax(normed @ table.T + bias)
    expected = [
        -logs[row, place, inputs["input_word_ids"][row, place]]
        for row, place in np.argwhere(hidden.numpy())
    ]
    found = source_loss(encoder, prepare(TEXTS, Task("language_model"), encoder))
    assert found == (pytest.approx(np.mean(expected), abs=1e-5), len(expected))


@pytest.mark.parametrize("token", [False, True])
def test_the_loss_of_the_next_piece_against_numpy(shallow_causal, token):
    encoder = ta.HubEncoder(str(shallow_causal), classification_token=token)
    inputs = encoder.preprocessor(tf.constant(TEXTS), encoder.max_length)
    states = encoder(inputs)["layers"][-1].numpy().astype("float64")
    table = encoder.native.embeddings.word_embeddings.numpy().astype("float64")
    logs, ids = log_softmax(states @ table.T), inputs["input_word_ids"].numpy()
    lengths = inputs["input_mask"].numpy().sum(1) - token  # a new token is no target
    expected = [
        -logs[row, place - 1, ids[row, place]]
        for row, length in enumerate(lengths)
        for place in range(1, length)
    ]
    found = source_loss(encoder, prepare(TEXTS, Task("language_model"), encoder))
    assert found == (pytest.approx(np.mean(expected), abs=1e-5), len(expected))
