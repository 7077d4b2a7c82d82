"""States of texts in transformers: `transformers_states.py FOLDER TEXTS.json OUT.npz [LORA]`.

LORA is a folder of PEFT's.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer


def main(folder: str, texts: str, out: str, lora: str | None = None) -> None:
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    if lora is not None:
        from peft import PeftModel

        model = PeftModel.from_pretrained(model, lora)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    tokenizer.padding_side = "right"
    inputs = tokenizer(json.loads(Path(texts).read_text()), return_tensors="pt", padding=True)
    with torch.no_grad():
        found = model.float().eval()(**inputs, output_hidden_states=True)
    # A last norm is behind the last of the hidden states in some models.
    states = torch.stack([*found.hidden_states[:-1], found.last_hidden_state])
    np.savez(out, ids=inputs["input_ids"], mask=inputs["attention_mask"], states=states)


if __name__ == "__main__":
    main(*sys.argv[1:])
