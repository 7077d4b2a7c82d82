"""New random weights in the topmost layers: which, how they are drawn, what is refused."""

import keras
import numpy as np
import pytest
from huggingface_folders import keras_hub_is_new, write_folder
from small_data import TASKS

import tf_adapt as ta
from tf_adapt.config.reading import config_from
from tf_adapt.errors import ConfigError


def model_of(handle, layers, seed=0):
    keras.utils.set_random_seed(seed)
    encoder = ta.HubEncoder(handle)
    ta.build_model(TASKS["classification"], encoder, adaptation=ta.fine_tuning(reinitialise=layers))
    return encoder


def arrays(encoder) -> dict[str, np.ndarray]:
    return {name: weight.numpy() for name, weight in encoder.native.weights_by_name().items()}


@pytest.mark.slow
def test_the_topmost_layers_and_the_pooler_are_drawn_anew_by_the_seed():
    before, encoder = arrays(ta.HubEncoder("bert_small")), model_of("bert_small", 2)
    depth = encoder.num_layers - 1
    drawn = ("pooler/", *(f"layer_{number}/" for number in (depth - 2, depth - 1)))
    after, again = arrays(encoder), arrays(model_of("bert_small", 2))
    other = arrays(model_of("bert_small", 2, seed=1))
    for name, array in after.items():
        np.testing.assert_array_equal(array, again[name])
        part = name.split("/")[-1]
        if not name.startswith(drawn):
            np.testing.assert_array_equal(array, before[name])
        elif part == "kernel":
            # That of a normal distribution cut at two deviations.
            assert abs(array.std() / (0.02 * 0.8796) - 1) < 0.03, name
            assert np.abs(array).max() <= 0.04001 and (array != other[name]).any()
        else:
            np.testing.assert_array_equal(array, float(part == "gamma"))
    assert not encoder.as_stored


@pytest.mark.slow
def test_what_it_is_not_for_is_refused(tiny_elmo, tiny_bert, tmp_path):
    with pytest.raises(ConfigError, match="expected a transformer that runs natively, .* elmo"):
        model_of(tiny_elmo, 1)
    with pytest.raises(ConfigError, match="expected at most 2 layers, .* got 3"):
        model_of(tiny_bert, 3)
    if keras_hub_is_new():
        albert = f"keras:{write_folder('albert', tmp_path / 'albert')}"
        with pytest.raises(ConfigError, match="layers have weights of their own, got .* share"):
            model_of(albert, 1)
    with pytest.raises(ConfigError, match="reinitialise: expected a whole number of at least 1"):
        ta.fine_tuning(reinitialise=0)
    config = {
        "data": {"dataset": "sample_classification", "source": "sample"},
        "encoder": {"handle": "bert_small"},
        "adaptation": {"name": "fine_tuning", "reinitialise": 1},
    }
    assert config_from(config, "config").adaptation.reinitialise == 1
    with pytest.raises(ConfigError, match="adaptation.reinitialise: expected null together with"):
        config_from(config | {"start": {"run": "runs/a"}}, "config")
