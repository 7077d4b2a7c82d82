"""Every head of the table by its name, on both families: fit, predict, serve, save and load."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.errors import ConfigError
from tf_adapt.heads.table import HEADS
from tf_adapt.tasks.kinds import MULTILABEL, REGRESSIONS, SPAN_EXTRACTION
from tf_adapt.tasks.span_search import SpanSearch

PAIRS = [("a man sings", "he sings"), ("a dog barks loudly", "rain")]
DATA = {
    "classification": (["a good film", "dull", "fine"], ["yes", "no", "yes"]),
    "pair_classification": (PAIRS, ["yes", "no"]),
    "pair_regression": (PAIRS, [4.5, 0.5]),
    "regression": (["a good film", "dull", "fine"], [4.5, 0.5, 3.0]),
    "multilabel_classification": (
        ["a good film", "dull", "fine"],
        [["yes"], [], ["no", "yes"]],
    ),
    "span_extraction": (
        [("who sings", "Ann Lee sings a song"), ("what", "the rain")],
        [
            {"text": ["Ann Lee"], "answer_start": [0]},
            {"text": [], "answer_start": []},
        ],
    ),
    "tagging": ([["Ann", "Lee", "sings"], ["rain"]], [["B-PER", "I-PER", "O"], ["O"]]),
}
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
OF_TWO_VECTORS = ("skip_thoughts", "infersent")
CASES = [(name, kind) for name, head in HEADS.items() for kind in head.kinds]


# In CI each head with its first kind on one family, by turns; all the rest when asked for.
IN_CI = {
    (name, head.kinds[0], "bert" if name in OF_TWO_VECTORS else ("bert", "elmo")[number % 2])
    for number, (name, head) in enumerate(HEADS.items())
}
EVERY = [
    pytest.param(
        name,
        kind,
        family,
        id=f"{name}, {kind}, {family}",
        marks=pytest.mark.slow if (name, kind, family) in IN_CI else pytest.mark.large,
    )
    for name, kind in CASES
    for family in ("bert", "elmo")
    if family == "bert" or name not in OF_TWO_VECTORS
]


@pytest.fixture(scope="module")
def handles(tiny_bert, tiny_elmo) -> dict:
    return {"bert": tiny_bert, "elmo": tiny_elmo}


def trained(name: str, kind: str, handle) -> keras.Model:
    """A model that has learnt a little, by a rate that leaves the start far behind."""
    labels = (
        None
        if kind in (*REGRESSIONS, SPAN_EXTRACTION)
        else TAGS
        if kind == "tagging"
        else ["no", "yes"]
    )
    spans = SpanSearch(8, no_answer_threshold=0.0) if kind == SPAN_EXTRACTION else None
    task = ta.Task(kind, labels, spans=spans)
    pairs = "separate" if name in OF_TWO_VECTORS else None
    encoder = ta.HubEncoder(handle, trainable=False, pairs=pairs)
    units = 4 if HEADS[name].has_lstm else None
    model = ta.build_model(task, encoder, head=name, head_units=units)
    model.compile(keras.optimizers.Adam(0.1), loss=task.loss, metrics=task.metrics)
    history = model.fit(ta.batches(examples(kind), task, encoder, batch_size=2), verbose=0).history
    assert np.isfinite(history["loss"]).all()
    return model


def examples(kind: str) -> list:
    texts, labels = DATA[kind]
    if kind.startswith("pair") or kind == SPAN_EXTRACTION:
        return [(*pair, label) for pair, label in zip(texts, labels, strict=True)]
    return list(zip(texts, labels, strict=True))


def served(model, folder, texts: list) -> dict:
    serve = tf.saved_model.load(str(ta.export(model, folder))).signatures["serving_default"]
    if model.task.is_tagging:
        return serve(tokens=tf.ragged.constant(texts).to_tensor(""))
    if model.task.is_pair:
        first, second = zip(*texts, strict=True)
        if model.task.is_span_extraction:
            return serve(question=tf.constant(first), context=tf.constant(second))
        return serve(text_a=tf.constant(first), text_b=tf.constant(second))
    return serve(text=tf.constant(texts))


@pytest.mark.parametrize(("name", "kind", "family"), EVERY)
def test_predicted_served_and_saved_models_agree(name, kind, family, handles, tmp_path):
    model, texts = trained(name, kind, handles[family]), DATA[kind][0]
    expected = ta.predict(model, texts)
    outputs = {key: value.numpy() for key, value in served(model, tmp_path / "1", texts).items()}
    if kind in REGRESSIONS:
        np.testing.assert_allclose(outputs["score"], [p.label for p in expected], rtol=1e-4)
    elif kind == SPAN_EXTRACTION:
        best = [one.answers[0] for one in expected]
        assert [text.decode() for text in outputs["answer"]] == [one.text for one in best]
        np.testing.assert_allclose(outputs["score"], [one.score for one in best], atol=1e-5)
        assert outputs["start"].tolist() == [one.start for one in best]
        assert outputs["end"].tolist() == [one.end for one in best]
    elif kind == "tagging":
        tags = [[tag.decode() for tag in row if tag] for row in outputs["tags"]]
        assert tags == [list(p.label) for p in expected]
    elif kind == MULTILABEL:
        rows = [tuple(label.decode() for label in row if label) for row in outputs["labels"]]
        assert rows == [p.label for p in expected]
        np.testing.assert_allclose(outputs["scores"], [p.scores for p in expected], atol=1e-5)
    else:
        assert [label.decode() for label in outputs["label"]] == [p.label for p in expected]
        np.testing.assert_allclose(outputs["scores"], [p.scores for p in expected], atol=1e-5)
    model.save(tmp_path / "x.keras")
    assert ta.predict(keras.saving.load_model(tmp_path / "x.keras"), texts) == expected


@pytest.mark.parametrize(
    ("name", "kind", "family"), [case for case in EVERY if "crf" in case.values[0]]
)
def test_constraints_hold_in_the_served_graph(name, kind, family, handles, tmp_path):
    model = trained(name, kind, handles[family])
    # I-LOC is by far the best tag for each word, and may follow B-LOC and I-LOC only.
    model.head.dense.set_weights(
        [np.zeros(model.head.dense.kernel.shape), np.array([0.0, 0.0, 5.0, 0.0, 9.0])]
    )
    transitions = np.zeros((5, 5))
    transitions[1, 4] = 50.0  # B-PER then I-LOC, which no scheme allows
    model.head.chain.transitions.assign(transitions)
    outputs = served(model, tmp_path / "1", [["a", "b"], ["c"]])
    tags = [[tag.decode() for tag in row if tag] for row in outputs["tags"].numpy()]
    assert tags[0] == ["B-LOC", "I-LOC"]
    assert tags[1][0] in ("O", "B-PER", "B-LOC")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        pytest.param("esim", "pair_classification", marks=pytest.mark.large),
        ("bi_attention", "pair_regression"),
        pytest.param("max_pooling", "pair_regression", marks=pytest.mark.large),
    ],
)
def test_bert_reads_the_texts_of_a_pair_apart(name, kind, tiny_bert, tmp_path):
    task = ta.Task(kind, None if kind == "pair_regression" else ["no", "yes"])
    encoder = ta.HubEncoder(tiny_bert, trainable=False, pairs="separate")
    model = ta.build_model(task, encoder, head=name, head_units=4 if name == "esim" else None)
    model.compile(keras.optimizers.Adam(0.01), loss=task.loss, metrics=task.metrics)
    (inputs, _) = next(iter(ta.batches(examples(kind), task, encoder, batch_size=2)))
    assert sorted(inputs) == ["a", "b"]
    assert not inputs["b"]["input_type_ids"].numpy().any()
    model.fit(ta.batches(examples(kind), task, encoder, batch_size=2), verbose=0)
    expected = ta.predict(model, PAIRS)
    # The order of the texts within a row, or the other pair of a batch, is no part of it.
    alone = [ta.predict(model, [pair])[0] for pair in PAIRS]
    key = (lambda p: p.label) if kind == "pair_regression" else (lambda p: p.scores[1])
    np.testing.assert_allclose([key(p) for p in alone], [key(p) for p in expected], atol=1e-5)
    outputs = served(model, tmp_path / "1", PAIRS)
    found = outputs["score"] if kind == "pair_regression" else outputs["scores"][:, 1]
    np.testing.assert_allclose(found, [key(p) for p in expected], atol=1e-5)


def test_what_cannot_be_read_apart_or_together(tiny_bert, tiny_elmo):
    task = ta.Task("pair_classification", ["no", "yes"])
    apart = ta.HubEncoder(tiny_bert, pairs="separate")
    with pytest.raises(ConfigError, match="esim, bi_attention, max_pooling"):
        ta.build_model(task, apart, head="linear")
    with pytest.raises(ConfigError, match="pairs: expected"):
        ta.HubEncoder(tiny_bert, pairs="both")
    with pytest.raises(ConfigError, match="one text at a time"):
        ta.HubEncoder(tiny_elmo, pairs="joint")
