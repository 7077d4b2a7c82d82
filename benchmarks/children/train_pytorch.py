"""The same step with transformers and PyTorch, written out as its users do."""

import json
from pathlib import Path

import numpy as np
import torch
from answering import Work, answer
from pytorch_device import DEVICE
from transformers import AutoModelForSequenceClassification, AutoTokenizer


def prepared(job: dict) -> Work:
    """All of the encoder is trained."""
    torch.manual_seed(0)
    model = model_of(job)
    optimizer = optimizer_of(model, job["rate"])
    batches = batches_of(job)

    def run(turn):
        losses = []
        for batch in batches:
            batch = on_device(batch)
            optimizer.zero_grad()
            loss = model(**batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        return np.mean(losses)

    return Work(run, lambda loss: {"loss": loss})


def model_of(job: dict) -> torch.nn.Module:
    """BERT with its classifier, in training mode."""
    model = AutoModelForSequenceClassification.from_pretrained(
        job["huggingface"], num_labels=2, dtype=torch.float32
    )
    with np.load(job["head"]) as head, torch.no_grad():
        model.classifier.weight.copy_(torch.tensor(head["kernel"].T))
        model.classifier.bias.copy_(torch.tensor(head["bias"]))
    return model.to(DEVICE).train()


def on_device(batch: dict) -> dict:
    """The batch where the model is."""
    return {name: values.to(DEVICE) for name, values in batch.items()}


def optimizer_of(model: torch.nn.Module, rate: float) -> torch.optim.Optimizer:
    """AdamW as `Trainer` sets it up: no decay of biases and LayerNorms, the fused form."""
    groups = {0.01: [], 0.0: []}
    for name, weight in model.named_parameters():
        groups[0.0 if "bias" in name or "LayerNorm" in name else 0.01].append(weight)
    parameters = [{"params": given, "weight_decay": decay} for decay, given in groups.items()]
    return torch.optim.AdamW(parameters, rate, fused=True)


def batches_of(job: dict) -> list[dict]:
    """Batches of 32 in the order of the file, each padded to its longest."""
    tokenizer = AutoTokenizer.from_pretrained(job["huggingface"])
    pairs = json.loads(Path(job["pairs"]).read_text("utf-8"))
    batches = []
    for start in range(0, len(pairs), 32):
        first, second, labels = zip(*pairs[start : start + 32], strict=True)
        batch = tokenizer(list(first), list(second), padding=True, return_tensors="pt")
        batches.append({**batch, "labels": torch.tensor(labels)})
    return batches


if __name__ == "__main__":
    answer(prepared)
