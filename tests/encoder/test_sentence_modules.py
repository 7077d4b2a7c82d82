"""Models on a sentence module: predictions served and saved, features, runs."""

import keras
import numpy as np
import pytest
import sentence_modules as modules
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.comparison.plan.default_heads import default_heads
from tf_adapt.comparison.plan.sections import EncoderEntry
from tf_adapt.config.default_training import FROZEN_LINEAR, RATES, default_rates, family_of
from tf_adapt.config.reading import config_from
from tf_adapt.data.packing.prepare import prepare
from tf_adapt.encoder.feature_cache import with_features
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.models.language_model import build_language_model
from tf_adapt.training.finished.load_run import load_run
from tf_adapt.training.train import train

PAIRS = [("a man sings", "the man", "yes"), ("dull film", "dog", "no"), ("good", "good", "yes")]
TASK = ta.Task("pair_classification", ["no", "yes"])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A module; its trial in a child process is tested by itself."""
    monkeypatch.setattr("hub_modules.programs.saved_model.try_out", lambda folder, kind: None)
    return modules.write_sentence_module(tmp_path / "module")


def kernel_of(model) -> np.ndarray:
    return model.head.dense.kernel.numpy(), model.head.dense.bias.numpy()


def softmax(logits: np.ndarray) -> np.ndarray:
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


@pytest.mark.slow
def test_pairs_trained_predicted_served_and_saved(folder, tmp_path):
    encoder = ta.HubEncoder(folder, trust=True)
    model = ta.build_model(TASK, encoder, adaptation="fine_tuning")
    model.compile(keras.optimizers.Adam(0.1), loss=TASK.loss, metrics=TASK.metrics)
    model.fit(ta.batches(PAIRS, TASK, encoder, batch_size=2), epochs=2, verbose=0)
    table = encoder.weights[0].numpy()
    assert not np.array_equal(table, modules.TABLE)
    texts = [pair[:2] for pair in PAIRS]
    u, v = (modules.expected_vectors(column, table) for column in zip(*texts, strict=True))
    kernel, bias = kernel_of(model)
    by_hand = softmax(np.concatenate([np.abs(u - v), u * v], axis=1) @ kernel + bias)
    expected = ta.predict(model, texts)
    np.testing.assert_allclose([one.scores for one in expected], by_hand, atol=1e-5)
    exported = ta.export(model, tmp_path / "1")
    assert list(exported.glob("assets/*tokens.txt"))  # the module's own table goes with it
    (folder / "saved_model.pb").rename(folder / "gone")  # and needs the module no more
    serve = tf.saved_model.load(str(exported)).signatures["serving_default"]
    (folder / "gone").rename(folder / "saved_model.pb")
    first, second = zip(*texts, strict=True)
    answer = serve(text_a=tf.constant(first), text_b=tf.constant(second))
    np.testing.assert_allclose(answer["scores"], by_hand, atol=1e-5)
    model.save(tmp_path / "x.keras")
    assert ta.predict(keras.saving.load_model(tmp_path / "x.keras"), texts) == expected


def test_features_of_the_cache_are_the_vectors(folder, tmp_path):
    encoder = ta.HubEncoder(folder, trainable=False, trust=True)
    prepared = prepare(PAIRS, TASK, encoder)
    assert prepared.lengths.tolist() == [1, 1, 1]
    for _ in range(2):  # written, then read
        found = with_features(prepared, encoder, tmp_path / "cache").features
        for column, features in enumerate(found):
            expected = modules.expected_vectors([pair[column] for pair in PAIRS])
            for one in features:  # the states, `[1, 1, width]` of each text, and `pooled`
                found = np.stack([one.rows(number).reshape(-1) for number in range(3)])
                np.testing.assert_allclose(found, expected, atol=1e-6)
    assert len(list((tmp_path / "cache").glob("*/features"))) == 2


def test_tagging_is_refused(folder):
    encoder = ta.HubEncoder(folder, trainable=False, trust=True)
    with pytest.raises(ConfigError, match="tagging needs a state for each word"):
        ta.build_model(ta.Task("tagging", ["O", "B-PER"]), encoder)


def test_it_is_no_language_model(folder, tmp_path):
    words = tmp_path / "v.txt"
    words.write_text("a 1 2\n")
    for handle in (folder, words):
        encoder = ta.HubEncoder(handle, trainable=False, trust=True)
        with pytest.raises(ConfigError, match="language.model"):
            build_language_model(ta.Task("language_model"), encoder)


@pytest.mark.slow
def test_a_run_is_loaded_again_as_long_as_its_module_is_the_same(folder, tmp_path):
    content = {
        "data": {"dataset": "sample_classification", "source": "sample", "train_examples": 32},
        "encoder": {"handle": str(folder), "trust": True},
        "adaptation": "fine_tuning",
        "training": {"epochs": 1, "batch_size": 8, "learning_rate": 1e-1},
    }
    metrics = train(config_from(content, "test"), tmp_path / "run")
    assert (metrics["family"], metrics["head"]) == ("sentence", "linear")
    trained = load_run(tmp_path / "run")
    assert trained.encoder.family == "sentence"
    assert not np.array_equal(trained.encoder.weights[0], modules.TABLE)
    asset = next(folder.glob("assets/*"))
    asset.write_text(asset.read_text().replace("dog", "cat"))
    with pytest.raises(ArtifactError, match="no manifest|bring the module back"):
        load_run(tmp_path / "run")


def test_default_heads_and_rates_of_a_comparison(folder, tiny_bert, reference, tmp_path):
    words = tmp_path / "v.txt"
    words.write_text("a 1 2\n")
    handles = (folder, words, tiny_bert, reference / "published_hub_bert", "https://x.org/m/1")
    families = [family_of(str(handle)) for handle in handles]
    assert families == ["sentence", "words", "bert", None, None]
    data = {"dataset": "sample_pair_classification"}
    for handle, heads in ((folder, ["default"]), (words, ["default", "linear"])):
        entry = EncoderEntry(handle=str(handle))
        assert default_heads(data, entry, "feature_extraction") == heads
    assert default_rates(str(folder), "feature_extraction") == list(FROZEN_LINEAR)
    assert default_rates(str(folder), "fine_tuning") == list(RATES["bert"]["default"])
    assert default_rates(str(words), "fine_tuning") == list(RATES["elmo"]["default"])
