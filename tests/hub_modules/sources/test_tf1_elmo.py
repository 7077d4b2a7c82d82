"""ELMo in TF Hub's first format: sizes from shapes, DeepPavlov's names, what is refused."""

import shutil

import numpy as np
import pytest
import tensorflow as tf
from numpy_elmo import elmo_layers
from random_modules import tf1_elmo_arrays, write_tf1_module

from hub_modules.native.elmo import ElmoEncoder
from hub_modules.preprocess import ElmoPreprocessor
from hub_modules.sources import bilm_tf, published_bert, tf1_elmo
from hub_modules.sources.layouts.layer_mix import LayerMix
from tf_adapt.errors import ArtifactError, ConfigError

CELL = "bilm/RNN_1/RNN/MultiRNNCell/Cell1/rnn/lstm_cell"
SIZES = {
    "filters": [[1, 3], [3, 5]],
    "character_width": 4,
    "num_highway": 1,
    "projection_width": 6,
    "lstm_width": 10,
    "num_layers": 2,
}


@pytest.fixture
def arrays() -> dict:
    return tf1_elmo_arrays(weights=(0.5, -1.0, 2.0), scale=0.25)


def test_sizes_come_from_shapes_and_the_rest_is_the_published_elmos(arrays, tmp_path):
    folder = write_tf1_module(tmp_path / "elmo", arrays)
    assert tf1_elmo.recognise(folder)
    source = tf1_elmo.read(folder)
    published = {"activation": "relu", "cell_clip": 3.0, "projection_clip": 3.0}
    switches = {"skip_connections": True, "sentence_boundaries": True}
    assert source.config == SIZES | published | switches
    assert tf1_elmo.sizes_and_left_out(folder) == (SIZES, ())
    assert source.mix == LayerMix((0.5, -1.0, 2.0), 0.25)
    encoder = ElmoEncoder(**source.config)
    encoder.build()
    encoder.load_weights_by_name(source.weights)
    weights = source.weights
    np.testing.assert_array_equal(weights["char_cnn/embedding"], arrays["bilm/char_embed"][1:])
    np.testing.assert_array_equal(
        weights["char_cnn/convolution_1/kernel"], arrays["bilm/CNN/W_cnn_1"][0]
    )
    np.testing.assert_array_equal(
        weights["char_cnn/highway_0/gate_kernel"], arrays["bilm/CNN_high_0/W_carry"]
    )
    np.testing.assert_array_equal(weights["lstm_1/backward/kernel"], arrays[f"{CELL}/kernel"])


OTHERWISE = [
    {},
    {"sentence_boundaries": False},
    {"forget_bias": 0},
    {"forget_bias": 2.5},
    {"activation": "tanh"},
    {"cell_clip": 0.5},
    {"projection_clip": 0.5},
    {"skip_connections": False},
]


def test_what_is_said_otherwise_is_what_the_formulas_give(arrays, tmp_path):
    for said in OTHERWISE:
        shutil.rmtree(tmp_path / "elmo", ignore_errors=True)
        source = tf1_elmo.read(write_tf1_module(tmp_path / "elmo", arrays), assumed=said)
        encoder = ElmoEncoder(**source.config)
        encoder.build()
        encoder.load_weights_by_name(source.weights)
        sentences = [["a", "man", "sings"], ["who"], ["the", "café", "is", "open", "today"]]
        found = encoder(ElmoPreprocessor()([" ".join(words) for words in sentences]))["layers"]
        for row, words in enumerate(sentences):
            expected = elmo_layers(arrays, words, **said)
            for layer, right in zip(found, expected, strict=True):
                np.testing.assert_allclose(layer[row, : len(words)], right, atol=1e-5)
                assert not np.any(layer[row, len(words) :])
        published = elmo_layers(arrays, sentences[0])
        changed = max(
            np.abs(one - two).max()
            for one, two in zip(published, elmo_layers(arrays, sentences[0], **said), strict=True)
        )
        assert changed > 0.01 or not said


def test_bilm_tfs_format_has_no_sentences_without_boundaries(arrays, tmp_path):
    folder = write_tf1_module(tmp_path / "elmo", arrays)
    source = tf1_elmo.read(folder, assumed={"sentence_boundaries": False})
    with pytest.raises(ArtifactError, match="got one with sentence_boundaries=False"):
        bilm_tf.write(source, tmp_path / "bilm")


def test_the_formulas_are_those_of_the_recorded_module(reference):
    folder = reference / "tf1_hub_elmo"
    reader = tf.train.load_checkpoint(str(folder / "module" / "variables" / "variables"))
    arrays = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}
    with np.load(folder / "expected.npz", allow_pickle=False) as recorded:
        words = recorded["tokens"][2][: recorded["sequence_len"][2]]
        top = recorded["lstm_outputs2"][2][: len(words)]
    np.testing.assert_allclose(elmo_layers(arrays, list(words))[2], top, atol=2e-5)


def test_deeppavlovs_names_and_states(arrays, tmp_path):
    right = tf1_elmo.read(write_tf1_module(tmp_path / "google", arrays))
    weights, scale = arrays.pop("aggregation/weights"), arrays.pop("aggregation/scaling")
    arrays["aggregation/elmo_output_ELMo_W"] = weights
    arrays["aggregation/elmo_output_ELMo_gamma"] = scale[None]
    arrays["bilm/char_embed"] = arrays["bilm/char_embed"][1:]  # 261 rows
    states = ["bilm/Variable", "bilm/Variable_1", "bilm_1/Variable", "bilm_1/Variable_7"]
    arrays |= {name: np.ones([16, 10], "float32") for name in states}
    arrays["global_step"] = np.int64(3)
    folder = write_tf1_module(tmp_path / "deeppavlov", arrays)
    assert tf1_elmo.recognise(folder)
    source = tf1_elmo.read(folder)
    assert source.left_out == (*states, "global_step")
    assert (source.config, source.mix) == (right.config, right.mix)
    for name, array in right.weights.items():
        np.testing.assert_array_equal(source.weights[name], array)


def test_a_module_without_a_mix_has_none(arrays, tmp_path):
    del arrays["aggregation/weights"], arrays["aggregation/scaling"]
    assert tf1_elmo.read(write_tf1_module(tmp_path / "elmo", arrays)).mix is None


def test_what_the_module_does_not_hold_can_be_said_otherwise(arrays, tmp_path):
    folder = write_tf1_module(tmp_path / "elmo", arrays)
    said = {
        "activation": "tanh",
        "cell_clip": None,
        "projection_clip": 5,
        "skip_connections": False,
        "sentence_boundaries": False,
    }
    assert tf1_elmo.read(folder, assumed=said).config == SIZES | said
    for key, value, message in (
        ("activation", "gelu", "activation: expected relu or tanh, got 'gelu'"),
        ("cell_clip", 0, "cell_clip: expected a positive number, or null for none, got 0"),
        ("projection_clip", True, "projection_clip: expected a positive number.*got True"),
        ("skip_connections", 1, "skip_connections: expected true or false, got 1"),
        ("sentence_boundaries", "no", "sentence_boundaries: expected true or false, got 'no'"),
        ("forget_bias", None, "forget_bias: expected a number, got None"),
        ("characters", 30, "'characters': expected one of activation, cell_clip"),
    ):
        with pytest.raises(ConfigError, match=message):
            tf1_elmo.read(folder, assumed={key: value})
    with pytest.raises(ArtifactError, match="leave --lower-case and --cased out"):
        tf1_elmo.read(folder, lower_case=True)


def test_a_module_that_is_no_whole_elmo_is_refused(arrays, tmp_path):
    for name, value, message in [
        (f"{CELL}/bias", None, "expected 23 weights, 1 are missing: bilm/RNN_1/RNN/.*/bias"),
        (f"{CELL}/projection/kernel", None, "1 are missing: .*Cell1/rnn/lstm_cell/projection"),
        ("bilm/CNN/W_cnn_1", None, r"W_cnn_1: expected a weight of the shape \[1, width, .*none"),
        ("bilm/CNN/b_cnn_1", np.zeros(4, "float32"), r"b_cnn_1: expected shape \(5,\), got \(4,\)"),
        (f"{CELL}/kernel", np.zeros([12, 8], "float32"), r"expected shape \(12, 40\), got \(12, 8"),
        (f"{CELL}/w_f_diag", np.zeros(10, "float32"), "1 weights are unknown: .*w_f_diag"),
        ("bilm/char_embed", np.zeros([300, 4], "float32"), "char_embed: expected 261 rows, or 262"),
        ("bilm/char_embed", np.zeros(4, "float32"), r"expected a weight of the shape \[rows, char"),
        ("bilm/CNN_proj/b_proj", np.full(6, np.nan, "float32"), "b_proj: expected finite numbers"),
        ("aggregation/weights", np.zeros(4, "float32"), r"weights \[3\] and a scale.*got \[4\]"),
        (
            "aggregation/scaling",
            np.zeros(2, "float32"),
            r"a scale \[\] or \[1\].*got \[3\] and \[2",
        ),
        ("aggregation/scaling", np.float32("inf"), "expected finite numbers in the mix of layers"),
    ]:
        shutil.rmtree(tmp_path / "elmo", ignore_errors=True)
        spoilt = arrays | {name: value}
        whole = {key: array for key, array in spoilt.items() if array is not None}
        folder = write_tf1_module(tmp_path / "elmo", whole)
        with pytest.raises(ArtifactError, match=message) as refused:
            tf1_elmo.read(folder)
        assert str(folder) in str(refused.value)


def test_a_half_downloaded_module_is_refused(arrays, tmp_path):
    folder = write_tf1_module(tmp_path / "elmo", arrays)
    data = folder / "variables" / "variables.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:1000])
    for use in (tf1_elmo.recognise, tf1_elmo.read):
        with pytest.raises(ArtifactError, match="bytes of variables, got data files of 1000; copy"):
            use(folder)


def test_other_modules_are_not_recognised(arrays, tmp_path, reference):
    assert not tf1_elmo.recognise(reference / "published_hub_bert" / "encoder")
    other = {"bilm/table": arrays["bilm/char_embed"]}
    assert not tf1_elmo.recognise(write_tf1_module(tmp_path / "other", other))
    assert published_bert.recognise(write_tf1_module(tmp_path / "elmo", arrays)) is None
