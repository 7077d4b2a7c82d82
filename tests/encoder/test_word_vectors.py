"""Word vectors as an encoder: look-ups against NumPy, what learns, what is refused, runs."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from small_data import TASKS

import tf_adapt as ta
from hub_modules.load import load_module
from tf_adapt.config.reading import config_from
from tf_adapt.data.formats import TaggedSentence
from tf_adapt.data.packing.prepare import prepare
from tf_adapt.encoder.feature_cache import with_features
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.training.finished.inspect import inspect_module
from tf_adapt.training.finished.load_run import load_run
from tf_adapt.training.finished.module_export import export_module
from tf_adapt.training.train import train

WORDS = ["the", "a", "film", "good", "dull", "man", "sings", "what", "is", "naïve"]
VECTORS = np.random.default_rng(3).normal(size=(len(WORDS), 5)).round(3).astype("float32")
TEXTS = ["a good film", "What IS naïve", "", "unheard-of the"]
RECORDS = {
    "classification": [("a good film", "yes"), ("dull", "no")],
    "pair_classification": [("a man sings", "the man", "yes"), ("dull", "what is it", "no")],
    "tagging": [TaggedSentence(["a", "man", "sings"], ["O", "B-PER", "O"])],
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    lines = [" ".join([word, *map(str, row)]) for word, row in zip(WORDS, VECTORS, strict=True)]
    file = tmp_path_factory.mktemp("vectors") / "glove.txt"
    file.write_text("\n".join(lines) + "\n", "utf-8")
    return file


def looked_up(text: str) -> np.ndarray:
    mean = VECTORS.mean(axis=0, dtype="float64")
    rows = [VECTORS[WORDS.index(w)] if w in WORDS else mean for w in text.lower().split()]
    return np.array(rows).reshape(-1, VECTORS.shape[1])


def test_states_are_the_rows_of_the_words(path):
    encoder = ta.HubEncoder(path, trainable=False)
    outputs = encoder(TEXTS)
    (states,), mask = outputs["layers"], outputs["mask"].numpy()
    assert mask.tolist() == [[True] * 3, [True] * 3, [False] * 3, [True, True, False]]
    for number, text in enumerate(TEXTS):
        expected = looked_up(text)
        np.testing.assert_allclose(states[number, : len(expected)], expected, rtol=1e-6)
        assert not states[number, len(expected) :].numpy().any()
    assert (encoder.family, encoder.execution, encoder.joint_pairs) == ("words", "native", False)
    assert (encoder.num_layers, encoder.output_width) == (1, 5)
    assert encoder.layer_names == ["embeddings"]
    assert set(outputs) == {"layers", "mask"}


def test_frozen_or_tuned_the_gradient_is_that_of_the_words(path):
    encoder = ta.HubEncoder(path)
    (table,) = encoder.trainable_weights
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(encoder(["good good odd"])["layers"][0])
    gradient = tf.convert_to_tensor(tape.gradient(loss, table.value)).numpy()
    expected = np.zeros([len(WORDS) + 1, 5])
    expected[0], expected[1 + WORDS.index("good")] = 1, 2
    np.testing.assert_array_equal(gradient, expected)
    encoder.trainable = False
    with tf.GradientTape() as tape:
        tape.watch(table.value)
        loss = tf.reduce_sum(encoder(["good good odd"])["layers"][0])
    assert tape.gradient(loss, table.value) is None


def test_random_vectors_and_half_precision(path):
    untrained = ta.HubEncoder(path, pretrained=False)
    states = untrained(["good"])["layers"][0].numpy()
    assert np.abs(states).max() > 0 and not np.allclose(states[0], looked_up("good"))
    half = ta.HubEncoder(path, dtype="mixed_bfloat16")
    assert half(["good"])["layers"][0].dtype == "bfloat16"
    assert half.weights[0].dtype == "float32"


def test_options_that_it_has_not(path):
    for options, message in [
        ({"execution": "saved_model"}, "a file of numbers, not a program"),
        ({"preprocessor": "bert_small"}, "its preprocessing; leave the argument out"),
    ]:
        with pytest.raises(ConfigError, match=message):
            load_module(path, **options)
    task = ta.Task("classification", labels=["no", "yes"])
    with pytest.raises(ConfigError, match="adapters: expected .* have a place for it, got .*words"):
        ta.build_model(task, ta.HubEncoder(path), adaptation=ta.adapters())
    with pytest.raises(ConfigError, match="one text at a time"):
        ta.HubEncoder(path, pairs="joint")
    with pytest.raises(ConfigError, match="gradient_checkpointing: expected a"):
        ta.HubEncoder(path, gradient_checkpointing=True)
    with pytest.raises(ArtifactError, match="no such file; expected a file of word vectors"):
        load_module(path.parent / "absent.txt")
    with pytest.raises(ConfigError, match=r"\.txt file of word vectors"):
        config_of(path.parent / "absent.txt")


def test_inspect_says_that_it_lowers_case(path, tmp_path):
    found = inspect_module(str(path))
    assert found["lower_case"] is True
    assert (found["family"], found["recognised"], found["layers"]) == ("words", True, 1)
    assert found["groups"] == {"embeddings": 55}
    (tmp_path / "cased.txt").write_text("Paris 1 2\n")
    assert inspect_module(str(tmp_path / "cased.txt"))["lower_case"] is False


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "adaptation", "head"),
    [
        ("pair_classification", "fine_tuning", "bi_attention"),
        ("tagging", "feature_extraction", "linear_tagger"),
    ],
)
def test_trained_predicted_served_and_saved(kind, adaptation, head, path, tmp_path):
    task, records = TASKS[kind], RECORDS[kind]
    encoder = ta.HubEncoder(path, trainable=adaptation == "fine_tuning")
    model = ta.build_model(task, encoder, head, adaptation)
    optimizer = keras.optimizers.Adam(0.1)
    model.compile(optimizer, loss=task.loss, metrics=task.metrics, run_eagerly=True)
    before = encoder.weights[0].numpy()
    model.fit(ta.batches(records, task, encoder, batch_size=2), epochs=2, verbose=0)
    assert np.array_equal(before, encoder.weights[0]) == (adaptation == "feature_extraction")
    texts = [record.words if kind == "tagging" else record[:-1] for record in records]
    expected = ta.predict(model, texts)
    folder = ta.export(model, tmp_path / "1")
    serve = tf.saved_model.load(str(folder)).signatures["serving_default"]
    if kind == "tagging":
        answer = serve(tokens=tf.ragged.constant(texts).to_tensor(""))
        assert [[tag.decode() for tag in row] for row in answer["tags"].numpy()] == [
            list(one.label) for one in expected
        ]
    else:
        first, second = zip(*texts, strict=True)
        answer = serve(text_a=tf.constant(first), text_b=tf.constant(second))
        np.testing.assert_allclose(answer["scores"], [one.scores for one in expected], atol=1e-6)
    model.save(tmp_path / "x.keras")
    assert ta.predict(keras.saving.load_model(tmp_path / "x.keras"), texts) == expected


def test_features_of_the_cache_are_the_states(path, tmp_path):
    encoder = ta.HubEncoder(path, trainable=False)
    prepared = prepare(RECORDS["classification"], TASKS["classification"], encoder)
    for _ in range(2):  # written, then read
        (features,) = with_features(prepared, encoder, tmp_path / "cache").features[0]
        states = features.rows(0)[:, 0]
        np.testing.assert_allclose(states, looked_up("a good film"), rtol=1e-6)
    other = tmp_path / "other.txt"
    other.write_text(path.read_text("utf-8").replace("good", "bad"), "utf-8")
    prepared = prepare(RECORDS["classification"], TASKS["classification"], encoder)
    with_features(prepared, ta.HubEncoder(other, trainable=False), tmp_path / "cache")
    assert len(list((tmp_path / "cache").glob("*/features"))) == 2


def config_of(handle, adaptation="fine_tuning", **sections):
    content = {
        "data": {"dataset": "sample_classification", "source": "sample", "train_examples": 32},
        "encoder": {"handle": str(handle)},
        "head": "linear",
        "adaptation": adaptation,
        "training": {"epochs": 1, "batch_size": 8, "learning_rate": 1e-1},
    }
    return config_from(content | sections, "test")


@pytest.mark.slow
def test_a1_a_run_whose_file_has_changed_is_refused(path, tmp_path):
    copied, original = tmp_path / "glove.txt", path.read_text("utf-8")
    copied.write_text(original, "utf-8")
    metrics = train(config_of(copied), tmp_path / "run")
    assert (metrics["encoder"], metrics["family"]) == (str(copied), "words")
    assert metrics["parameters"]["total"] == metrics["parameters"]["trainable"]
    with pytest.raises(
        ConfigError, match="families bert, elmo, causal, lstm, .* can be written .*got one of words"
    ):
        export_module(tmp_path / "run", tmp_path / "module")
    copied.write_text(original.replace("naïve", "naive"), "utf-8")
    with pytest.raises(ArtifactError, match="bring the module back"):
        load_run(tmp_path / "run")
