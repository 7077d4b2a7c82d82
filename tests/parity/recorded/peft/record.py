"""Records PEFT's LoRA on a small BERT of random weights: hidden states, merged kernels, gradients.

Run with an interpreter that has peft, torch and transformers (requirements/oracles.txt):
python tests/parity/recorded/peft/record.py OUT.npz
Arrays: `weights:NAME` of HuggingFace's BERT; `inputs:NAME`; and for each case
`CASE:a:LAYER:TARGET` and `CASE:b:…` as PEFT stores them, `CASE:rank`, `CASE:alpha`,
`CASE:hidden:LAYER`, `CASE:merged_hidden:LAYER`, `CASE:merged:NAME`, `CASE:of_a:…`, `CASE:of_b:…`:
the gradients of the mean of the squared top states of real tokens.
"""

import sys

import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from transformers import BertConfig, BertModel

MODULES = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attention_output": "attention.output.dense",
    "intermediate": "intermediate.dense",
    "output": "output.dense",
}
CASES = {"query_value": (3, 6.0, ["query", "value"]), "all": (2, 5.0, list(MODULES))}
CONFIG = {
    "vocab_size": 20,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 12,
    "max_position_embeddings": 10,
    "initializer_range": 0.4,
    "attn_implementation": "eager",
}


def base() -> BertModel:
    torch.manual_seed(7)
    model = BertModel(BertConfig(**CONFIG)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.1 * torch.randn_like(weight)
    return model


def main(out: str) -> None:
    random = np.random.default_rng(3)
    mask = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]])
    inputs = {
        "input_ids": random.integers(1, 20, mask.shape) * mask,
        "attention_mask": mask,
        "token_type_ids": random.integers(0, 2, mask.shape) * mask,
    }
    tensors = {name: torch.tensor(array) for name, array in inputs.items()}
    arrays = {f"inputs:{name}": array for name, array in inputs.items()}
    arrays |= {f"weights:{n}": w.detach().numpy() for n, w in base().named_parameters()}
    for case, (rank, alpha, targets) in CASES.items():
        pattern = "|".join(MODULES[target].replace(".", r"\.") for target in targets)
        settings = LoraConfig(
            r=rank, lora_alpha=alpha, target_modules=rf".*layer\.\d+\.({pattern})", bias="none"
        )
        model = get_peft_model(base(), settings).eval()
        layers = model.base_model.model.encoder.layer
        arrays |= {f"{case}:rank": np.array(rank), f"{case}:alpha": np.array(alpha)}
        parts = {
            f"{number}:{target}": layers[number].get_submodule(MODULES[target])
            for number in range(len(layers))
            for target in targets
        }
        learning = [name for name, weight in model.named_parameters() if weight.requires_grad]
        assert len(learning) == 2 * len(parts), learning
        with torch.no_grad():
            for part in parts.values():
                for matrices in (part.lora_A, part.lora_B):
                    matrices["default"].weight.normal_(0, 0.5)
        states = model(**tensors, output_hidden_states=True).hidden_states
        (states[-1][tensors["attention_mask"] == 1] ** 2).mean().backward()
        for place, part in parts.items():
            for letter, matrices in (("a", part.lora_A), ("b", part.lora_B)):
                weight = matrices["default"].weight
                arrays[f"{case}:{letter}:{place}"] = weight.detach().numpy().copy()
                arrays[f"{case}:of_{letter}:{place}"] = weight.grad.numpy().copy()
        for number, layer in enumerate(states):
            arrays[f"{case}:hidden:{number}"] = layer.detach().numpy()
        whole = model.merge_and_unload()
        with torch.no_grad():
            merged = whole(**tensors, output_hidden_states=True).hidden_states
        for number, layer in enumerate(merged):
            arrays[f"{case}:merged_hidden:{number}"] = layer.numpy()
        for number in range(len(layers)):
            for target in targets:
                name = f"encoder.layer.{number}.{MODULES[target]}.weight"
                arrays[f"{case}:merged:{name}"] = whole.get_parameter(name).detach().numpy()
    np.savez(out, **arrays)


if __name__ == "__main__":
    main(sys.argv[1])
