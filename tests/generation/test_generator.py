import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.generation.sampling import next_tokens

TEXTS = ["the thin", "", "then there is naïve 你好", "in"]
DRAWN = ta.Decoding(12, temperature=1.0, top_p=0.9)


@pytest.fixture(scope="module")
def write(tiny_causal) -> ta.Generator:
    return ta.Generator(ta.HubEncoder(tiny_causal))


@pytest.mark.slow
def test_a_batch_changes_no_continuation(write):
    for decoding in (ta.Decoding(6), ta.Decoding(6, beams=3), DRAWN):
        together = write(TEXTS, decoding, seed=5)
        assert write(TEXTS, decoding, seed=5, batch_size=3) == together
        assert len(together) == len(TEXTS) and all(map(len, together))


def test_one_graph_for_all_lengths_and_settings(write):
    write(TEXTS, DRAWN)
    graph = write._tokens._loop._graph
    traced = graph.experimental_get_tracing_count()
    for texts, decoding in ((TEXTS[:1], ta.Decoding(3)), (["the " * 30] * 5, DRAWN)):
        write(texts, decoding)
    assert graph.experimental_get_tracing_count() == traced


def test_draws_follow_the_seed_and_begin_alike(write):
    drawn = write(TEXTS * 2, DRAWN, seed=1)
    assert write(TEXTS * 2, DRAWN, seed=1) == drawn
    assert write(TEXTS * 2, DRAWN, seed=2) != drawn
    assert drawn[:4] != drawn[4:]
    shorter = write(TEXTS, ta.Decoding(4, temperature=1.0, top_p=0.9), seed=1)
    for text, longer in zip(shorter, drawn[:4], strict=True):
        assert longer.startswith(text.rstrip("\ufffd"))  # a character may be cut in two


def test_a_beam_search_of_few_words_finds_the_best_of_all(write, tiny_causal):
    """All continuations of two tokens, by their log probabilities."""
    native = ta.HubEncoder(tiny_causal).native
    words = native.vocabulary_size
    ids = np.array([[7, 8, 9]], "int32")
    first, cache = native.step({"input_word_ids": ids, "input_mask": np.ones_like(ids)})
    every = tf.range(words)[:, None]
    cache = tf.nest.map_structure(lambda one: tf.repeat(one, words, axis=0), cache)
    second, _ = native.step({"input_word_ids": every, "input_mask": tf.ones_like(every)}, cache)
    scores = tf.nn.log_softmax(first)[0][:, None] + tf.nn.log_softmax(second)
    inputs = {"input_word_ids": tf.constant(ids), "input_mask": tf.ones_like(ids)}
    found = write._tokens(inputs, [words], ta.Decoding(2, beams=words))
    assert divmod(int(tf.argmax(tf.reshape(scores, [-1]))), words) == tuple(found[0].numpy())


def test_a_draw_at_the_upper_end_is_a_kept_token():
    logits = np.log([[0.5, 0.3, 0.15, 0.05]]).astype("float32")
    below_one = np.array([np.nextafter(np.float32(1), np.float32(0))])
    for top_k, top_p, expected in (
        (0, 1.0, 3),
        (2, 1.0, 1),
        (0, 0.79, 1),
        (0, 0.81, 2),
        (9, 0.4, 0),
    ):
        assert next_tokens(logits, 1.0, top_k, top_p, below_one).numpy().tolist() == [expected]


def test_texts_that_leave_no_room(write):
    with pytest.raises(DataError, match=r"texts\[1\]: expected at most 216 tokens.* got 223"):
        write(["the", "the " * 220])


def test_encoders_that_do_not_generate(tiny_bert, tiny_causal):
    with pytest.raises(ConfigError, match="expected a native causal transformer.*family bert"):
        ta.Generator(ta.HubEncoder(tiny_bert))
    with pytest.raises(ConfigError, match="without a classification token"):
        ta.Generator(ta.HubEncoder(tiny_causal, classification_token=True))
