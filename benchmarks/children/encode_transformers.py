"""Texts to vectors with HuggingFace transformers, batches padded as they come."""

import json
from pathlib import Path

import numpy as np
import torch
from answering import Work, answer
from pytorch_device import DEVICE
from pytorch_precision import autocast, dtype_of
from transformers import AutoModel, AutoTokenizer


def prepared(job: dict) -> Work:
    """`half_weights`: the weights themselves in bfloat16, instead of autocast."""
    tokenizer = AutoTokenizer.from_pretrained(job["huggingface"])
    model = AutoModel.from_pretrained(job["huggingface"], dtype=dtype_of(job)).to(DEVICE).eval()
    texts = json.loads(Path(job["texts"]).read_text("utf-8"))

    def run(turn):
        parts = []
        for start in range(0, len(texts), job["batch_size"]):
            batch = texts[start : start + job["batch_size"]]
            inputs = tokenizer(batch, padding=True, truncation=True, return_tensors="pt")
            with torch.inference_mode(), autocast(job):
                parts.append(vectors(model, inputs.to(DEVICE)))
        return np.concatenate(parts)

    return Work(run, lambda result: {"result": result})


def vectors(model, inputs) -> np.ndarray:
    """The mean of the top layer over the real units of each text."""
    top = model(**inputs).last_hidden_state.float()
    mask = inputs["attention_mask"][..., None].float()
    return ((top * mask).sum(1) / mask.sum(1)).cpu().numpy()


if __name__ == "__main__":
    answer(prepared)
