"""An encoder-decoder: losses by calls on whole rows, groups, what is trained, refusals."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.data.batches import prepare
from tf_adapt.encoder.encoder_decoder import EncoderDecoder
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.generation.generator import TokenGenerator
from tf_adapt.models.text_generation.encoder_decoder_model import build_encoder_decoder

TASK = ta.Task("text_generation")
PAIRS = [("the dog sat", "the end"), ("a", "in then thin"), ("on the mat there", "x")]


@pytest.fixture(scope="module")
def make(shallow_bert, shallow_causal):
    def model(adaptation="fine_tuning", **settings):
        encoder = EncoderDecoder(shallow_bert, decoder=ta.HubEncoder(shallow_causal))
        made = build_encoder_decoder(TASK, encoder, adaptation, **settings)
        random = np.random.default_rng(3)
        for weight in made.head.weights:
            weight.assign(random.normal(0, 0.3, weight.shape))
        return made

    return model


def inputs_of(model) -> dict:
    return prepare(PAIRS, TASK, model.encoder).packed_inputs(tf.range(3, dtype=tf.int64))


def log_probabilities(model, inputs, alone=False):
    """Of each target, position by position, with no padding and no cache."""
    given, found = inputs["a"], []
    for row in range(3):
        length = int(tf.reduce_sum(given["target_mask"][row]))
        source = {name: given[name][row : row + 1] for name in given if name.startswith("input")}
        ids = given["target_ids"][row : row + 1, :length]
        between = None if alone else model.head.between(model.read(source))
        rows = {"input_word_ids": ids[:, :-1], "input_mask": tf.ones_like(ids[:, :-1])}
        states, _ = model.decoder.states_after(rows, None, between)
        logs = tf.nn.log_softmax(model.decoder.logits(states))[0].numpy()
        found.append((logs, ids[0, 1:].numpy()))
    return found


@pytest.mark.slow
def test_losses_as_of_each_row_alone(make):
    model = make(label_smoothing=0.2, language_model_weight=0.5)
    inputs = inputs_of(model)
    outputs = model(inputs).numpy()
    rows = zip(
        log_probabilities(model, inputs), log_probabilities(model, inputs, True), strict=True
    )
    for row, ((logs, targets), (alone, _)) in enumerate(rows):
        places = np.arange(len(targets))
        loss = -logs[places, targets].sum()
        smooth = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.2)
        wanted = smooth(np.eye(logs.shape[1])[targets], logs).numpy() * len(targets)
        wanted -= 0.5 * alone[places, targets].sum()
        np.testing.assert_allclose(outputs[row], [loss, len(targets), wanted], rtol=1e-5)
    mean = outputs[:, 2].sum() / outputs[:, 1].sum()
    assert float(TASK.loss(None, outputs)) == pytest.approx(mean, rel=1e-5)


@pytest.mark.slow
def test_a_step_trains_the_groups_of_the_adaptation(make):
    names = {
        "feature_extraction": [],
        "lora": ["lora"],
        "adapters": ["adapters"],
        "fine_tuning": make().encoder.adaptable_groups,
    }
    for adaptation, groups in names.items():
        model = make(adaptation)
        assert model.encoder.trainable_groups == groups
        with tf.GradientTape() as tape:
            loss = TASK.loss(None, model(inputs_of(model), training=True))
        learning = [weight.value for weight in model.trainable_weights]
        assert all(one is not None for one in tape.gradient(loss, learning))
        head = {id(weight) for weight in model.head.weights}
        assert head <= {id(weight) for weight in model.trainable_weights}


def test_the_groups_are_those_of_both_parts(make):
    encoder = make("lora").encoder
    names = [name for name, _ in encoder.layer_groups]
    layers = ["embeddings", "layer_0"]
    assert [n for n in names if n != "pooler"] == [
        *layers,
        *(f"decoder_{n}" for n in layers),
        "lora",
    ]
    weights = [id(weight) for _, group in encoder.layer_groups for weight in group]
    assert sorted(weights) == sorted(map(id, encoder.weights))
    phases = ta.gradual_unfreezing().phases([*encoder.adaptable_groups, "head"])
    assert phases[1].groups == ("decoder_layer_0", "lora", "head")


@pytest.mark.slow
def test_saved_and_loaded_it_is_the_same(make, tmp_path):
    written = {"beams": 3, "length_penalty": 0.5}
    settings = {"label_smoothing": 0.1, "language_model_weight": 1.0}
    model = make(**settings, **written, multi_layer_attention=True)
    inputs = inputs_of(model)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(inputs).numpy(), model(inputs).numpy())
    texts = [one.predictions(inputs)["text"].numpy().tolist() for one in (loaded, model)]
    assert texts[0] == texts[1]


@pytest.mark.slow
def test_the_written_text_is_the_greedy_one(make):
    model = make()
    answer, inputs = model.predictions(inputs_of(model)), inputs_of(model)["a"]
    outputs = model({"a": inputs}).numpy()
    np.testing.assert_allclose(answer["loss"], outputs[:, 0], rtol=1e-6)
    assert answer["tokens"].numpy().tolist() == outputs[:, 1].tolist()
    for row, text in enumerate(answer["text"].numpy()):
        source = {name: inputs[name][row : row + 1] for name in inputs if name.startswith("input")}
        between = model.head.between(model.read(source))
        ids = [model.end]
        while len(ids) <= 40 and model.end not in ids[1:]:
            rows = {"input_word_ids": tf.constant([ids]), "input_mask": tf.ones([1, len(ids)])}
            states, _ = model.decoder.states_after(rows, None, between)
            ids.append(int(tf.argmax(model.decoder.logits(states[:, -1]), axis=-1)[0]))
        written = model.encoder.decoder.preprocessor.detokenize(tf.constant([ids[1:]]))
        assert text.decode() == written.numpy()[0].decode(errors="replace").strip()


@pytest.mark.slow
def test_with_beams_the_written_text_is_the_best_that_is_found(make):
    model = make(beams=3, length_penalty=0.5)
    given = inputs_of(model)["a"]
    source = {name: given[name] for name in given if name.startswith("input")}
    write = TokenGenerator(model, lambda inputs: model.begun(model.read(inputs)))
    tokens = write(source, [model.end], ta.Decoding(40, beams=3, length_penalty=0.5))
    expected = [
        text.decode(errors="replace").strip()
        for text in model.encoder.decoder.preprocessor.detokenize(tokens).numpy()
    ]
    found = model.predictions(inputs_of(model))["text"].numpy().tolist()
    assert [text.decode() for text in found] == expected
    greedy = make().predictions(inputs_of(model))["text"].numpy().tolist()
    assert [text.decode() for text in greedy] != expected


def test_the_first_layer_of_one_is_no_other_than_the_top(shallow_causal, tmp_path):
    (tmp_path / "vectors.txt").write_text("the 1 2\na 3 4\n")
    encoder = EncoderDecoder(tmp_path / "vectors.txt", decoder=ta.HubEncoder(shallow_causal))
    with pytest.raises(ConfigError, match="multi_layer_attention: .*family words.*returns 1; set"):
        build_encoder_decoder(TASK, encoder, "feature_extraction", multi_layer_attention=True)
    model = build_encoder_decoder(TASK, encoder, "feature_extraction")
    assert isinstance(ta.predict(model, ["the a"])[0].label, str)


def test_what_is_refused(make, shallow_bert, shallow_causal):
    with pytest.raises(ConfigError, match="decoder: expected a native causal transformer"):
        EncoderDecoder(shallow_bert, decoder=ta.HubEncoder(shallow_bert))
    with pytest.raises(ConfigError, match="encoder.decoder: expected a causal module"):
        prepare(PAIRS, TASK, ta.HubEncoder(shallow_causal))
    with pytest.raises(ConfigError, match="new random layers for text_generation, got fine_tuning"):
        make(ta.fine_tuning(reinitialise=1))
    encoder = make().encoder
    with pytest.raises(DataError, match="target of at most 255 tokens.*got 402 .1 too long in all"):
        prepare([("a", "the " * 200 + "x" * 200)], TASK, encoder)
    with pytest.raises(DataError, match="expected a target as the others have"):
        prepare([("a", "b"), ("c",)], TASK, encoder)
    with pytest.raises(DataError, match="got 400 .*leave the example out"):
        prepare([("a", "x" * 400), ("a", "x")], TASK, encoder, truncate=True)
