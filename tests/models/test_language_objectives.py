"""Both language-model objectives against NumPy in float64, on tiny encoders."""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf
from language_models import (
    SPECIAL,
    Hub,
    bert,
    bert_inputs,
    elmo,
    elmo_inputs,
    log_softmax,
    numpy_states,
)

import tf_adapt as ta
from hub_modules.export import native_encoder
from hub_modules.native.output_layers import MaskedLanguageModelHead
from hub_modules.output_files import new_output_layer
from hub_modules.preprocess import BertPreprocessor
from hub_modules.sources import bilm_tf, huggingface
from tf_adapt.errors import ConfigError
from tf_adapt.models import language_losses as language_modeling
from tf_adapt.models.language_losses import EVALUATION_SEED, BiLanguageModel, MaskedLanguageModel
from tf_adapt.models.language_objectives import language_model_objective
from tf_adapt.models.signals.piece_masking import mask_pieces
from tf_adapt.tasks.losses import LanguageModelLoss
from tf_adapt.tasks.metrics import Perplexity


def masked_by_hand(hub, objective):
    """Hidden places, their pieces, normalised states there, and the table."""
    inputs = bert_inputs()
    ids, hidden = mask_pieces(
        inputs["input_word_ids"], inputs["input_mask"], SPECIAL, objective.masked, EVALUATION_SEED
    )
    encoded = hub(inputs | {"input_word_ids": ids}, training=False)
    states, bias = numpy_states(objective, encoded["layers"][-1].numpy().astype("float64"))
    table = hub.native.embeddings.word_embeddings.numpy().astype("float64")
    hidden = hidden.numpy()
    return hidden, inputs["input_word_ids"].numpy()[hidden], states[hidden], table, bias


def test_masked_losses_against_numpy():
    hub, objective = bert()
    hidden, pieces, states, table, bias = masked_by_hand(hub, objective)
    assert 2 < hidden.sum() < 8 and not hidden[2:].any()
    expected = np.full(hidden.shape, -1.0)
    expected[hidden] = -log_softmax(states @ table.T + bias)[np.arange(len(pieces)), pieces]
    got = objective(bert_inputs(), encoder=hub, training=False).numpy()
    np.testing.assert_allclose(got, expected, atol=1e-5)
    mean = expected[hidden].mean()
    assert float(LanguageModelLoss()(None, got)) == pytest.approx(mean, abs=1e-5)
    perplexity = Perplexity()
    perplexity.update_state(None, got[:1])
    perplexity.update_state(None, got[1:])
    assert float(perplexity.result()) == pytest.approx(math.exp(mean), rel=1e-5)


def test_the_tied_table_learns_from_both_uses(monkeypatch):
    hub, objective = bert()
    hidden, pieces, states, table, bias = masked_by_hand(hub, objective)
    probabilities = np.exp(log_softmax(states @ table.T + bias))
    # d mean(−log p) / d E through the output: Σ (p − target) hᵀ / n.
    from_output = (probabilities - np.eye(20)[pieces]).T @ states / len(pieces)

    def gradient():
        variable = hub.native.embeddings.word_embeddings.value
        with tf.GradientTape() as tape:
            losses = objective(bert_inputs(), encoder=hub, training=False)
            loss = LanguageModelLoss()(None, losses)
        return np.asarray(tf.convert_to_tensor(tape.gradient(loss, variable)))

    both = gradient()
    plain = language_modeling.word_embeddings
    monkeypatch.setattr(
        language_modeling, "word_embeddings", lambda encoder: tf.stop_gradient(plain(encoder))
    )
    from_input = gradient()
    assert np.abs(from_input).max() > 1e-3 and np.abs(from_output).max() > 1e-3
    np.testing.assert_allclose(both, from_input + from_output, atol=1e-5)


def test_nothing_hidden_is_a_loss_of_zero():
    hub, objective = bert(masked=1e-9)
    variables = [weight.value for weight in (*hub.native.weights, *objective.trainable_weights)]
    with tf.GradientTape() as tape:
        losses = objective(bert_inputs(), encoder=hub, training=True)
        loss = LanguageModelLoss()(None, losses)
    assert (losses.numpy() == -1).all() and float(loss) == 0
    for gradient in tape.gradient(loss, variables):
        assert gradient is None or not np.any(tf.convert_to_tensor(gradient))


def test_both_directions_against_numpy():
    hub, objective = elmo()
    states = hub(elmo_inputs(), training=False)["layers"][-1].numpy().astype("float64")
    kernel, bias = (w.numpy().astype("float64") for w in objective.output_layer.weights)
    log_p = log_softmax(states.reshape(3, 3, 2, 6) @ kernel.T + bias)
    # By hand: ids of the words are 11, unknown 2, 13; 3. Forward to the next, backward to the
    # previous word, </S> = 1 after the last, <S> = 0 before the first.
    targets = {(0, 0): (2, 0), (0, 1): (13, 11), (0, 2): (1, 2), (1, 0): (1, 0)}
    expected = np.full((3, 3, 2), -1.0)
    for (row, place), words in targets.items():
        for direction, word in enumerate(words):
            expected[row, place, direction] = -log_p[row, place, direction, word]
    for encoded in (None, hub(elmo_inputs())):
        got = objective(elmo_inputs(), encoder=hub, encoded=encoded, training=False)
        np.testing.assert_allclose(got, expected, atol=1e-5)
    # As many samples as words or more: the softmax is whole in training too.
    got = objective(elmo_inputs(), encoder=hub, training=True)
    np.testing.assert_allclose(got, expected, atol=1e-5)
    loss = LanguageModelLoss()(None, got)
    forward, backward = (expected[..., d][expected[..., d] >= 0].mean() for d in range(2))
    assert float(loss) == pytest.approx((forward + backward) / 2, abs=1e-5)


@pytest.mark.parametrize(
    "make", [lambda: (*bert(), bert_inputs()), lambda: (*elmo(5), elmo_inputs())]
)
def test_what_is_drawn_goes_on_where_it_stopped(make):
    hub, objective, inputs = make()

    def step():
        return objective(inputs, encoder=hub, training=True)

    first, state = step().numpy(), objective.seeds.state.numpy()
    second, third = step().numpy(), step().numpy()
    assert np.any(first != second) and np.any(second != third)
    _, fresh, _ = make()
    fresh.seeds.state.assign(state)
    np.testing.assert_array_equal(fresh(inputs, encoder=hub, training=True), second)
    assert any(variable is objective.seeds.state for variable in objective.variables)
    # Evaluation draws nothing.
    objective(inputs, encoder=hub, training=False)
    np.testing.assert_array_equal(fresh(inputs, encoder=hub, training=True), third)


@pytest.mark.parametrize("make", [lambda: bert()[1], lambda: elmo()[1]])
def test_a_copy_from_the_config(make):
    objective = make()
    copy = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(objective))
    assert copy.get_config() == objective.get_config()
    assert [w.shape for w in copy.weights] == [w.shape for w in objective.weights]


def test_a_vocabulary_without_mask():
    output = MaskedLanguageModelHead(8, 20)
    with pytest.raises(ConfigError, match=r"expected \[MASK\] in the vocabulary"):
        MaskedLanguageModel(output, {k: v for k, v in SPECIAL.items() if k != "mask_id"})


def wikitext(shared, count):
    """Short sentences of other text than the shipped models were trained on, without its <unk>."""
    lines = (shared / "data/wikitext2/wiki.valid.tokens").read_text("utf-8").split("\n")
    sentences = [one.strip() for line in lines for one in line.split(" . ") if " = " not in line]
    plain = [one for one in sentences if 5 <= len(one.split()) <= 40 and not {"<", "@"} & set(one)]
    assert len(plain) > count
    return [f"{one} ." for one in plain[:count]]


@pytest.mark.slow
def test_a_real_bert_knows_hidden_pieces(shared):
    """Its README: 3.74 on held-out text; ln 8192 = 9.0 by chance."""
    source = huggingface.read(shared / "models/bert_small", lower_case=True)
    encoder = Hub("bert", native_encoder("bert", source.config))
    encoder.native.load_weights_by_name(source.weights)
    output = new_output_layer("bert", source.config)
    output.load_weights_by_name(source.output_layer)
    preprocessor = BertPreprocessor(source.vocabulary, source.lower_case)
    objective = MaskedLanguageModel(output, preprocessor.special_token_ids)
    inputs = preprocessor.pack([preprocessor.tokenize(tf.constant(wikitext(shared, 100)))])
    losses = objective(inputs, encoder=encoder, training=False).numpy()
    assert 3.2 < losses[losses >= 0].mean() < 4.6


@pytest.mark.slow
def test_the_small_elmo_knows_its_neighbours(shared):
    """Its README: perplexity 117.7 on held-out text; 40,003 by chance."""
    source = bilm_tf.read(shared / "models/elmo_small")
    output = new_output_layer("elmo", source.config, source.output_words)
    output.load_weights_by_name(source.output_layer)
    encoder = ta.HubEncoder("elmo_small", trainable=False)
    preprocessor = encoder.preprocessor
    inputs = preprocessor.pack([preprocessor.tokenize(tf.constant(wikitext(shared, 80)))])
    objective = BiLanguageModel(output, source.output_words)
    losses = objective(inputs, encoder=encoder, training=False).numpy()
    forward, backward = (losses[..., d][losses[..., d] >= 0].mean() for d in range(2))
    assert 80 < np.exp(forward) < 250 and 80 < np.exp(backward) < 250


@pytest.mark.slow
@pytest.mark.parametrize(
    ("handle", "low", "high"), [("bert_small", 5.1, 6.5), ("elmo_small", 3.9, 5.1)]
)
def test_fitted_layers_know_their_text(shared, handle, low, high):
    """Their READMEs: perplexity 338 of masked pieces, 89 of words, on such text."""
    encoder = ta.HubEncoder(handle, trainable=False)
    preprocessor = encoder.preprocessor
    inputs = preprocessor.pack([preprocessor.tokenize(tf.constant(wikitext(shared, 80)))])
    losses = language_model_objective(encoder)(inputs, encoder=encoder, training=False).numpy()
    assert low < losses[losses >= 0].mean() < high


def test_another_family_has_no_such_loss(tmp_path):
    (tmp_path / "words.txt").write_text("a 0.1 0.2\nb 0.3 0.4\n")
    with pytest.raises(
        ConfigError, match="a BERT, an ELMo, a causal module or an AWD-LSTM, got the"
    ):
        language_model_objective(ta.HubEncoder(tmp_path / "words.txt"))
