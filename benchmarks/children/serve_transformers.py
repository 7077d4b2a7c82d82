"""Answers of the same classifier in transformers: its pipeline, or tokenizer and model by hand."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from answering import Work, answer
from pytorch_device import DEVICE
from pytorch_precision import autocast
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline


def prepared(job: dict) -> Work:
    """`pipeline`: whether to use it; `batch_size` as in `serve_ours`."""
    model, tokenizer = classifier(job).to(DEVICE), AutoTokenizer.from_pretrained(job["huggingface"])
    make = in_pipeline if job["pipeline"] else by_hand
    return work(job, make(model, tokenizer, job))


def classifier(job: dict):
    """MiniLM with the head of the job."""
    model = AutoModelForSequenceClassification.from_pretrained(
        job["huggingface"], num_labels=2, dtype=torch.float32
    ).eval()
    with np.load(job["head"]) as head, torch.no_grad():
        model.classifier.weight.copy_(torch.tensor(head["kernel"].T))
        model.classifier.bias.copy_(torch.tensor(head["bias"]))
    return model


def work(job: dict, scores: Callable) -> Work:
    """`scores`: texts → `[texts, 2]`."""
    texts = json.loads(Path(job["texts"]).read_text("utf-8"))
    size = job["batch_size"]
    batches = [texts[start : start + size] for start in range(0, len(texts), size)]
    single = itertools.cycle(batches)

    def run(turn):
        return scores(next(single)) if size == 1 else scores(texts)

    return Work(run, lambda result: {"scores": scores(texts)})


def in_pipeline(model, tokenizer, job: dict):
    """`pipeline("text-classification")`."""
    classify = pipeline(
        "text-classification", model=model, tokenizer=tokenizer, device=DEVICE, top_k=None
    )

    def scores(texts):
        with autocast(job):
            found = classify(texts, batch_size=job["batch_size"])
        return np.array([[one["score"] for one in sorted(f, key=by_label)] for f in found])

    return scores


def by_label(one: dict) -> str:
    """LABEL_0 before LABEL_1."""
    return one["label"]


def by_hand(model, tokenizer, job: dict):
    """Batches in the order of the texts, each padded to its longest."""

    def scores(texts):
        parts = []
        for start in range(0, len(texts), job["batch_size"]):
            batch = texts[start : start + job["batch_size"]]
            inputs = tokenizer(batch, padding=True, return_tensors="pt")
            with torch.inference_mode(), autocast(job):
                logits = model(**inputs.to(DEVICE)).logits.float()
            parts.append(torch.softmax(logits, -1).cpu().numpy())
        return np.concatenate(parts)

    return scores


if __name__ == "__main__":
    answer(prepared)
