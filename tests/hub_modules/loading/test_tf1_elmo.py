"""ELMo in TF Hub's first format runs natively: trust, arguments, one's own mix."""

import numpy as np
import pytest
import tensorflow as tf
from random_modules import tf1_elmo_arrays, write_random_module, write_tf1_module

from hub_modules.load import load_module, module_text_settings
from hub_modules.native.added.settings import BottleneckAdapters
from hub_modules.sources import tf1_elmo
from hub_modules.sources.layouts.layer_mix import LayerMix
from tf_adapt.errors import ArtifactError, ConfigError

TEXTS = ["The cat sat on the mat .", "Yes", "na\u00efve \u5bff\u53f8 " + "long" * 20]
MIX = LayerMix((0.5, -1.0, 2.0), 0.25)


@pytest.fixture
def folder(tmp_path):
    return write_tf1_module(tmp_path / "elmo", tf1_elmo_arrays(MIX.weights, MIX.scale))


def encode(module):
    outputs = module.encoder(module.preprocessor(tf.constant(TEXTS)))
    return [np.asarray(layer, np.float32) for layer in outputs["layers"]]


def test_weights_are_read_and_the_program_is_not_run(folder, nothing_trusted):
    """The program of this module is an empty file, which nothing can load."""
    with pytest.raises(ArtifactError, match="no manifest.*trust=True"):
        load_module(folder)
    module = load_module(folder, trust=True)
    assert (module.family, module.execution, module.max_length) == ("elmo", "native", None)
    assert module.mix == MIX
    assert [layer.shape[-1] for layer in encode(module)] == [12, 12, 12]
    with pytest.raises(ArtifactError, match="cannot be loaded as a SavedModel"):
        load_module(folder, "saved_model", trust=True)


def test_the_native_encoders_options(folder):
    plain = encode(load_module(folder, trust=True))
    adapted = load_module(folder, trust=True)
    adapted.encoder.add(BottleneckAdapters(3))
    assert [name for name, _ in adapted.encoder.layer_groups][-1] == "adapters"
    half = load_module(folder, trust=True, dtype="mixed_bfloat16")
    assert half.encoder(half.preprocessor(TEXTS))["layers"][0].dtype == tf.bfloat16
    np.testing.assert_allclose(encode(half)[0], plain[0], atol=0.1)
    untrained = load_module(folder, trust=True, pretrained=False)
    assert untrained.mix is None
    assert not np.allclose(encode(untrained)[2], plain[2], atol=0.1)
    with pytest.raises(ConfigError, match="preprocessor.*an ELMo, which reads the characters"):
        load_module(folder, trust=True, preprocessor="bert_small")
    assert module_text_settings(folder) is None


def test_what_was_assumed_is_kept(folder, tmp_path):
    """That a written module keeps weights and mix: ../test_export.py."""
    source = tf1_elmo.read(folder, assumed={"sentence_boundaries": False})
    (tmp_path / "ours").mkdir()
    write_random_module(tmp_path / "ours", "elmo", source.config)
    config = load_module(tmp_path / "ours").encoder.get_config()
    assert source.config.items() <= config.items() and not config["sentence_boundaries"]


def test_a_damaged_module_is_refused_before_it_runs(folder):
    (folder / "variables" / "variables.index").unlink()
    with pytest.raises(
        ArtifactError, match="variables.index is missing.*give the folder of a whole"
    ):
        load_module(folder, trust=True)
