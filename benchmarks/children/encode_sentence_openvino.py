"""Texts to vectors with sentence-transformers, its model in OpenVINO; it sorts them by length."""

import json
from pathlib import Path

from answering import Work, answer
from openvino_settings import settings_of
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer


def prepared(job: dict) -> Work:
    """The mean of the top layer, as all-MiniLM-L6-v2 is set up, but not scaled to length 1."""
    options = {"export": True, "ov_config": settings_of(job)}
    transformer = Transformer(job["huggingface"], backend="openvino", model_kwargs=options)
    model = SentenceTransformer(modules=[transformer, Pooling(384)], device="cpu")
    texts = json.loads(Path(job["texts"]).read_text("utf-8"))

    def run(turn):
        return model.encode(texts, batch_size=job["batch_size"], show_progress_bar=False)

    return Work(run, lambda result: {"result": result.astype("float32")})


if __name__ == "__main__":
    answer(prepared)
