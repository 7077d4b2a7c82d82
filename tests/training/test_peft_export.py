"""LoRA as PEFT's folder: its products on HuggingFace's kernels, and what PEFT computes with it.

(The command: test_training_adaptations.py.)
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from adapted_encoders import adapted
from huggingface_folders import keras_hub_is_new, write_folder
from safetensors.numpy import load_file, save_file
from transformers_process import transformers_states

import tf_adapt as ta
from hub_modules.load import load_module
from hub_modules.native.added.lora import merged
from hub_modules.native.added.settings import TARGETS
from tf_adapt.errors import ConfigError
from tf_adapt.training.finished.module_export import export_huggingface
from tf_adapt.training.finished.peft_export import write_peft

TEXTS = ["the cat sat on the mat", "you", "x"]
RECORDED = Path(__file__).parents[1] / "parity" / "recorded"
OWN = ("gpt2", "modern_bert", "mpnet")
OTHERS = ("roberta", "distilbert", "albert", "electra", "deberta_v3")
LORAS = {
    "all": ta.lora(rank=2, alpha=3.0, target=TARGETS),
    "some": ta.lora(rank=3, alpha=6.0, target=("query", "output"), in_layers=[1]),
}


def base(name: str, folder: Path) -> Path:
    """A folder of HuggingFace's format."""
    if name == "bert":
        return export_huggingface("bert_small", folder)
    return RECORDED / f"huggingface_{name}" / "model" if name in OWN else write_folder(name, folder)


def with_lora(folder: Path, lora) -> ta.HubEncoder:
    encoder = adapted(lora, folder)
    random = np.random.default_rng(0)
    for part in encoder.native.adapter_layers:
        part.b.assign(random.normal(size=part.b.shape, scale=0.3))
    return encoder


@pytest.mark.parametrize(
    ("name", "lora"), [("gpt2", "all"), ("modern_bert", "all"), ("gpt2", "some"), ("mpnet", "some")]
)
def test_its_products_on_the_kernels_are_those_of_the_encoder(name, lora, tmp_path):
    folder = base(name, tmp_path / name)
    encoder = with_lora(folder, LORAS[lora])
    written = write_peft(encoder, tmp_path / "lora", {"README.md": "A card."})
    settings = json.loads((written / "adapter_config.json").read_text())
    arrays = load_file(written / "adapter_model.safetensors")
    assert len(arrays) == 2 * len(settings["target_modules"])
    assert settings["base_model_name_or_path"] == str(folder)
    stored = load_file(folder / "model.safetensors")
    kernels = {
        key.removeprefix("transformer."): array.astype("float32") for key, array in stored.items()
    }
    for layer in settings["target_modules"]:
        a, b = (arrays[f"base_model.model.{layer}.lora_{n}.weight"] for n in "AB")
        rank = settings["rank_pattern"].get(layer, settings["r"])
        assert a.shape[0] == b.shape[1] == rank
        factor = settings["alpha_pattern"].get(layer, settings["lora_alpha"]) / rank
        product = factor * b @ a
        kernels[f"{layer}.weight"] += product.T if settings["fan_in_fan_out"] else product
    merged_folder = tmp_path / "merged"
    merged_folder.mkdir()
    for file in folder.iterdir():
        if file.is_file():
            (merged_folder / file.name).write_bytes(file.read_bytes())
    save_file(kernels, merged_folder / "model.safetensors")
    expected = load_module(merged_folder).encoder.weights_by_name()
    with merged(encoder):
        for weight, value in encoder.native.weights_by_name().items():
            if "_lora/" not in weight:
                np.testing.assert_allclose(value, expected[weight], atol=1e-6, err_msg=weight)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "lora"),
    [(name, "some") for name in ("bert", *OWN)] + [(name, "all") for name in OTHERS + OWN[:2]],
)
def test_peft_computes_the_same(name, lora, tmp_path):
    if name in OTHERS and not keras_hub_is_new():
        pytest.skip("needs keras-hub 0.32")
    folder = base(name, tmp_path / name)
    encoder = with_lora(folder, LORAS[lora])
    written = write_peft(encoder, tmp_path / "lora")
    ids, mask, (*_, top), messages = transformers_states(folder, TEXTS, tmp_path, written)
    assert not re.search("MISSING|UNEXPECTED|missing adapter", messages), messages[-3000:]
    inputs = {"input_word_ids": ids, "input_mask": mask, "input_type_ids": np.zeros_like(ids)}
    inputs = {key: array.astype("int32") for key, array in inputs.items()}
    found = encoder.native(inputs)["layers"][-1].numpy()
    print(f"PEFT {name} {lora}: {np.abs(found - top)[mask == 1].max():.1e}")
    np.testing.assert_allclose(found[mask == 1], top[mask == 1], atol=1e-5)
    plain = ta.HubEncoder(folder).native(inputs)["layers"][-1].numpy()
    assert np.abs(plain - found)[mask == 1].max() > 0.01


def test_what_is_no_lora_beside_the_module_is_refused(tiny_bert, tmp_path):
    for encoder, message in [
        (ta.HubEncoder(tiny_bert), "is written of LoRA, got none; leave out --format"),
        (adapted(ta.adapters(size=2), tiny_bert), "is written of LoRA, got adapters"),
        (adapted(ta.lora(), tiny_bert, keep_layers=[1]), "with classification_token or keep_la"),
    ]:
        with pytest.raises(ConfigError, match=message):
            write_peft(encoder, tmp_path / "none")
    tuned = adapted(ta.lora(), tiny_bert)
    tuned.weights[0].assign(tuned.weights[0] + 1)
    with pytest.raises(ConfigError, match="expected the weights of module .* beside what is"):
        write_peft(tuned, tmp_path / "none")
