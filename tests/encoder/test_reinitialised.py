"""New random weights in the topmost layers: which, how they are drawn, what is refused."""

import keras
import numpy as np
import pytest
from huggingface_folders import keras_hub_is_new, write_folder
from small_data import TASKS

import tf_adapt as ta
from tf_adapt.config.reading import config_from
from tf_adapt.errors import ConfigError
from tf_adapt.models.dialog.dialog_model import build_dialog_model

CONFIG = {
    "data": {"dataset": "sample_classification", "source": "sample"},
    "encoder": {"handle": "bert_small"},
    "adaptation": {"name": "fine_tuning", "reinitialise": 1},
}
TEXT = {"format": "text", "kind": "language_model", "train": "a.txt", "dev": "b.txt"}
DIALOG = {"dataset": "sample_dialog", "source": "sample"}
WRITTEN = {"format": "tsv", "kind": "text_generation", "train": "a.tsv", "dev": "b.tsv"}


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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"start": {"run": "runs/a"}}, "expected null together with start, whose weights .* got 1"),
        ({"penalties": {"l2_sp": {}}}, "with penalties.l2_sp, which would hold .* random weights"),
        ({"penalties": {"ewc": {"fisher": "a.npz"}}}, "expected null together with penalties.ewc"),
        ({"data": TEXT, "objective": "language_model"}, "null for language_model, .* output layer"),
        (
            {"data": DIALOG},
            "expected null for dialog, whose pretrained output layer reads .* got 1",
        ),
        ({"data": WRITTEN}, "not supported for kind: text_generation"),
    ],
)
def test_configs_that_contradict_it_are_refused(changes, message):
    assert config_from(CONFIG, "config").adaptation.reinitialise == 1
    with pytest.raises(ConfigError, match=f"adaptation.reinitialise: .*{message}"):
        config_from(CONFIG | changes, "config")


def test_below_a_pretrained_output_layer_it_is_refused(tiny_causal):
    encoder = ta.HubEncoder(tiny_causal)
    before, adaptation = arrays(encoder), ta.fine_tuning(reinitialise=1)
    message = "reinitialise .*: expected none for {}, whose pretrained output layer .* got 1; leave"
    with pytest.raises(ConfigError, match=message.format("language_model")):
        ta.build_language_model(ta.Task("language_model"), encoder, adaptation)
    with pytest.raises(ConfigError, match=message.format("dialog")):
        build_dialog_model(ta.Task("dialog"), encoder, adaptation)
    for name, array in arrays(encoder).items():
        np.testing.assert_array_equal(array, before[name])


def test_penalties_have_no_random_start(tiny_bert):
    encoder = ta.HubEncoder(tiny_bert)
    start = ta.StartingPoint(encoder)
    model = ta.build_model(
        TASKS["classification"], encoder, "linear", ta.fine_tuning(reinitialise=1)
    )
    fisher = {"layer_0/attention/query/kernel": np.ones([16, 16], "float32")}
    for penalty, given in ((ta.l2_sp, {}), (ta.ewc, {"fisher": fisher})):
        with pytest.raises(ConfigError, match="without reinitialise, .* w⁰ .* got 1; leave it out"):
            penalty(model, encoder, **given)
    assert ta.l2_sp(model, encoder, start=start) is start
