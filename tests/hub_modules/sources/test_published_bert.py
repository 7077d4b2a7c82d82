import shutil

import numpy as np
import pytest
import tensorflow as tf

from hub_modules.sources import published_bert
from hub_modules.sources.layouts.names import to_foreign
from tf_adapt.errors import ArtifactError


def save_module(folder, arrays: dict, lower_case: bool | None = True) -> None:
    """A SavedModel whose variables have these names, and nothing else."""
    module = tf.Module()
    module.all_variables = [tf.Variable(array, name=name) for name, array in arrays.items()]
    if lower_case is not None:
        module.do_lower_case = tf.Variable(lower_case, trainable=False)
    tf.saved_model.save(module, str(folder))


@pytest.fixture
def arrays(tiny_bert) -> dict:
    return to_foreign(published_bert.table_rows(tiny_bert.config), tiny_bert.weights)


def test_written_names_are_read_back(tiny_bert, arrays, tmp_path, assert_same_source):
    tiny_bert.config |= {"dropout": 0.1, "attention_dropout": 0.1}
    save_module(tmp_path / "module", arrays | {"cls/predictions/output_bias": np.zeros(9)})
    (tmp_path / "module/assets/vocab.txt").write_text("\n".join(tiny_bert.vocabulary), "utf-8")
    assert published_bert.recognise(tmp_path / "module") == tiny_bert.config
    source = published_bert.read(tmp_path / "module")
    assert_same_source(source, tiny_bert)
    assert source.left_out == ("cls/predictions/output_bias",)


def test_a_published_module(reference):
    folder = reference / "published_hub_bert" / "encoder"
    source = published_bert.read(folder)
    assert published_bert.recognise(folder) == source.config
    variables = tf.saved_model.load(str(folder)).variables
    named = {variable.name.removesuffix(":0"): variable for variable in variables}
    foreign = to_foreign(published_bert.table_rows(source.config), source.weights)
    assert foreign.keys() == {name for name, each in named.items() if each.dtype == tf.float32}
    for name, array in foreign.items():
        np.testing.assert_array_equal(named[name].numpy(), array, err_msg=name)
    pieces = (folder / "assets/vocab.txt").read_text("utf-8").split("\n")
    assert source.vocabulary == pieces[: len(source.vocabulary)]
    assert source.lower_case is True


def test_other_modules_are_not_recognised(arrays, tmp_path):
    for edit in [
        lambda arrays: arrays.pop("pooler_transform/bias"),
        lambda arrays: arrays.update({"embedding_projection/kernel": np.zeros((6, 6))}),
        lambda arrays: arrays.update({"transformer/layer_1/output/bias": np.zeros(7)}),
        lambda arrays: arrays.update({"bert_model/x": arrays.pop("word_embeddings/embeddings")}),
        lambda arrays: arrays.clear(),
    ]:
        spoilt = dict(arrays)
        edit(spoilt)
        save_module(tmp_path / "module", spoilt)
        assert published_bert.recognise(tmp_path / "module") is None
        with pytest.raises(ArtifactError, match="execution: saved_model"):
            published_bert.read(tmp_path / "module")


def test_a_preprocessing_module_is_not_recognised(reference):
    assert published_bert.recognise(reference / "published_hub_bert" / "preprocess") is None


def test_casing_and_vocabulary_may_come_from_elsewhere(arrays, tmp_path):
    save_module(tmp_path / "module", arrays, lower_case=None)
    source = published_bert.read(tmp_path / "module")
    assert (source.vocabulary, source.lower_case) == (None, None)
    assert published_bert.read(tmp_path / "module", lower_case=False).lower_case is False


def test_recorded_casing_is_not_overruled(arrays, tmp_path):
    save_module(tmp_path / "module", arrays, lower_case=False)
    assert published_bert.read(tmp_path / "module").lower_case is False
    with pytest.raises(ArtifactError, match="records lower-casing = False, but True"):
        published_bert.read(tmp_path / "module", lower_case=True)


def test_an_object_graph_that_is_none(tmp_path):
    (tmp_path / "variables").mkdir()
    tf.raw_ops.SaveV2(
        prefix=str(tmp_path / "variables" / "variables"),
        tensor_names=["_CHECKPOINTABLE_OBJECT_GRAPH"],
        shape_and_slices=[""],
        tensors=[tf.constant(b"\xff not a message")],
    )
    with pytest.raises(ArtifactError, match="expected a readable TensorFlow checkpoint"):
        published_bert.recognise(tmp_path)


def test_missing_variables(arrays, tmp_path):
    save_module(tmp_path / "module", arrays)
    shutil.rmtree(tmp_path / "module" / "variables")
    with pytest.raises(ArtifactError, match="expected a readable TensorFlow checkpoint"):
        published_bert.recognise(tmp_path / "module")
