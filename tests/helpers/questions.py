"""Questions about contexts of the tiny modules' words, in SQuAD's format."""

import json
import random
from pathlib import Path

WORDS = ("who", "what", "is", "the", "man", "a", "rain", "dog", "sings", "it")


def write_squad(folder: Path, unanswerable: float = 0.0, train: int = 12, dev: int = 8) -> Path:
    """A folder with a train and a dev file; with this share of questions without an answer."""
    draw = random.Random(7)
    for name, count in (("train", train), ("dev", dev)):
        paragraphs = [_paragraph(f"{name}{number}", draw, unanswerable) for number in range(count)]
        content = {"version": "v2.0", "data": [{"title": "t", "paragraphs": paragraphs}]}
        (folder / f"{name}-v2.0.json").write_text(json.dumps(content), "utf-8")
    return folder


def _paragraph(name: str, draw: random.Random, unanswerable: float) -> dict:
    words = draw.choices(WORDS, k=draw.randint(3, 20))
    place = draw.randrange(len(words))
    answer = {"text": words[place], "answer_start": len("".join(f"{w} " for w in words[:place]))}
    impossible = draw.random() < unanswerable
    question = {
        "id": name,
        "question": f"what {words[place]} ?",
        "answers": [] if impossible else [answer],
        "is_impossible": impossible,
    }
    return {"context": " ".join(words), "qas": [question]}
