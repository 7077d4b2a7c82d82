"""Predictions and features in memory, and the files that they are written to."""

import h5py
import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.data.batches import prepare
from tf_adapt.data.formats import read_conll
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.serving.prediction.predict import to_predictions, write_features
from tf_adapt.serving.prediction.prediction_forms import write_predictions
from tf_adapt.training.results.finish import serving_seconds

WORDS = ["Ann", "Lee", "met", "a\u2028b", "in", "Paris", "\u3000"]


@pytest.fixture(scope="module")
def tagger():
    task = ta.Task("tagging", labels=["O", "B-PER", "I-PER"])
    return ta.build_model(task, ta.HubEncoder("bert_small"))


@pytest.fixture(scope="module")
def classifier():
    task = ta.Task("classification", labels=["no", "yes"])
    return ta.build_model(task, ta.HubEncoder("bert_small"))


def test_labels_and_probabilities_come_from_the_outputs():
    task = ta.Task("classification", labels=["no", "yes"])
    answer = {"label": np.array([1, 0]), "probabilities": np.array([[0.25, 0.75], [0.9, 0.1]])}
    one, other = to_predictions(task, ["", ""], answer)
    assert (one.label, other.label) == ("yes", "no")
    np.testing.assert_allclose(one.scores, (0.25, 0.75), atol=1e-6)


def test_n4_batch_size_order_and_padding_do_not_matter(classifier):
    texts = ["good", "a very long and rather dull film about nothing at all", "fine .", "bad"]
    alone = [ta.predict(classifier, [text])[0] for text in texts]
    for batch_size in (7, 64):
        together = ta.predict(classifier, texts, batch_size=batch_size)
        turned = ta.predict(classifier, texts[::-1], batch_size=batch_size)[::-1]
        assert [p.label for p in turned] == [p.label for p in alone]
        np.testing.assert_allclose([p.scores for p in turned], [p.scores for p in alone], atol=1e-5)
        assert [p.label for p in together] == [p.label for p in alone]
        np.testing.assert_allclose(
            [p.scores for p in together], [p.scores for p in alone], atol=1e-5
        )


def test_every_word_gets_a_tag_also_in_a_sentence_of_many_parts(tagger):
    sentences = [WORDS, ["word"] * 700, ["x"]]
    found = ta.predict(tagger, sentences, batch_size=2)
    assert [len(one.label) for one in found] == [7, 700, 1]
    assert ta.predict(tagger, [WORDS])[0].label == found[0].label


def test_too_long_is_an_error_and_truncation_a_choice(classifier):
    text = "word " * 600
    with pytest.raises(DataError, match="512"):
        ta.predict(classifier, [text])
    assert len(ta.predict(classifier, [text], truncate=True)) == 1


def test_labels_of_the_data_are_not_looked_at(classifier):
    assert len(ta.predict(classifier, [("good", "no such label")])) == 1


def test_columns_are_as_good_as_rows(classifier):
    texts, rows = ["good", "rather bad"], [("good", "no"), ("rather bad", "no such label")]
    for data in (
        {"text": np.array(texts)},
        (texts, ["no", "no such label"]),
        tf.data.Dataset.from_tensor_slices(texts).batch(2),
    ):
        assert ta.predict(classifier, data) == ta.predict(classifier, rows)
        for found, expected in zip(
            ta.encode(classifier.encoder, data), ta.encode(classifier.encoder, texts), strict=True
        ):
            np.testing.assert_array_equal(found, expected)
    with pytest.raises(DataError, match="expected a list of examples, .* got str"):
        ta.encode(classifier.encoder, "good")


def test_written_tags_read_back_word_by_word(tagger, tmp_path):
    records = [ta.data.formats.TaggedSentence(tuple(WORDS)), ta.data.formats.TaggedSentence(("x",))]
    predictions = ta.predict(tagger, records)
    write_predictions(tmp_path / "tags.txt", tagger.task, records, predictions)
    columns = [
        line.split("\t") for line in (tmp_path / "tags.txt").read_text("utf-8").split("\n") if line
    ]
    assert [column[0] for column in columns] == [*WORDS, "x"]
    assert [column[1] for column in columns] == [*predictions[0].label, *predictions[1].label]
    again = read_conll(tmp_path / "tags.txt")
    assert [sentence.words for sentence in again] == [tuple(WORDS), ("x",)]


def test_written_labels_have_a_line_for_each_example(classifier, tmp_path):
    texts = ["a\u2028b", "c\x0bd", "e"]
    predictions = ta.predict(classifier, texts)
    write_predictions(tmp_path / "out.tsv", classifier.task, texts, predictions)
    rows = [line.split("\t") for line in (tmp_path / "out.tsv").read_text("utf-8").split("\n")]
    assert rows[0] == ["prediction", "no", "yes"]
    assert [row[0] for row in rows[1:-1]] == [one.label for one in predictions]


@pytest.mark.parametrize("handle", ["bert_small", "elmo_small"])
def test_features_are_every_layer_of_every_unit(handle, tmp_path):
    encoder = ta.HubEncoder(handle, trainable=False)
    texts = ["The cat sat .", "cat"]
    features = ta.encode(encoder, texts)
    units = [6, 3] if handle == "bert_small" else [4, 1]
    assert [array.shape for array in features] == [
        (encoder.num_layers, count, encoder.output_width) for count in units
    ]
    for layer in (0, -1):
        alone = ta.encode(encoder, texts, layer=layer)
        for states, array in zip(alone, features, strict=True):
            np.testing.assert_array_equal(states, array[layer])
    with pytest.raises(ConfigError, match="layer: expected -"):
        ta.encode(encoder, texts, layer=encoder.num_layers)
    packed = encoder.preprocessor.pack([encoder.preprocessor.tokenize(texts[:1])])
    for layer, array in zip(encoder(packed)["layers"], features[0], strict=True):
        np.testing.assert_allclose(layer[0], array, atol=1e-5)
    write_features(tmp_path / "features.hdf5", features)
    with h5py.File(tmp_path / "features.hdf5") as file:
        assert set(file) == {"0", "1"} and file["1"].dtype == np.float32
        np.testing.assert_array_equal(file["1"], features[1])


def test_the_speed_is_that_of_the_graph_of_predictions(classifier):
    """Nothing is traced for it once texts were predicted."""
    texts = ["good", "rather bad"]
    ta.predict(classifier, texts)
    graph = classifier.inference._graph
    traced = graph.experimental_get_tracing_count()
    assert serving_seconds(classifier, prepare(texts, classifier.task, classifier.encoder)) > 0
    assert graph.experimental_get_tracing_count() == traced
