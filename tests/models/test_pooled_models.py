"""Models whose words come from all their pieces, or texts from a pooling by name."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.config.reading import config_from
from tf_adapt.serving.exports.export import ServedModel
from tf_adapt.training.resolving.compiled_model import configured_model

TAGS = ta.Task("tagging", ["O", "B-PER", "I-PER"])
CLASSES = ta.Task("classification", ["no", "yes"])
# Every letter is a piece but in `the` and `what`: words of one to seven pieces.
SENTENCES = [
    (["Ann", "Lowell", "met", "the", "a"], ["B-PER", "I-PER", "O", "O", "O"]),
    (["what"], ["O"]),
    (["rain", "is", "weather"], ["O", "O", "O"]),
]
WORDS = [words for words, _ in SENTENCES]


@pytest.mark.slow
def test_a_tagger_of_all_pieces(shallow_bert, tmp_path):
    keras.utils.set_random_seed(0)
    encoder = ta.HubEncoder(shallow_bert)
    options = {"head": "linear_tagger", "head_word_pieces": "mean"}
    model = ta.build_model(TAGS, encoder, adaptation="fine_tuning", **options)
    model.compile(keras.optimizers.Adam(0.01), loss=TAGS.loss, run_eagerly=True)
    data = ta.batches(SENTENCES, TAGS, encoder, batch_size=2)
    losses = model.fit(data, epochs=2, verbose=0).history["loss"]
    assert losses[1] < losses[0]
    expected = ta.predict(model, WORDS)
    # Sentences of more than eight pieces are served in parts, with their neighbours as context.
    context = ta.predict(model, WORDS, max_length=10, document_context=True)
    assert context != expected
    serve = ServedModel(model, 10, truncate=False, document_context=True).signature()
    found = serve(tf.ragged.constant(WORDS).to_tensor(""))
    for row, prediction in enumerate(context):
        count = len(WORDS[row])
        tags = [tag.decode() for tag in found["tags"].numpy()[row, :count]]
        assert tags == list(prediction.label)
        best = found["scores"].numpy()[row, :count].max(axis=-1)
        np.testing.assert_allclose(best, prediction.scores, atol=1e-5)
    # A word alone, in a batch of one, is what it is among others' padding.
    (alone,) = ta.predict(model, [["rain", "is", "weather"]])
    np.testing.assert_allclose(alone.scores, expected[2].scores, atol=1e-5)
    model.save(tmp_path / "x.keras")
    again = keras.saving.load_model(tmp_path / "x.keras")
    assert again.head.word_pieces == "mean"
    assert ta.predict(again, WORDS) == expected


def test_a_group_that_was_frozen_before_a_head_left_it_unread_stays_frozen(tiny_bert):
    encoder = ta.HubEncoder(tiny_bert)

    def trained_after_both_heads() -> list[str]:
        """First a head that does not read the pooler, then one that does."""
        ta.build_model(CLASSES, encoder, "linear", head_pooling="first")
        assert "pooler" not in encoder.trainable_groups
        ta.build_model(CLASSES, encoder, "linear")
        return encoder.trainable_groups

    groups = [name for name, _ in encoder.layer_groups]
    assert trained_after_both_heads() == groups
    for chosen in (["layer_1"], ["layer_1", "pooler"], groups):
        encoder.set_trainable_groups(chosen)
        assert trained_after_both_heads() == chosen
    # Chosen while the pooler was unread: all that could be, or some.
    for chosen, expected in ((groups[:-1], groups), (["layer_1"], ["layer_1"])):
        ta.build_model(CLASSES, encoder, "linear", head_pooling="first")
        encoder.set_trainable_groups(chosen)
        assert trained_after_both_heads() == expected
    for trainable in (False, True):
        encoder.trainable = trainable
        assert trained_after_both_heads() == (groups if trainable else [])


@pytest.mark.parametrize(
    ("task", "key", "argument"),
    [(TAGS, "head_word_pieces", "word_pieces"), (CLASSES, "head_pooling", "pooling")],
)
def test_a_config_says_it_to_the_head(task, key, argument, tiny_bert):
    content = {
        "data": {"dataset": f"sample_{task.kind}", "source": "sample"},
        "encoder": {"handle": str(tiny_bert)},
        "adaptation": "fine_tuning",
        "training": {"epochs": 1, "batch_size": 2, "learning_rate": 0.1},
    }
    model = configured_model(config_from(content | {key: "last"}, "test"), task)
    assert getattr(model.head, argument) == "last"


def test_the_pieces_of_a_word_are_nothing_to_elmo(tiny_elmo):
    found = {}
    for word_pieces in ("first", "mean"):
        keras.utils.set_random_seed(3)
        encoder = ta.HubEncoder(tiny_elmo, trainable=False)
        model = ta.build_model(TAGS, encoder, "linear_tagger", head_word_pieces=word_pieces)
        [inputs] = ta.batches(WORDS, TAGS, encoder)
        found[word_pieces] = model(inputs)
    np.testing.assert_array_equal(found["first"], found["mean"])
