"""Epochs of a classifier on a frozen BERT, which transformers computes in every epoch."""

import json
from pathlib import Path

import numpy as np
import torch
from answering import Work, answer
from pytorch_device import DEVICE
from transformers import AutoModel, AutoTokenizer


def prepared(job: dict) -> Work:
    """The encoder in inference mode and without gradients, tokenized before the first epoch."""
    tokenizer = AutoTokenizer.from_pretrained(job["huggingface"])
    model = AutoModel.from_pretrained(job["huggingface"], dtype=torch.float32)
    model = model.to(DEVICE).eval()
    pairs = json.loads(Path(job["pairs"]).read_text("utf-8"))

    def run(turn):
        head = head_of(job)
        optimizer = torch.optim.AdamW(head.parameters(), job["rate"], weight_decay=0.0)
        batches = batches_of(pairs[:64] if turn is None else pairs, tokenizer)
        for _ in range(1 if turn is None else job["epochs"]):
            total = 0.0
            for inputs, labels in batches:
                inputs, labels = inputs.to(DEVICE), labels.to(DEVICE)
                with torch.no_grad():
                    pooled = model(**inputs).pooler_output
                optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(head(pooled), labels)
                loss.backward()
                optimizer.step()
                total += loss.item() * len(labels)
        return total / sum(len(labels) for _, labels in batches)

    return Work(run, lambda loss: {"loss": np.array(loss)})


def head_of(job: dict) -> torch.nn.Linear:
    """The classifier as it begins."""
    with np.load(job["head"]) as given:
        head = torch.nn.Linear(*given["kernel"].shape)
        with torch.no_grad():
            head.weight.copy_(torch.tensor(given["kernel"].T))
            head.bias.copy_(torch.tensor(given["bias"]))
    return head.to(DEVICE)


def batches_of(pairs: list, tokenizer) -> list[tuple]:
    """Batches of 32 in the order of the file, each padded to its longest."""
    batches = []
    for start in range(0, len(pairs), 32):
        first, second, labels = zip(*pairs[start : start + 32], strict=True)
        inputs = tokenizer(list(first), list(second), padding=True, return_tensors="pt")
        batches.append((inputs, torch.tensor(labels)))
    return batches


if __name__ == "__main__":
    answer(prepared)
