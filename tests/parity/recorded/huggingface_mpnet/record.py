"""Records MPNet of random weights in HuggingFace's implementation: `python record.py OUT_FOLDER`.

Run in the environment of requirements/oracles.txt. Writes the folder `model`, as `save_pretrained`
does, and `expected.npz`: ids of texts and a pair, every hidden state (beyond the farthest distance
that is told apart) and the pooled vectors.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from transformers import MPNetConfig, MPNetModel, MPNetTokenizer

TEXTS = ["the cat", "The CAT, naïve!", "你好 x", "dogs", ""]


def write_tokenizer(folder: Path) -> tuple[MPNetTokenizer, int]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "[PAD]", "[UNK]", "[CLS]", *letters, ",", "!", "."]
    pieces += ["the", "cat", "dog", "你", *(f"##{letter}" for letter in letters), "<mask>"]
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces), "utf-8")
    tokenizer = MPNetTokenizer.from_pretrained(str(folder), do_lower_case=True)
    tokenizer.save_pretrained(folder)
    return tokenizer, len(pieces)


def model_of(rows: int) -> MPNetModel:
    config = MPNetConfig(
        vocab_size=rows,
        hidden_size=16,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=202,
        layer_norm_eps=1e-5,
    )
    model = MPNetModel(config).eval()
    random = np.random.default_rng(4)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            center, spread = (1, 0.1) if "LayerNorm.weight" in name else (0, 0.15)
            drawn = random.normal(center, spread, tuple(weight.shape))
            # float16 holds them exactly, and the file is half as large.
            weight.copy_(torch.tensor(drawn.astype("float16").astype("float32")))
    return model


def main(out: Path) -> None:
    tokenizer, rows = write_tokenizer(out / "model")
    model_of(rows).half().save_pretrained(out / "model")
    model = model_of(rows)
    lengths = np.array([200, 23, 1])
    mask = (np.arange(200) < lengths[:, None]).astype("int64")
    drawn = np.random.default_rng(5).integers(2, rows, mask.shape)
    ids = np.where(mask == 1, drawn, 1)
    with torch.no_grad():
        outputs = model(
            torch.tensor(ids), attention_mask=torch.tensor(mask), output_hidden_states=True
        )
    encoded = [tokenizer(text)["input_ids"] for text in TEXTS]
    np.savez(
        out / "expected.npz",
        input_word_ids=ids.astype("int32"),
        input_mask=mask.astype("int32"),
        texts=np.array([text.encode() + b"." for text in TEXTS]),
        text_ids=np.concatenate([np.array(one, "int32") for one in encoded]),
        text_lengths=np.array([len(one) for one in encoded]),
        pair=np.array(tokenizer("the cat", "a dog")["input_ids"], "int32"),
        hidden_states=np.stack([state.numpy() for state in outputs.hidden_states])[:, :, ::3],
        pooled=outputs.pooler_output.numpy(),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
