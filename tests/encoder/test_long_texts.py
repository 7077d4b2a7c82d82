"""Texts read in windows: against windows made one by one, and as a user meets them."""

import numpy as np
import pytest
import tensorflow as tf
from small_data import TASKS, TEXTS

import tf_adapt as ta
from tf_adapt.config.reading import config_from
from tf_adapt.data.batches import prepare
from tf_adapt.data.formats import TaggedSentence
from tf_adapt.encoder.feature_cache import with_features
from tf_adapt.encoder.long_texts import LongTexts, in_windows
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.layers.head_inputs import head_inputs_of
from tf_adapt.training.finished.load_run import load_run
from tf_adapt.training.train import train

LONG = LongTexts(window=8, stride=3, pool="max")
DOCUMENT = "who is the man ? what is it ? where is the dog , the rain"


def one_by_one(encoder, ids, long):
    """The states of each position of a row without padding, and the pooled vector, from windows
    that are encoded apart."""
    begin, *tokens, end = ids
    room = long.window - 2
    starts = [0]
    while starts[-1] + room < len(tokens):
        starts.append(starts[-1] + long.stride)
    encoded = []
    for start in starts:
        window = np.array([[begin, *tokens[start : start + room], end]], "int32")
        inputs = {"input_word_ids": window, "input_mask": np.ones_like(window)}
        encoded.append(encoder.native(inputs | {"input_type_ids": np.zeros_like(window)}))
    states = []
    for number in range(len(encoded[0]["layers"])):
        rows = [one["layers"][number].numpy()[0] for one in encoded]
        found = [rows[0][0]]
        for place in range(len(tokens)):
            middles = [abs(place - (start + (room - 1) / 2)) for start in starts]
            inside = [start <= place < start + room for start in starts]
            # The later one of two that are as near.
            best = min((middle, -which) for which, middle in enumerate(middles) if inside[which])
            which = -best[1]
            found.append(rows[which][1 + place - starts[which]])
        states.append(np.array([*found, rows[-1][-1]]))
    vectors = np.array([one["pooled"].numpy()[0] for one in encoded])
    pooled = vectors.max(axis=0) if long.pool == "max" else vectors.mean(axis=0)
    return states, pooled, len(starts)


@pytest.mark.parametrize(
    ("module", "long"),
    [
        ("tiny_bert", LONG),
        ("tiny_bert", LongTexts(7, 5, "mean")),
        ("tiny_bert", LongTexts(9, 1)),
        ("tiny_causal", LongTexts(4, 2)),
    ],
    ids=str,
)
def test_states_are_those_of_windows_made_one_by_one(module, long, request):
    encoder = ta.HubEncoder(request.getfixturevalue(module), trainable=False, long=long)
    texts = [DOCUMENT, "the", *TEXTS, "", DOCUMENT[:30]]
    inputs = encoder.preprocessor(texts, encoder.max_length)
    encoded = encoder(inputs)
    mask = inputs["input_mask"].numpy() == 1
    np.testing.assert_array_equal(encoded["mask"], mask)
    windows = 0
    for row, ids in enumerate(inputs["input_word_ids"].numpy()):
        states, pooled, count = one_by_one(encoder, ids[mask[row]], long)
        windows += count
        for layer, expected in zip(encoded["layers"], states, strict=True):
            np.testing.assert_allclose(layer[row][mask[row]], expected, atol=1e-5)
        np.testing.assert_allclose(encoded["pooled"][row], pooled, atol=1e-5)
    # None of them is empty.
    assert len(in_windows(inputs, long)[0]["input_mask"]) == windows


def test_what_fits_into_one_window_is_read_as_ever(tiny_bert):
    plain = ta.HubEncoder(tiny_bert, trainable=False)
    encoder = ta.HubEncoder(tiny_bert, trainable=False, long=LongTexts(128, 64))
    one, two = encoder(TEXTS), plain(TEXTS)
    for key in ("pooled", "mask"):
        np.testing.assert_allclose(one[key], two[key], atol=1e-6)
    for left, right in zip(one["layers"], two["layers"], strict=True):
        np.testing.assert_allclose(left[two["mask"]], right[two["mask"]], atol=1e-6)
    none = encoder({name: part[:0] for name, part in encoder.preprocessor(TEXTS).items()})
    assert none["pooled"].shape[0] == 0 == none["layers"][0].shape[0]


def test_gradients_reach_every_window(tiny_bert):
    encoder = ta.HubEncoder(tiny_bert, long=LONG)
    ids = np.array([[2, *range(10, 34), 3]], "int32")
    inputs = {"input_word_ids": ids, "input_mask": np.ones_like(ids), "input_type_ids": 0 * ids}
    table = encoder.native.embeddings.word_embeddings

    def touched(read):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(read(encoder(inputs, training=False)) ** 2)
        gradient = tf.convert_to_tensor(tape.gradient(loss, table.value)).numpy()
        return set(np.flatnonzero(np.abs(gradient).sum(axis=1)))

    # The last window of six begins with token 18, id 28.
    assert touched(lambda encoded: encoded["layers"][-1][0, -2]) == {2, *range(28, 34), 3}
    assert touched(lambda encoded: encoded["layers"][-1][0, 1]) == {2, *range(10, 16), 3}
    assert touched(lambda encoded: encoded["layers"][-1]) == set(ids[0])


@pytest.mark.slow
def test_a_run_on_documents_longer_than_the_encoder_is_served(shallow_bert, tmp_path):
    random = np.random.default_rng(0)
    path, words = tmp_path / "documents.tsv", ["the", "what", "is", "dog"]
    texts = [" ".join(random.choice(words, random.integers(260, 400))) for _ in range(8)]
    lines = [f"{text}\t{('no', 'yes')[n % 2]}" for n, text in enumerate(texts)]
    path.write_text("\n".join(["text\tlabel", *lines]) + "\n", "utf-8")
    columns = {"text_a": "text", "label": "label"}
    data = {"format": "tsv", "kind": "classification", "columns": columns}
    content = {
        "data": data | {"train": str(path), "dev": str(path)},
        "encoder": {"handle": str(shallow_bert)},
        "adaptation": "fine_tuning",
        "head": "linear",
        "head_pooling": "max",
        "training": {"epochs": 1, "batch_size": 4, "learning_rate": 1e-2},
    }
    with pytest.raises(DataError, match="expected at most 256 tokens"):
        train(config_from(content, "test"), tmp_path / "plain")
    content["encoder"]["long"] = {"window": 64, "stride": 32}
    metrics = train(config_from(content, "test"), tmp_path / "run")
    assert metrics["truncated"] == {"train": 0, "dev": 0}
    model = load_run(tmp_path / "run")
    [expected] = ta.predict(model, texts[:1])
    served = tf.saved_model.load(str(ta.export(model, tmp_path / "export")))
    answer = served.signatures["serving_default"](text=tf.constant(texts[:1]))
    np.testing.assert_allclose(answer["scores"][0], expected.scores, atol=1e-5)


@pytest.mark.slow
def test_a_frozen_encoders_features_are_those_of_its_windows(tiny_bert, tmp_path):
    task = TASKS["classification"]
    encoders = [
        ta.HubEncoder(tiny_bert, trainable=False, long=LongTexts(64, stride)) for stride in (32, 62)
    ]
    records = [(" ".join(["what is the dog"] * 40), "yes"), ("who", "no")]
    for encoder in encoders:
        head = ta.build_model(task, encoder, adaptation="feature_extraction").head
        prepared = prepare(records, task, encoder)
        kept = with_features(
            prepared, encoder, cache=tmp_path / "cache", head_inputs=head_inputs_of(head)
        )
        assert kept.features
    # Other windows are other features.
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_words_of_a_long_sentence_are_tagged_in_one_piece(tiny_bert):
    words = DOCUMENT.split() * 20
    task, encoder = TASKS["tagging"], ta.HubEncoder(tiny_bert, long=LongTexts(32, 16))
    model = ta.build_model(task, encoder, adaptation="fine_tuning")
    sentence = TaggedSentence(words, ["O"] * len(words))
    [prediction] = ta.predict(model, [sentence.words])
    assert len(prediction.label) == len(words)


def test_c1_what_has_no_windows(tiny_bert, tiny_elmo, tiny_causal):
    for options, message in (
        ({"long": {"window": 300}}, "long.window: expected at most 256, the positions of the"),
        ({"long": {"window": 3}}, "long.window: expected a whole number from 4, got 3"),
        ({"long": {"window": 8, "stride": 7}}, r"long.stride: .*from 1 to 6 \(window − 2\), got 7"),
        ({"long": {"pool": "sum"}}, "long.pool: expected one of max, mean, got 'sum'"),
        ({"long": LONG, "pairs": "joint"}, "pairs: expected separate or none together with long"),
    ):
        with pytest.raises(ConfigError, match=message):
            ta.HubEncoder(tiny_bert, **options)
    with pytest.raises(ConfigError, match="long: expected a transformer, .*the family elmo"):
        ta.HubEncoder(tiny_elmo, long=LONG)
    encoder = ta.HubEncoder(tiny_bert, long=LONG)
    assert not encoder.joint_pairs and encoder.most_positions is None and encoder.max_length == 4096
    with pytest.raises(ConfigError, match="reads the texts of a pair apart"):
        encoder((["a"], ["b"]))
    with pytest.raises(ConfigError, match="got states or a perturbation"):
        encoder(encoder.preprocessor(["a"]) | {"perturbation": tf.zeros([1, 3, 16])})
    spans = ta.Task("span_extraction")
    with pytest.raises(ConfigError, match="long: expected none for span_extraction"):
        ta.build_model(spans, encoder)


def test_c1_a_document_of_100_000_words(tiny_bert):
    task, encoder = ta.Task("classification", labels=["a"]), ta.HubEncoder(tiny_bert, long=LONG)
    records = [("word " * 100_000, "a"), ("two words", "a")]
    with pytest.raises(DataError, match=r"at most 4096 tokens .*got \d{6} \(1 too long.*\bit$"):
        ta.batches(records, task, encoder)
    (inputs, _) = next(iter(ta.batches(records, task, encoder, batch_size=2, truncate=True)))
    assert inputs["a"]["input_word_ids"].shape == (2, 4096)
    with pytest.raises(DataError, match=r"expected at most 64 tokens .*in windows \(encoder.long"):
        ta.batches(records, task, ta.HubEncoder(tiny_bert), max_length=64)


def test_the_encoder_is_saved_with_its_windows(tiny_causal):
    encoder = ta.HubEncoder(tiny_causal, long=LONG, classification_token=True)
    again = ta.HubEncoder.from_config(encoder.get_config())
    assert again.long == LONG
    rows = encoder.preprocessor([DOCUMENT], encoder.max_length)
    windows, _ = in_windows(rows, LONG)
    last = windows["input_mask"].numpy().sum(axis=1) - 1
    ends = windows["input_word_ids"].numpy()[np.arange(len(last)), last]
    assert set(ends) == {encoder.preprocessor.classification_id}
