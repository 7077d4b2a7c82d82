"""Answers of the same classifier in transformers with its model in OpenVINO, through optimum."""

from pathlib import Path

from answering import Work, answer
from openvino_settings import settings_of
from optimum.intel import OVModelForSequenceClassification
from serve_transformers import by_hand, classifier, work
from transformers import AutoTokenizer


def prepared(job: dict) -> Work:
    """Tokenizer and model by hand; `folder` keeps the classifier that optimum reads."""
    folder = Path(job["folder"])
    if not folder.exists():
        classifier(job).save_pretrained(folder)
    model = OVModelForSequenceClassification.from_pretrained(
        folder, export=True, ov_config=settings_of(job), load_in_8bit=False
    )
    return work(job, by_hand(model, AutoTokenizer.from_pretrained(job["huggingface"]), job))


if __name__ == "__main__":
    answer(prepared)
