"""Every head of the table by its name: predict and serve."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.errors import ConfigError
from tf_adapt.heads.kinds import kinds_of
from tf_adapt.heads.names import LSTM_HEADS
from tf_adapt.heads.table import HEADS
from tf_adapt.serving.exports.export import ServedModel
from tf_adapt.tasks.kinds import KINDS
from tf_adapt.tasks.span_search import SpanSearch

PAIRS = [("a man sings", "he sings"), ("a dog barks loudly", "rain")]
TEXTS = {
    "classification": ["a good film", "dull", "fine"],
    "pair_classification": PAIRS,
    "span_extraction": [("who sings", "Ann Lee sings a song"), ("what", "the rain")],
    "tagging": [["Ann", "Lee", "sings"], ["rain"]],
}
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
OF_TWO_VECTORS = ("skip_thoughts", "infersent", "cosine", "euclidean")
# Of the same layers as others.
LEFT_OUT = ("skip_thoughts", "euclidean", "bilstm", "crf")
# They are served as others of their kind; what is special of them: conformance/test_layers.py.
BY_HAND = ("max_pooling", "bcn", "linear_tagger", "infersent", "cosine", "bi_attention")
# Written and read again too; that all variables are saved is no matter of a single head.
EXPORTED = ("bilstm_crf", "span_extractor")
# Each head with its first kind on one family, by turns.
EVERY = [
    pytest.param(
        name,
        kinds_of(name)[0],
        "bert" if name in OF_TWO_VECTORS else ("bert", "elmo")[number % 2],
        marks=[pytest.mark.large] if name in BY_HAND else [],
    )
    for number, name in enumerate(HEADS)
    if name not in LEFT_OUT
]


@pytest.fixture(scope="module")
def handles(shallow_bert, tiny_elmo) -> dict:
    return {"bert": shallow_bert, "elmo": tiny_elmo}


def made(name: str, kind: str, handle) -> keras.Model:
    """A model whose head's weights are drawn, so that its answers differ."""
    labels = None if kind == "span_extraction" else TAGS if kind == "tagging" else ["no", "yes"]
    spans = SpanSearch(8, no_answer_threshold=0.0) if kind == "span_extraction" else None
    task = ta.Task(kind, labels, spans=spans)
    pairs = "separate" if name in OF_TWO_VECTORS else None
    encoder = ta.HubEncoder(handle, trainable=False, pairs=pairs)
    units = 4 if name in LSTM_HEADS else None
    model = ta.build_model(task, encoder, head=name, head_units=units)
    random = np.random.default_rng(0)
    for weight in model.head.weights:
        values = random.normal(0, 0.5, weight.shape)
        weight.assign(np.abs(values) if weight.name == "moving_variance" else values)
    return model


def served(model, texts: list, folder=None) -> dict:
    """What the signature of a SavedModel computes; of one in this folder, where one is given."""
    if folder:
        serve = tf.saved_model.load(str(ta.export(model, folder))).signatures["serving_default"]
    else:
        signature = ServedModel(model, model.encoder.max_length, truncate=False).signature()

        def serve(**columns):
            return signature(*columns.values())

    kind = model.task.kind
    if kind == "tagging":
        return serve(tokens=tf.ragged.constant(texts).to_tensor(""))
    if len(KINDS[kind].texts) == 2:
        first, second = zip(*texts, strict=True)
        if kind == "span_extraction":
            return serve(question=tf.constant(first), context=tf.constant(second))
        return serve(text_a=tf.constant(first), text_b=tf.constant(second))
    return serve(text=tf.constant(texts))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind", "family"), EVERY)
def test_predicted_and_served_models_agree(name, kind, family, handles, tmp_path):
    model, texts = made(name, kind, handles[family]), TEXTS[kind]
    expected = ta.predict(model, texts)
    folder = tmp_path / "1" if name in EXPORTED else None
    outputs = {key: value.numpy() for key, value in served(model, texts, folder).items()}
    if kind == "span_extraction":
        best = [one.answers[0] for one in expected]
        assert [text.decode() for text in outputs["answer"]] == [one.text for one in best]
        np.testing.assert_allclose(outputs["score"], [one.score for one in best], atol=1e-5)
        assert outputs["start"].tolist() == [one.start for one in best]
        assert outputs["end"].tolist() == [one.end for one in best]
    elif kind == "tagging":
        tags = [[tag.decode() for tag in row if tag] for row in outputs["tags"]]
        assert tags == [list(p.label) for p in expected]
    else:
        assert [label.decode() for label in outputs["label"]] == [p.label for p in expected]
        np.testing.assert_allclose(outputs["scores"], [p.scores for p in expected], atol=1e-5)


@pytest.mark.slow
def test_bert_reads_the_texts_of_a_pair_apart(shallow_bert):
    task = ta.Task("pair_regression")
    encoder = ta.HubEncoder(shallow_bert, trainable=False, pairs="separate")
    model = ta.build_model(task, encoder, head="bi_attention")
    examples = [(*pair, score) for pair, score in zip(PAIRS, (4.5, 0.5), strict=True)]
    (inputs, _) = next(iter(ta.batches(examples, task, encoder, batch_size=2)))
    assert sorted(inputs) == ["a", "b"]
    assert not inputs["b"]["input_type_ids"].numpy().any()
    expected = [one.label for one in ta.predict(model, PAIRS)]
    # The order of the texts within a row, or the other pair of a batch, is no part of it.
    alone = [ta.predict(model, [pair])[0].label for pair in PAIRS]
    np.testing.assert_allclose(alone, expected, atol=1e-5)
    found = served(model, PAIRS)["score"]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_what_cannot_be_read_apart_or_together(shallow_bert, tiny_elmo):
    task = ta.Task("pair_classification", ["no", "yes"])
    apart = ta.HubEncoder(shallow_bert, pairs="separate")
    with pytest.raises(ConfigError, match="esim, bi_attention, max_pooling"):
        ta.build_model(task, apart, head="linear")
    with pytest.raises(ConfigError, match="pairs: expected"):
        ta.HubEncoder(shallow_bert, pairs="both")
    with pytest.raises(ConfigError, match="one text at a time"):
        ta.HubEncoder(tiny_elmo, pairs="joint")
