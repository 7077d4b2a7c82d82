"""Sentences to the states of ELMo's layers with PyTorch."""

import json
from pathlib import Path

import numpy as np
import torch
from answering import Work, answer
from pytorch_bilm import Bilm, character_ids
from pytorch_precision import autocast

COMPARED = 32


def prepared(job: dict) -> Work:
    """`fused`: `nn.LSTM` instead of a loop; it has no clipping."""
    model = Bilm(job["weights"], job["fused"]).eval()
    texts = json.loads(Path(job["texts"]).read_text("utf-8"))
    sentences = [text.split() for text in texts]

    def run(turn):
        features = []
        for start in range(0, len(sentences), job["batch_size"]):
            batch = sentences[start : start + job["batch_size"]]
            with torch.inference_mode(), autocast(job):
                layers = model(torch.tensor(character_ids(batch)), [len(one) + 2 for one in batch])
            states = torch.stack([layer.float() for layer in layers], 1).cpu().numpy()
            features += [states[row, :, 1 : len(one) + 1].copy() for row, one in enumerate(batch)]
        return features

    return Work(run, lambda result: {"result": np.concatenate(result[:COMPARED], axis=1)})


if __name__ == "__main__":
    answer(prepared)
