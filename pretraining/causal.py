"""What a small GPT-2 is trained from: a byte-level BPE, random weights, and text in lines.

    pip install tokenizers transformers
    python pretraining/causal.py TEXTS/paragraphs.txt.gz OUT

OUT/model is a folder in HuggingFace's format (4 layers of width 256, 8,192 pieces); OUT/train.txt
and OUT/dev.txt have passages of whole sentences, of at most 90 words where a sentence is not
longer, a line each; the last documents are dev.
"""

import argparse
import gzip
import random
import re
from collections.abc import Iterator
from pathlib import Path

from tokenizers import ByteLevelBPETokenizer
from transformers import GPT2Config, GPT2LMHeadModel, set_seed

VOCABULARY, END = 8192, "<|endoftext|>"
WORDS = 90  # about 120 pieces
HELD_OUT = 0.005  # share of the documents
SENTENCE = re.compile(r"(?<=[.!?][\"')\]])\s+|(?<=[.!?])\s+")


def main() -> None:
    """Reads the arguments, then writes text, vocabulary and weights."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("paragraphs", type=Path)
    options.add_argument("out", type=Path)
    given = options.parse_args()
    text = gzip.decompress(given.paragraphs.read_bytes()).decode("utf-8")
    documents = text.strip().split("\n\n")
    held_out = max(1, round(HELD_OUT * len(documents)))
    given.out.mkdir(parents=True)
    for name, part in (("train", documents[:-held_out]), ("dev", documents[-held_out:])):
        lines = [line for document in part for line in passages(document)]
        if name == "train":
            random.Random(0).shuffle(lines)
        (given.out / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        words = sum(len(line.split()) for line in lines)
        print(f"{name}: {len(lines):,} passages, {words:,} words")
    folder = given.out / "model"
    folder.mkdir()
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train(str(given.out / "train.txt"), VOCABULARY, special_tokens=[END])
    tokenizer.save_model(str(folder))
    set_seed(0)
    config = GPT2Config(
        vocab_size=VOCABULARY,
        n_positions=256,
        n_embd=256,
        n_layer=4,
        n_head=4,
        resid_pdrop=0.0,  # one pass over the text
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=0,
    )
    GPT2LMHeadModel(config).save_pretrained(folder)


def passages(document: str) -> Iterator[str]:
    """Consecutive sentences of a paragraph, up to `WORDS` together."""
    for paragraph in document.split("\n"):
        passage: list[str] = []
        for sentence in SENTENCE.split(paragraph):
            if passage and len(" ".join([*passage, sentence]).split()) > WORDS:
                yield " ".join(passage)
                passage = []
            passage.append(sentence)
        if passage:
            yield " ".join(passage)


if __name__ == "__main__":
    main()
