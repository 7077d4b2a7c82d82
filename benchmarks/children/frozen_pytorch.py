"""Epochs of a head on an encoder that PyTorch runs in every epoch, or once, saved by `datasets`."""

import json
import tempfile
from pathlib import Path

import numpy as np
import torch
from answering import Work, answer
from frozen_pytorch_encoders import ElmoStates, Pooled, States, TopLayer
from heads_pytorch_models import Bcn
from pytorch_device import DEVICE
from torch.nn.functional import cross_entropy

BATCH = 32


def prepared(job: dict) -> Work:
    """`saved`: the encoder's outputs are computed once and saved; `timed` of the epochs are run;
    `sorted`: the shortest texts first.

    Epochs that compute the encoder are all alike: the time of a few says that of all.
    """
    rows = json.loads(Path(job["texts"]).read_text("utf-8"))
    if job.get("sorted"):
        rows.sort(key=lambda row: len(row[0]))
    texts, labels = zip(*rows, strict=True)
    encoder = encoder_of(job)
    timed = job["epochs"] if job["saved"] else job["timed"]

    def run(turn):
        end = 64 if turn is None else len(texts)
        head, encoder.top = head_of(job, encoder), encoder.fresh_top()
        parameters = [*head.parameters(), *encoder.top.parameters()]
        optimizer = torch.optim.AdamW(parameters, job["rate"], weight_decay=0.0)
        with tempfile.TemporaryDirectory() as folder:
            batches = computed(encoder, texts[:end], labels[:end])
            if job["saved"]:
                batches = saved(encoder, texts[:end], labels[:end], folder)
            for _ in range(1 if turn is None else timed):
                total = 0.0
                for inputs, targets in batches():
                    optimizer.zero_grad()
                    loss = cross_entropy(head(inputs), targets)
                    loss.backward()
                    optimizer.step()
                    total += loss.item() * len(targets)
        return total / end

    return Work(run, lambda loss: {"loss": np.array(loss)}, scale=job["epochs"] / timed)


def encoder_of(job: dict):
    """Texts → what the head reads."""
    if "elmo" in job:
        return ElmoStates(job["elmo"])
    if job["top"]:
        return TopLayer(job["huggingface"])
    return (Pooled if job["head"] == "linear" else States)(job["huggingface"])


def head_of(job: dict, encoder):
    """The head as it begins."""
    if job["head"] == "bcn":
        head = Bcn(job["units"], packed=True, width=encoder.width, layers=encoder.layers, classes=2)
        return head.to(DEVICE)
    with np.load(job["weights"]) as given:
        head = torch.nn.Linear(*given["kernel"].shape)
        with torch.no_grad():
            head.weight.copy_(torch.tensor(given["kernel"].T))
            head.bias.copy_(torch.tensor(given["bias"]))
    return head.to(DEVICE)


def computed(encoder, texts: tuple, labels: tuple):
    """Batches in the order of the file, each encoded when it is read; tokenized before."""
    rows = [slice(start, start + BATCH) for start in range(0, len(texts), BATCH)]
    tokens = [encoder.tokens(list(texts[some])) for some in rows]
    targets = [torch.tensor(labels[some]) for some in rows]

    def batches():
        for one, target in zip(tokens, targets, strict=True):
            yield encoder.inputs(encoder.outputs(one)), target.to(DEVICE)

    return batches


def saved(encoder, texts: tuple, labels: tuple, folder: str):
    """Batches from an Arrow file, which is written first: `map`, then `with_format`."""
    from datasets import Dataset, Features, Value

    def encode(rows):
        return encoder.rows(encoder.outputs(encoder.tokens(rows["text"])))

    plain = Dataset.from_dict({"text": list(texts), "label": list(labels)})
    dataset = plain.map(
        encode,
        batched=True,
        batch_size=BATCH,
        remove_columns=["text"],
        features=Features({"label": Value("int64"), **encoder.features()}),
        cache_file_name=f"{folder}/features.arrow",
    ).with_format("torch")

    def batches():
        for rows in dataset.iter(BATCH):
            yield encoder.inputs(encoder.batch(rows)), rows["label"].to(DEVICE)

    return batches


if __name__ == "__main__":
    answer(prepared)
