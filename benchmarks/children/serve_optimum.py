"""Answers of the same classifier in transformers with its model in OpenVINO, through optimum."""

import itertools
import json
from pathlib import Path

import numpy as np
import torch
from answering import Work, answer
from openvino_settings import settings_of
from optimum.intel import OVModelForSequenceClassification
from transformers import AutoModelForSequenceClassification, AutoTokenizer


def prepared(job: dict) -> Work:
    """Tokenizer and model by hand; `batch_size` as in `serve_ours`."""
    tokenizer = AutoTokenizer.from_pretrained(job["huggingface"])
    folder = Path(job["folder"])
    if not folder.exists():
        model = AutoModelForSequenceClassification.from_pretrained(
            job["huggingface"], num_labels=2, dtype=torch.float32
        )
        with np.load(job["head"]) as head, torch.no_grad():
            model.classifier.weight.copy_(torch.tensor(head["kernel"].T))
            model.classifier.bias.copy_(torch.tensor(head["bias"]))
        model.save_pretrained(folder)
    model = OVModelForSequenceClassification.from_pretrained(
        folder, export=True, ov_config=settings_of(job), load_in_8bit=False
    )
    texts = json.loads(Path(job["texts"]).read_text("utf-8"))
    size = job["batch_size"]
    batches = [texts[start : start + size] for start in range(0, len(texts), size)]
    single = itertools.cycle(batches)

    def scores(batch):
        inputs = tokenizer(batch, padding=True, return_tensors="np")
        logits = np.asarray(model(**inputs).logits, "float32")
        exponentials = np.exp(logits - logits.max(-1, keepdims=True))
        return exponentials / exponentials.sum(-1, keepdims=True)

    def run(turn):
        return np.concatenate([scores(one) for one in ([next(single)] if size == 1 else batches)])

    return Work(run, lambda result: {"scores": np.concatenate([scores(one) for one in batches])})


if __name__ == "__main__":
    answer(prepared)
