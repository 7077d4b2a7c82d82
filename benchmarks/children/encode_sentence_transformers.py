"""Texts to vectors with sentence-transformers, which sorts them by length."""

import json
from pathlib import Path

from answering import Work, answer
from pytorch_device import DEVICE
from pytorch_precision import autocast, dtype_of
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer


def prepared(job: dict) -> Work:
    """The mean of the top layer, as all-MiniLM-L6-v2 is set up, but not scaled to length 1."""
    transformer = Transformer(job["huggingface"], model_kwargs={"dtype": dtype_of(job)})
    model = SentenceTransformer(modules=[transformer, Pooling(384)], device=str(DEVICE))
    texts = json.loads(Path(job["texts"]).read_text("utf-8"))

    def run(turn):
        with autocast(job):
            return model.encode(texts, batch_size=job["batch_size"], show_progress_bar=False)

    return Work(run, lambda result: {"result": result.astype("float32")})


if __name__ == "__main__":
    answer(prepared)
