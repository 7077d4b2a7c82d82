"""An AWD-LSTM as a user meets it: frozen and tuned, on each kind of task, as a language model."""

import itertools
import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from adapted_encoders import adapted
from language_models import log_softmax
from small_data import RECORDS, TASKS, TEXTS

import tf_adapt as ta
from hub_modules.load import load_module, module_text_settings
from hub_modules.native.awd_lstm import AwdLstmEncoder
from hub_modules.native.awd_lstm_layers import WeightDropLstm, WordEmbeddings
from hub_modules.native.kernels.packing import Packing
from tf_adapt.analysis.states import layer_numbers
from tf_adapt.config.reading import config_from
from tf_adapt.data.packing.prepare import prepare
from tf_adapt.errors import ConfigError
from tf_adapt.models.language_model import build_language_model
from tf_adapt.models.signals.distillation import distillation_objective
from tf_adapt.models.source_task import source_loss
from tf_adapt.training.finished.load_run import load_run
from tf_adapt.training.finished.module_export import export_module
from tf_adapt.training.train import train


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def by_hand(encoder, ids):
    """The hidden states of the embeddings and of every LSTM of one row, in float64."""
    weights = {n: w.numpy().astype("float64") for n, w in encoder.weights_by_name().items()}
    states = [weights["embeddings/word_embeddings"][ids]]
    for index in range(encoder.num_layers):
        kernel, recurrent, bias = (
            weights[f"lstm_{index}/{name}"] for name in ("kernel", "recurrent_kernel", "bias")
        )
        hidden = cell = np.zeros(len(recurrent))
        outputs = []
        for step in states[-1]:
            i, f, g, o = np.split(step @ kernel + hidden @ recurrent + bias, 4)
            cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
            hidden = sigmoid(o) * np.tanh(cell)
            outputs.append(hidden)
        states.append(np.array(outputs))
    return states


def test_states_are_those_of_the_formula(tiny_lstm):
    encoder = ta.HubEncoder(tiny_lstm)
    assert (encoder.family, encoder.layer_names) == ("lstm", ["embeddings", "lstm_2"])
    assert [name for name, _ in encoder.layer_groups] == [
        "embeddings",
        "lstm_0",
        "lstm_1",
        "lstm_2",
    ]
    inputs = encoder.preprocessor(TEXTS)
    encoded = encoder(inputs)
    ids, mask = inputs["word_ids"].numpy(), encoded["mask"].numpy()
    for row in range(len(TEXTS)):
        expected = by_hand(encoder.native, ids[row][mask[row]])
        for layer, states in zip(encoded["layers"], (expected[0], expected[-1]), strict=True):
            np.testing.assert_allclose(layer[row][mask[row]], states, atol=1e-6)
            assert not np.any(layer[row][~mask[row]])


def test_markers_stand_before_their_words(tiny_lstm):
    words = module_text_settings(tiny_lstm)["vocabulary"]
    pack = ta.HubEncoder(tiny_lstm).preprocessor
    found = pack(["Who was THE man?", "I"])["word_ids"].numpy()
    expected = ["xxbos", "xxmaj", "who", "was", "xxup", "the", "xxunk", "?"]
    assert [words[number] for number in found[0]] == expected
    assert [words[number] for number in found[1]] == ["xxbos", "xxunk", *["xxpad"] * 6]
    assert pack(["who xxpad is"])["word_ids"][0].numpy().all()
    given = tf.ragged.constant([["Who", "is", "who"], ["in"]])
    packed = pack.pack_words(pack.tokenize_words(given))
    assert packed["first_piece"].numpy().tolist() == [[1, 3, 4], [1, -1, -1]]
    # A tagger reads the word, not the marker, whose state has not seen the word.
    task = TASKS["tagging"]
    assert ta.build_model(task, ta.HubEncoder(tiny_lstm)).head.word_pieces == "last"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It's a well-known film.", "It 's a well - known film ."),
        ("they don’t, can't; isn't!", "they do n't , ca n't ; is n't !"),
        ("(2,000 copies, $3.5)", "( 2,000 copies , $ 3.5 )"),
        ("'quoted' rock'n'roll", "' quoted ' rock'n'roll"),
        ("do n't , the 's", "do n't , the 's"),  # words of a treebank stay
        ("naïve\u00a0Élan, 漢字、x", "naïve Élan , 漢字 、 x"),
        ("state-of-the-art...", "state - of - the - art …"),
        (" \t ", ""),
    ],
)
def test_a_text_as_words(text, expected):
    from hub_modules.preprocess.lstm_words import split_words

    [found] = split_words(tf.constant([text])).to_list()
    assert b" ".join(found).decode() == expected


def test_words_and_weights_are_dropped_as_a_whole():
    embeddings = WordEmbeddings(50, 4, word_dropout=0.5, dropout=0.0)
    embeddings.build()
    ids = np.tile(np.arange(50), (3, 1))
    states = embeddings(ids, training=True).numpy()
    table = embeddings.word_embeddings.numpy()
    kept = (states[0] != 0).all(axis=1)
    assert 10 < kept.sum() < 40
    np.testing.assert_allclose(states, np.tile(np.where(kept[:, None], 2 * table, 0), (3, 1, 1)))
    np.testing.assert_array_equal(embeddings(ids, training=False), np.tile(table, (3, 1, 1)))
    features = WordEmbeddings(50, 40, word_dropout=0.0, dropout=0.5)
    features.build()
    dropped = features(ids, training=True).numpy() == 0
    assert (dropped == dropped[:, :1]).all()  # the same at each position
    assert (dropped[0] != dropped[1]).any()
    lstm = WeightDropLstm(6, weight_dropout=0.5)
    lstm.build((None, None, 4))
    inputs = np.random.default_rng(0).normal(size=(2, 5, 4)).astype("float32")
    packing = Packing(np.ones((2, 5), bool))
    one, two = (lstm(inputs, packing=packing, training=True).numpy() for _ in range(2))
    quiet = lstm(inputs, packing=packing, training=False).numpy()
    assert np.abs(one - two).max() > 1e-4
    # The first step has no recurrent part.
    for states in (one, two):
        np.testing.assert_allclose(states[:, 0], quiet[:, 0], atol=1e-6)


def test_dropped_recurrent_weights_are_scaled():
    lstm = WeightDropLstm(1, weight_dropout=0.5)
    lstm.build((None, None, 2))
    recurrent, bias = np.array([[0.5, -0.4, 0.8, 0.6]]), np.array([0.1, 0.2, 0.3, 0.4])
    lstm.set_weights([np.full((2, 4), 0.3), recurrent, bias])
    inputs = np.float32([[[1, -1], [2, 0], [0.5, 0.5]]])
    kernel, recurrent, bias = (weight.numpy().astype("float64") for weight in lstm.weights)

    def of_mask(mask):
        hidden = cell = np.zeros(1)
        for step in inputs[0]:
            gates = step @ kernel + hidden @ (recurrent * mask) + bias
            i, f, g, o = np.split(gates, 4)
            cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
            hidden = sigmoid(o) * np.tanh(cell)
        return hidden[0]

    possible = np.array([of_mask(mask) for mask in itertools.product([0, 2], repeat=4)])
    packing, seen = Packing(np.ones((1, 3), bool)), set()
    for _ in range(30):
        found = float(lstm(inputs, packing=packing, training=True)[0, -1, 0])
        nearest = int(np.abs(possible - found).argmin())
        assert found == pytest.approx(possible[nearest], abs=1e-6)
        seen.add(nearest)
    assert len(seen) > 5


def test_features_are_dropped_between_lstms_and_before_the_output(tiny_lstm):
    encoder = ta.HubEncoder(tiny_lstm)
    objective = ta.language_model_objective(encoder)
    assert (objective.dropout, encoder.native.output_dropout) == (0.1, 0.1)
    native, inputs = encoder.native, encoder.preprocessor(TEXTS)
    for layer in native.dropouts:
        layer.rate = 0.99999
    for lstm in native.lstms:
        lstm.weight_dropout = 0.0
    encoded = encoder(inputs, training=True)
    mask, top = encoded["mask"], encoded["layers"][-1]
    nothing = tf.zeros((*mask.shape, native.lstm_width))
    expected = native.lstms[-1](nothing, packing=Packing(mask))
    assert np.abs(expected).max() > 1e-3  # the biases' own
    np.testing.assert_allclose(top, expected, atol=1e-6)
    objective.dropout_layer.rate = 0.99999
    losses = objective(inputs, encoder=encoder, training=True).numpy()
    bias = objective.output_layer.weights[0].numpy()
    targets = inputs["word_ids"].numpy()[:, 1:]
    np.testing.assert_allclose(losses[targets > 0], -log_softmax(bias)[targets[targets > 0]], 1e-5)


@pytest.mark.slow
def test_the_shipped_one_knows_english():
    task, encoder = ta.Task("language_model"), ta.HubEncoder("lstm_small")
    model = build_language_model(task, encoder)
    model.compile(loss=task.loss, metrics=task.metrics)
    texts = [
        "The president of the United States was born in New York in the year of the war.",
        "He had been in the house for a long time, and the children were glad to see him.",
    ]
    perplexities = []
    for given in (texts, [" ".join(sorted(text.split())) for text in texts]):
        data = ta.batches(given, task, encoder, batch_size=2, shuffle=False)
        perplexities.append(model.evaluate(data, return_dict=True, verbose=0)["perplexity"])
    # Of words by their frequencies it would be about 400.
    assert perplexities[0] < 60 and perplexities[1] > 4 * perplexities[0]


@pytest.mark.slow
def test_a_task_has_the_dropouts_of_its_own(tiny_lstm):
    """FACTS of ULMFiT: output, hidden, input, words, recurrent weights of both models."""

    def used(native):
        features = native.embeddings
        (weights,) = {lstm.weight_dropout for lstm in native.lstms}
        (hidden,) = {layer.rate for layer in native.dropouts}
        return hidden, features.dropout_layer.rate, features.word_dropout, weights

    encoder = ta.HubEncoder(tiny_lstm)
    model = ta.build_model(TASKS["classification"], encoder, "concat_pooling")
    assert used(encoder.native) == (0.3, 0.4, 0.05, 0.5)
    inputs = encoder.preprocessor(["who is the man ?"] * 64)
    embedded = [encoder.native.embeddings(inputs["word_ids"], training=True) for _ in range(20)]
    dropped = [np.mean(states[:, 1].numpy() == 0) for states in embedded]
    assert np.mean(dropped) == pytest.approx(1 - 0.6 * 0.95, abs=0.1)
    assert model.encoder is encoder
    build_language_model(ta.Task("language_model"), encoder)
    assert used(encoder.native) == (0.15, 0.25, 0.02, 0.2)
    assert encoder.native.get_config()["weight_dropout"] == 0.2
    still = AwdLstmEncoder(5, 4, 6, 3, 0, 0, 0, 0, 0)
    still.use_dropouts(of_language_model=False)
    assert used(still) == (0, 0, 0, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "adaptation"),
    [("tagging", "fine_tuning"), ("pair_classification", "gradual_unfreezing")],
)
def test_kinds_of_tasks_learn(tiny_lstm, kind, adaptation):
    task = TASKS[kind]
    encoder = ta.HubEncoder(tiny_lstm)
    model = ta.build_model(task, encoder, adaptation=adaptation)
    optimizer = keras.optimizers.AdamW(1e-2)
    model.compile(optimizer, task.loss, metrics=task.metrics, run_eagerly=True)
    before = {n: w.numpy() for n, w in encoder.native.weights_by_name().items()}
    batches = ta.batches(RECORDS[kind], task, encoder, batch_size=2)
    losses = model.fit(batches, epochs=3, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    moved = {
        name
        for name, weight in encoder.native.weights_by_name().items()
        if (weight.numpy() != before[name]).any()
    }
    tops = {name for name in before if name.startswith(("lstm_2", "lstm_1"))}
    assert moved == (set(before) if adaptation == "fine_tuning" else tops)


@pytest.mark.slow
def test_with_its_own_head_it_is_served(tiny_lstm, tmp_path):
    encoder = ta.HubEncoder(tiny_lstm)
    model = ta.build_model(TASKS["classification"], encoder, "concat_pooling", "top_layers")
    assert encoder.trainable_groups == ["lstm_2"]
    served = tf.saved_model.load(str(ta.export(model, tmp_path / "export")))
    answer = served.signatures["serving_default"](text=tf.constant(TEXTS))
    for scores, prediction in zip(answer["scores"].numpy(), ta.predict(model, TEXTS), strict=True):
        np.testing.assert_allclose(scores, prediction.scores, atol=1e-5)


def test_the_language_models_loss_is_that_of_the_next_words(tiny_lstm):
    encoder = ta.HubEncoder(tiny_lstm)
    objective = ta.language_model_objective(encoder)
    inputs = encoder.preprocessor(TEXTS)
    losses = objective(inputs, encoder=encoder, training=False).numpy()
    table = encoder.native.embeddings.word_embeddings.numpy().astype("float64")
    bias = objective.output_layer.bias.numpy()
    assert np.any(bias)
    ids = inputs["word_ids"].numpy()
    for row, losses_of_row in zip(ids, losses, strict=True):
        row = row[row > 0]
        states = by_hand(encoder.native, row)[-1][:-1]
        expected = -log_softmax(states @ table.T + bias)[np.arange(len(row) - 1), row[1:]]
        np.testing.assert_allclose(losses_of_row[: len(row) - 1], expected, atol=1e-5)
        assert (losses_of_row[len(row) - 1 :] == -1).all()


@pytest.mark.slow
def test_a_language_model_is_tuned_exported_and_started_from(tiny_lstm, tmp_path):
    """The first two steps of ULMFiT, and what the third begins with."""
    text = tmp_path / "text.txt"
    text.write_text("what is the time ?\nwho was the man in it ?\n" * 6, "utf-8")
    files = {"format": "text", "kind": "language_model", "train": str(text), "dev": str(text)}
    config = {
        "objective": "language_model",
        "data": files,
        "encoder": {"handle": str(tiny_lstm)},
        "adaptation": "fine_tuning",
        "training": {"epochs": 2, "batch_size": 4, "learning_rate": 1e-2},
    }
    metrics = train(config_from(config, "test"), tmp_path / "run")
    history = (tmp_path / "run" / "history.csv").read_text().splitlines()
    column = history[0].split(",").index("dev_perplexity")
    perplexities = [float(line.split(",")[column]) for line in history[1:]]
    assert metrics["dev"]["perplexity"] == min(perplexities) == perplexities[-1]
    export_module(tmp_path / "run", tmp_path / "module", stored_as="float16")
    assert json.loads((tmp_path / "module" / "manifest.json").read_text())["kind"] == "lstm"
    tuned = load_run(tmp_path / "run").encoder.native.weights_by_name()
    for name, weight in load_module(tmp_path / "module").encoder.weights_by_name().items():
        np.testing.assert_array_equal(weight, tuned[name].numpy().astype("float16"))
    # Its own program, on texts, and its output layer, which goes on from here.
    program = tf.saved_model.load(str(tmp_path / "module" / "encoder"))
    encoder = ta.HubEncoder(tmp_path / "module")
    expected = encoder(TEXTS)
    found = program(tf.constant(TEXTS), training=False)
    np.testing.assert_allclose(found["sequence_output"], expected["layers"][-1], atol=1e-5)
    objective = ta.language_model_objective(encoder)
    assert objective.output_layer.bias.shape == (encoder.native.vocabulary_size,)


def test_what_this_family_has_not(tiny_lstm):
    for options, message in (
        ({"execution": "saved_model"}, "expected execution native or none for an AWD-LSTM"),
        ({"keep_layers": [0]}, "keep_layers"),
        ({"pairs": "joint"}, "pairs: expected separate or none for the family lstm"),
        ({"engine": "openvino"}, "expected a transformer that runs natively, got the family lstm"),
        ({"classification_token": True}, "needs a causal module"),
        ({"gradient_checkpointing": True}, "expected a transformer that runs natively"),
    ):
        with pytest.raises(ConfigError, match=message):
            ta.HubEncoder(tiny_lstm, **options)
    for adaptation in (ta.adapters(), ta.lora(2)):
        with pytest.raises(ConfigError, match="have a place for it, got the family lstm"):
            adapted(adaptation, tiny_lstm)


def test_what_was_forgotten_and_how_far_it_is_from_its_module(tiny_lstm):
    encoder = ta.HubEncoder(tiny_lstm)
    inputs = encoder.preprocessor(TEXTS)
    losses = ta.language_model_objective(encoder)(inputs, encoder=encoder, training=False).numpy()
    real = losses[losses >= 0]
    found = source_loss(encoder, prepare(TEXTS, ta.Task("language_model"), encoder))
    assert found == (pytest.approx(real.mean(), rel=1e-5), len(real))
    distillation = distillation_objective(encoder)
    assert distillation.output_layer is not None

    def pull():
        with tf.GradientTape() as tape:
            losses = distillation(
                inputs, encoder=encoder, encoded=encoder(inputs, training=False), training=False
            )
            loss = tf.reduce_mean(losses[losses >= 0])
        found = tape.gradient(loss, [weight.value for weight in encoder.weights])
        return max(float(tf.norm(tf.convert_to_tensor(one))) for one in found if one is not None)

    assert pull() < 1e-6
    encoder.weights[-1].assign(encoder.weights[-1] + 0.5)
    assert pull() > 1e-4


def test_bitfit_trains_the_biases_of_all_lstms(tiny_lstm):
    encoder = adapted(ta.bitfit(), tiny_lstm)
    named = {id(weight): name for name, weight in encoder.native.weights_by_name().items()}
    biases = {named[id(weight)] for weight in dict(encoder.layer_groups)["biases"]}
    assert biases == {f"lstm_{layer}/bias" for layer in range(3)}


def test_layers_have_the_numbers_of_their_depth(tiny_lstm):
    assert layer_numbers(ta.HubEncoder(tiny_lstm)) == [0, 3]


def test_the_first_state_is_refused_where_it_has_seen_no_word(tiny_lstm):
    task = TASKS["classification"]
    with pytest.raises(ConfigError, match="head_pooling: expected last, mean or max for the famil"):
        ta.build_model(task, ta.HubEncoder(tiny_lstm), "linear", head_pooling="first")
