"""Texts to word-piece ids with HuggingFace's fast tokenizer."""

import json
from pathlib import Path

import numpy as np
from answering import Work, answer
from transformers import AutoTokenizer


def prepared(job: dict) -> Work:
    """All texts in one call, without special tokens."""
    tokenizer = AutoTokenizer.from_pretrained(job["huggingface"])
    texts = json.loads(Path(job["texts"]).read_text("utf-8"))

    def run(turn):
        return tokenizer(texts, add_special_tokens=False, return_attention_mask=False)["input_ids"]

    def outputs(rows):
        return {"ids": np.concatenate(rows), "lengths": np.array(list(map(len, rows)))}

    return Work(run, outputs)


if __name__ == "__main__":
    answer(prepared)
