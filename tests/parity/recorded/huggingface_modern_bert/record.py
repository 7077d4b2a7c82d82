"""Records ModernBERT of random weights in HuggingFace's implementation:
`python record.py OUT_FOLDER [SIZE]`.

Run in the environment of requirements/oracles.txt. Writes the folder `model`, as `save_pretrained`
does, and `expected.npz`: ids of odd texts and every hidden state. A size of `SIZES` records only
the states of the top layer.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from tokenizers import ByteLevelBPETokenizer, Tokenizer
from transformers import ModernBertConfig, ModernBertModel, PreTrainedTokenizerFast

sys.path.insert(0, str(Path(__file__).parents[1]))
from huggingface_gpt2.record import CORPUS, MIXED, TEXTS  # noqa: E402

SPECIAL = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
SMALL = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 4,
    "num_attention_heads": 2,
    "max_position_embeddings": 64,
    "local_attention": 8,
}
# Name → (arguments of the configuration, lengths of the texts).
SIZES = {
    "deep": (
        {
            "hidden_size": 64,
            "intermediate_size": 96,
            "num_hidden_layers": 22,
            "num_attention_heads": 4,
        },
        [512, 500, 130],
    ),
    "long": (
        {
            "hidden_size": 64,
            "intermediate_size": 96,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
        },
        [8192, 5000],
    ),
    "base": ({}, [300, 77]),
}


def write_tokenizer(folder: Path) -> tuple[PreTrainedTokenizerFast, int]:
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(CORPUS, vocab_size=400, min_frequency=2, show_progress=False)
    described = json.loads(trained.to_str())
    vocabulary = described["model"]["vocab"]
    rows = len(vocabulary)
    blanks = [" " * count for count in (2, 4, 3)]

    def token(content: str, **rules) -> dict:
        rules = {"special": False, "normalized": True} | rules
        plain = {"single_word": False, "lstrip": False, "rstrip": False}
        number = len(vocabulary) + len(added)
        return {"id": number, "content": content} | plain | rules

    added: list[dict] = []
    for piece in SPECIAL:
        added.append(token(piece, special=True, normalized=False, lstrip=piece == "[MASK]"))
    for content in (*blanks, "[unused0]", "|||e\u0301mail|||"):
        added.append(token(content))
    added.append(token("<|Ünique|>", normalized=False))
    rows += len(added)
    ids = {one["content"]: one["id"] for one in added}
    described |= {
        "added_tokens": added,
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": True,
            "use_regex": True,
        },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
            ],
            "pair": [
                {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
                {"Sequence": {"id": "B", "type_id": 0}},
                {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
            ],
            "special_tokens": {
                piece: {"id": piece, "ids": [ids[piece]], "tokens": [piece]}
                for piece in ("[CLS]", "[SEP]")
            },
        },
    }
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(described)),
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        mask_token="[MASK]",
    )
    tokenizer.save_pretrained(folder)
    return tokenizer, rows


def model_of(arguments: dict, rows: int, special: dict[str, int]) -> ModernBertModel:
    config = ModernBertConfig(
        **arguments | {"vocab_size": rows},
        pad_token_id=special["[PAD]"],
        cls_token_id=special["[CLS]"],
        sep_token_id=special["[SEP]"],
        bos_token_id=special["[CLS]"],
        eos_token_id=special["[SEP]"],
        attn_implementation="eager",
    )
    model = ModernBertModel(config).eval()
    random = np.random.default_rng(4)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            center, spread = (1, 0.1) if "norm" in name else (0, 0.3 / weight.shape[-1] ** 0.25)
            drawn = random.normal(center, spread, tuple(weight.shape))
            # float16 holds them exactly, and the file is half as large.
            weight.copy_(torch.tensor(drawn.astype("float16").astype("float32")))
    return model


def main(out: Path, size: str | None = None) -> None:
    tokenizer, rows = write_tokenizer(out / "model")
    special = {piece: tokenizer.convert_tokens_to_ids(piece) for piece in SPECIAL}
    arguments, lengths = SIZES[size] if size else (SMALL, [40, 23, 1])
    # Two models: `half` rounds the rotary frequencies too, which are not stored.
    model_of(arguments, rows, special).half().save_pretrained(out / "model")
    model = model_of(arguments, rows, special)
    random = np.random.default_rng(5)
    mask = (np.arange(max(lengths)) < np.array(lengths)[:, None]).astype("int64")
    ids = random.integers(0, rows, mask.shape)
    with torch.no_grad():
        outputs = model(
            torch.tensor(ids), attention_mask=torch.tensor(mask), output_hidden_states=True
        )
    inputs = {"input_word_ids": ids.astype("int32"), "input_mask": mask.astype("int32")}
    if size:
        np.savez(out / "expected.npz", **inputs, top=outputs.last_hidden_state.numpy())
        return
    texts = TEXTS + ["e\u0301 A\u030a [unused0] a b |||e\u0301mail||| |||émail||| <|Ünique|>"]
    texts += ["".join(random.choice(MIXED, length)) for length in range(1, 120)]
    encoded = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
    pair = tokenizer("the cat", "sat on the mat")["input_ids"]
    words = ["the", "cat", "naïve", "don't", "1999", "x"]
    after_blank = [tokenizer(" " + word, add_special_tokens=False)["input_ids"] for word in words]
    np.savez(
        out / "expected.npz",
        **inputs,
        texts=np.array([text.encode() + b"." for text in texts]),
        text_ids=np.concatenate([np.array(one, "int32") for one in encoded]),
        text_lengths=np.array([len(one) for one in encoded]),
        words=np.array([word.encode() + b"." for word in words]),
        word_ids=np.concatenate([np.array(one, "int32") for one in after_blank]),
        word_lengths=np.array([len(one) for one in after_blank]),
        pair=np.array(pair, "int32"),
        hidden_states=np.stack([state.numpy() for state in outputs.hidden_states]),
        top=outputs.last_hidden_state.numpy(),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
