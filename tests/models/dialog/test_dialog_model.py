"""Rows of dialogues by hand; losses, choices and replies by calls on whole rows."""

import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.data.batches import prepare
from tf_adapt.data.by_kind.dialog import wrong_replies
from tf_adapt.data.formats.dialogues import Exchange
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.models.dialog.dialog_model import build_dialog_model
from tf_adapt.tasks.by_kind.dialog import NEW_TOKENS, SEGMENTS

TASK = ta.Task("dialog")
PERSONA = ("I am in", "the")
EXCHANGES = [
    Exchange(PERSONA, ("hi", "the", "then"), "in the", ("no", "yes", "so"), "d:1", 1),
    Exchange(("x",), ("a",), "b", (), "d:2", 2),
    Exchange(("y y y",), ("c c",), "the end of it", (), "d:3", 3),
    Exchange(("z",), ("thin",), "maybe in", (), "d:4", 4),
    Exchange(("z",), ("thing",), "never", (), "d:5", 5),
]


@pytest.fixture(scope="module")
def model(shallow_causal):
    encoder = ta.HubEncoder(shallow_causal, new_tokens=NEW_TOKENS, segments=SEGMENTS)
    model = build_dialog_model(TASK, encoder, "fine_tuning")
    random = np.random.default_rng(3)
    for weight in (*encoder.native.embeddings.new.weights, *model.head.weights):
        weight.assign(random.normal(0, 0.5, weight.shape))
    return model


@pytest.fixture(scope="module")
def prepared(model):
    return prepare(EXCHANGES, TASK, model.encoder)


def whole_row(model, exchange: Exchange, reply: str) -> tuple[list[int], list[int]]:
    """Ids and segments, text by text."""
    rows = model.encoder.native.vocabulary_size
    bos, eos, other, own = range(rows, rows + 4)

    def pieces(text):
        return model.encoder.preprocessor.tokenize([text])[0].numpy().tolist()

    ids, types = [bos], [1]
    for text in exchange.persona:
        ids += pieces(text)
    types += [1] * (len(ids) - 1)
    for place, turn in enumerate((*exchange.history, reply)):
        is_own = (len(exchange.history) - place) % 2 == 0
        ids += [own if is_own else other, *pieces(turn)]
        types += [int(is_own)] * (len(ids) - len(types))
    return [*ids, eos], [*types, 1]


def states(model, exchange, reply):
    ids, types = whole_row(model, exchange, reply)
    inputs = {
        "input_word_ids": tf.constant([ids]),
        "input_mask": tf.ones([1, len(ids)], tf.int32),
        "input_type_ids": tf.constant([types]),
    }
    return ids, model.encoder(inputs, training=False)["layers"][-1]


def test_rows_as_text_by_text(model, prepared):
    inputs = prepared.packed_inputs(tf.constant([0, 2], tf.int64))["a"]
    assert inputs["replies"].shape[:2] == (2, 4)
    for row, number in enumerate((0, 2)):
        length = int(tf.reduce_sum(inputs["input_mask"][row]))
        prompt, types = (
            inputs[name][row, :length].numpy().tolist()
            for name in ("input_word_ids", "input_type_ids")
        )
        for place, reply in enumerate(wrong_replies(EXCHANGES)[number]):
            of_row = [*inputs["replies"][row].numpy(), *inputs["others"][row].numpy()][place]
            tokens = of_row[of_row >= 0].tolist()
            found = prompt + tokens, types + [1] * len(tokens)
            assert found == whole_row(model, EXCHANGES[number], reply)


@pytest.mark.slow
def test_losses_and_choices_as_of_whole_rows(model, prepared):
    inputs = prepared.packed_inputs(tf.constant([0, 1, 2], tf.int64))
    outputs = model(inputs, training=False).numpy()
    answer = model.predictions(inputs)
    scores = answer["choices"].numpy()
    np.testing.assert_allclose(scores[:, :4], outputs[:, 2:], rtol=1e-5)
    np.testing.assert_allclose(answer["loss"], outputs[:, 0], rtol=1e-5)
    assert answer["tokens"].numpy().tolist() == outputs[:, 1].tolist()
    for number in range(3):
        exchange, replies = EXCHANGES[number], wrong_replies(EXCHANGES)[number]
        ids, top = states(model, exchange, exchange.reply)
        logs = tf.nn.log_softmax(model.encoder.native.logits(top))[0].numpy()
        start = len(whole_row(model, exchange, "")[0]) - 2
        expected = [-logs[place, ids[place + 1]] for place in range(start, len(ids) - 1)]
        assert outputs[number, 1] == len(expected)
        assert outputs[number, 0] == pytest.approx(sum(expected), rel=1e-4)
        for place, reply in enumerate(replies):
            _, top = states(model, exchange, reply)
            assert scores[number, place] == pytest.approx(float(model.head(top)[0, -1]), abs=1e-4)
    language = outputs[:, 0].sum() / outputs[:, 1].sum()
    choice = -tf.nn.log_softmax(outputs[:, 2:])[:, 0].numpy().mean()
    assert float(TASK.loss(None, outputs)) == pytest.approx(2 * language + choice, rel=1e-5)


def test_gradients_are_those_of_whole_rows(model, prepared):
    exchange = EXCHANGES[0]
    with tf.GradientTape() as tape:
        outputs = model(prepared.packed_inputs(tf.constant([0], tf.int64)), training=False)
        loss = TASK.loss(None, outputs)
    weights = model.trainable_weights
    found = tape.gradient(loss, [weight.value for weight in weights])
    with tf.GradientTape() as tape:
        ids, top = states(model, exchange, exchange.reply)
        start = len(whole_row(model, exchange, "")[0]) - 2
        logits = model.encoder.native.logits(top)[0, start:-1]
        language = tf.nn.sparse_softmax_cross_entropy_with_logits(ids[start + 1 :], logits)
        replies = wrong_replies(EXCHANGES)[0][:4]
        scores = [model.head(states(model, exchange, one)[1])[0, -1] for one in replies]
        loss = 2 * tf.reduce_mean(language) - tf.nn.log_softmax(scores)[0]
    expected = tape.gradient(loss, [weight.value for weight in weights])
    for weight, one, other in zip(weights, found, expected, strict=True):
        one, other = (tf.convert_to_tensor(gradient) for gradient in (one, other))
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4, err_msg=weight.path)


@pytest.mark.slow
def test_replies_are_greedy_continuations(model, prepared):
    inputs = prepared.packed_inputs(tf.constant([0, 2], tf.int64))
    found = model.predictions(inputs)["reply"].numpy()
    for number, reply in zip((0, 2), found, strict=True):
        ids, types = whole_row(model, EXCHANGES[number], "")
        ids, types = ids[:-1], types[:-1]
        end, written = model.encoder.native.vocabulary_size + 1, []
        while len(written) < 40 and end not in written:
            given = {
                "input_word_ids": tf.constant([ids + written]),
                "input_mask": tf.ones([1, len(ids + written)], tf.int32),
                "input_type_ids": tf.constant([types + [1] * len(written)]),
            }
            logits = model.encoder.native.step(given)[0]
            written.append(int(tf.argmax(logits[0])))
        text = model.encoder.preprocessor.detokenize(tf.constant([written])).numpy()[0]
        assert reply.decode() == text.decode(errors="replace").strip()


def test_the_oldest_exchanges_are_left_out_and_counted(model):
    long = Exchange(("x",), ("the " * 60, "b", "the " * 60, "d", "now"), "e", ("1", "2", "3"))
    prepared = prepare([long], TASK, model.encoder, 160)
    assert prepared.dialog.turns == [long.history[2:]]
    assert prepared.truncated == 1
    with pytest.raises(DataError, match="persona and last turn of at most 40 tokens.* got"):
        prepare(
            [Exchange(("the " * 30,), ("the " * 30,), "b", ("1", "2", "3"))],
            TASK,
            model.encoder,
            80,
        )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"persona": ()}, "example 1: expected a persona of at least one sentence"),
        ({"persona": ("a", "")}, "example 1: expected a text in column 'persona', got an empty"),
        ({"history": ()}, "example 1: expected a turn to reply to"),
        ({"history": (" ",)}, "example 1: expected a text in column 'history', got an empty one"),
        ({"reply": ""}, "example 1: expected a text in column 'reply', got an empty one"),
        ({"persona": (1,)}, "example 1: expected a list of texts 'persona', got '1' in it"),
    ],
)
def test_texts_that_are_none(model, changes, message):
    row = {"persona": ("a",), "history": ("b",), "reply": "c"} | changes
    with pytest.raises(DataError, match=message):
        prepare([row], TASK, model.encoder)


def test_what_dialogues_do_not_take(shallow_causal, shallow_bert):
    with pytest.raises(ConfigError, match="new tokens and segments .* need a causal module"):
        ta.HubEncoder(shallow_bert, new_tokens=NEW_TOKENS, segments=SEGMENTS)
    plain = ta.HubEncoder(shallow_causal)
    with pytest.raises(ConfigError, match="expected 4 new tokens and 2 segments"):
        prepare(EXCHANGES, TASK, plain)
    with pytest.raises(ConfigError, match="expected one that trains the encoder for dialog"):
        build_dialog_model(TASK, plain, "feature_extraction")
    recomputed = ta.HubEncoder(
        shallow_causal, new_tokens=NEW_TOKENS, segments=SEGMENTS, gradient_checkpointing=True
    )
    with pytest.raises(ConfigError, match="gradient_checkpointing: expected false for dialog"):
        build_dialog_model(TASK, recomputed)
    with pytest.raises(DataError, match="at least 3 replies of other dialogues"):
        wrong_replies(EXCHANGES[1:3])
