import json
import shutil

import h5py
import numpy as np
import pytest

from hub_modules.native.elmo import ElmoEncoder
from hub_modules.sources import bilm_tf
from hub_modules.sources.layouts.names import to_foreign
from tf_adapt.errors import ArtifactError


def edit_options(folder, key: str, value) -> None:
    path = folder / "options.json"
    options = json.loads(path.read_text("utf-8"))
    inner = options
    *parents, last = key.split(".")
    for parent in parents:
        inner = inner[parent]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    path.write_text(json.dumps(options), encoding="utf-8")


def test_written_and_read_back(tiny_elmo, tmp_path, assert_same_source):
    bilm_tf.write(tiny_elmo, tmp_path / "elmo")
    assert_same_source(bilm_tf.read(tmp_path / "elmo"), tiny_elmo)


def test_recorded_weights_come_back_bit_for_bit(reference):
    for folder in ["bilm_tf", "allennlp_elmo"]:
        source = bilm_tf.read(reference / folder)
        arrays = to_foreign(bilm_tf.table_rows(source.config), source.weights)
        with h5py.File(reference / folder / "lm_weights.hdf5", "r") as file:
            for name, array in arrays.items():
                np.testing.assert_array_equal(file[name][()], array)


def test_no_projection_where_the_filters_are_as_many(tiny_elmo, tmp_path):
    config = tiny_elmo.config | {"projection_width": 7}
    shapes = bilm_tf.elmo_shapes(config)
    assert not [name for name in shapes if name.startswith("char_cnn/projection")]
    encoder = ElmoEncoder(**config)
    encoder.build()
    assert encoder.weights_by_name().keys() == shapes.keys()


def test_training_number_of_characters_is_explained(tiny_elmo, tmp_path):
    bilm_tf.write(tiny_elmo, tmp_path / "elmo")
    edit_options(tmp_path / "elmo", "char_cnn.n_characters", 261)
    message = "n_characters: expected 262, got 261, the number used while training.*set n_char"
    with pytest.raises(ArtifactError, match=message):
        bilm_tf.read(tmp_path / "elmo")


def test_options_that_do_not_fit(tiny_elmo, tmp_path):
    for key, value, message in [
        ("char_cnn.activation", "gelu", "char_cnn.activation: expected relu or tanh, got 'gelu'"),
        ("char_cnn.n_characters", 300, "char_cnn.n_characters: expected 262, got 300"),
        ("char_cnn.max_characters_per_token", 20, "max_characters_per_token: expected 50, got 20"),
        ("char_cnn.filters", [], "char_cnn.filters: expected at least one filter, got none"),
        ("char_cnn.filters", [[0, 3], [2, 4]], r"char_cnn.filters\[0\]: expected .*, got \[0, 3\]"),
        ("char_cnn.filters", [[1, 3], [2]], r"char_cnn.filters\[1\]: expected .*, got \[2\]"),
        ("char_cnn", None, "char_cnn.n_characters: expected a positive integer, got nothing"),
        ("lstm.use_skip_connections", 1, "use_skip_connections: expected true or false, got 1"),
        ("lstm.dim", 2**50, r"W_0: expected shape .*, got \(12, 32\)"),
        ("lstm.n_layers", 10**15, "lstm.n_layers: expected an integer from 1 to 1000"),
        ("lstm.n_layers", 3, "6 are missing: RNN_0/RNN/MultiRNNCell/Cell2/LSTMCell/B"),
        ("lstm.n_layers", 1, "6 weights are unknown: RNN_0/RNN/MultiRNNCell/Cell1/LSTMCell/B"),
        ("char_cnn.embedding.dim", 4, r"char_embed: expected shape \(261, 4\), got \(261, 5\)"),
    ]:
        shutil.rmtree(tmp_path / "elmo", ignore_errors=True)
        bilm_tf.write(tiny_elmo, tmp_path / "elmo")
        edit_options(tmp_path / "elmo", key, value)
        with pytest.raises(ArtifactError, match=message):
            bilm_tf.read(tmp_path / "elmo")


def test_published_file_names_are_found(tiny_elmo, tmp_path, assert_same_source):
    folder = tmp_path / "elmo"
    bilm_tf.write(tiny_elmo, folder)
    (folder / "options.json").rename(folder / "elmo_small_options.json")
    (folder / "weights.hdf5").rename(folder / "elmo_small_weights.hdf5")
    assert_same_source(bilm_tf.read(folder), tiny_elmo)
    shutil.copy(folder / "elmo_small_weights.hdf5", folder / "other_weights.hdf5")
    message = r"expected weights.hdf5 or exactly one .*, got elmo_small_weights.hdf5, other_weights"
    with pytest.raises(ArtifactError, match=message):
        bilm_tf.read(folder)


def test_missing_files_and_a_casing(tiny_elmo, tmp_path):
    with pytest.raises(ArtifactError, match="expected options.json .*, got none"):
        bilm_tf.read(tmp_path)
    with pytest.raises(ArtifactError, match="leave --lower-case and --cased out"):
        bilm_tf.read(tmp_path, lower_case=True)
