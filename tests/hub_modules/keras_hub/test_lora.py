"""LoRA in keras-hub's layers: the sum of kernels, by NumPy; what learns; what is refused."""

import keras
import numpy as np
import pytest
from adapted_encoders import adapted
from huggingface_folders import FAMILIES, keras_hub_is_new, write_folder

import tf_adapt as ta
from hub_modules.errors import ConfigError
from hub_modules.native.added.lora import merged
from hub_modules.native.added.settings import TARGETS

if not keras_hub_is_new():
    pytest.skip("needs keras-hub 0.32", allow_module_level=True)

TEXTS = ["Two dogs run", "They will be late", "the"]


@pytest.mark.parametrize(
    "family",
    [
        one
        if one in ("roberta", "albert", "deberta_v3")
        else pytest.param(one, marks=pytest.mark.large)
        for one in FAMILIES
    ],
)
def test_every_state_is_that_of_the_summed_kernels(family, tmp_path):
    folder = f"keras:{write_folder(family, tmp_path / family)}"
    lora = ta.lora(rank=2, alpha=6.0, target=TARGETS)
    encoder, plain = adapted(lora, folder), ta.HubEncoder(folder)
    random = np.random.default_rng(0)
    names = [name for name, _ in encoder.layer_groups]
    assert names == [*(name for name, _ in plain.layer_groups), "lora"]
    parts = encoder.native.adapter_layers
    assert len(dict(encoder.layer_groups)["lora"]) == 2 * len(parts)
    before = [state.numpy() for state in encoder(TEXTS)["layers"]]
    for state, other in zip(before, plain(TEXTS)["layers"], strict=True):
        np.testing.assert_allclose(state, other, atol=1e-6)  # B is zero
    kernels = {}
    for part in parts:
        part.b.assign(random.normal(size=part.b.shape, scale=0.3))
        kernels[part.name] = 3 * part.a.numpy() @ part.b.numpy()
    depth = len([name for name in names if name.startswith("layer_")])
    assert len(kernels) == depth * len(TARGETS)
    for index in range(depth):
        (block,) = plain.native._blocks[index]
        attention = block._self_attention_layer
        summed = {
            "query": attention._query_dense,
            "key": attention._key_dense,
            "value": attention._value_dense,
            "attention_output": attention._output_dense,
            "intermediate": block._feedforward_intermediate_dense,
            "output": block._feedforward_output_dense,
        }
        for target, dense in summed.items():
            added = kernels[f"layer_{index}_0_{target}_lora"].reshape(dense.kernel.shape)
            dense.kernel.assign(dense.kernel.numpy() + added)
    expected, found = plain(TEXTS), encoder(TEXTS)
    real = expected["mask"].numpy()
    for state, other in zip(expected["layers"], found["layers"], strict=True):
        np.testing.assert_allclose(state.numpy()[real], other.numpy()[real], atol=2e-5)
    assert not np.allclose(found["layers"][-1].numpy()[real], before[-1][real], atol=1e-2)
    with merged(encoder):
        top = encoder(TEXTS)["layers"][-1].numpy()
    np.testing.assert_allclose(top[real], found["layers"][-1].numpy()[real], atol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("adaptation", [ta.lora(in_layers=[1]), ta.bitfit()])
def test_what_learns_in_a_run_of_steps(adaptation, tmp_path):
    encoder = ta.HubEncoder(f"keras:{write_folder('roberta', tmp_path / 'roberta')}")
    task = ta.Task("classification", labels=["a", "b"])
    model = ta.build_model(task, encoder, head="linear", adaptation=adaptation)
    model.compile(keras.optimizers.AdamW(0.01), loss=task.loss, run_eagerly=True)
    named = encoder.native.weights_by_name()
    before = {key: weight.numpy() for key, weight in named.items()}
    data = ta.batches([(text, "ab"[n % 2]) for n, text in enumerate(TEXTS)], task, encoder)
    model.fit(data, epochs=3, verbose=0)
    moved = {key for key, weight in named.items() if (weight.numpy() != before[key]).any()}
    if adaptation.name == "lora":
        assert moved == {
            f"layer_1_0_{target}_lora/{part}" for target in ("query", "value") for part in "ab"
        }
    else:
        # The softmax hides a key's bias; rounding moves it or not.
        last = {key.rsplit("/", 1)[1] for key in moved}
        assert last == {"bias", "beta"}
        missing = {k for k in named if k.rsplit("/", 1)[1] in last} - moved
        assert all("key" in key for key in missing)


def test_what_these_layers_cannot_be_given_is_refused(tmp_path):
    folder = f"keras:{write_folder('albert', tmp_path / 'albert')}"
    with pytest.raises(ConfigError, match="expected numbers of layers from 0 to 0, each once"):
        adapted(ta.lora(in_layers=[1]), folder)
    with pytest.raises(ConfigError, match="have a place for it, got the family keras"):
        adapted(ta.adapters(), folder)
    with pytest.raises(ConfigError, match="classification_token=True .* needs a causal module"):
        ta.HubEncoder(folder, classification_token=True)
