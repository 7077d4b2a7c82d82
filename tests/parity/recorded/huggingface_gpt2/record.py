"""Records GPT-2 of random weights in HuggingFace's implementation: `python record.py OUT_FOLDER`.

Run in the environment of requirements/oracles.txt. Writes the folder `model`, as
`save_pretrained` does, and `expected.npz`: ids of odd texts, every hidden state, logits of the
first two rows at three positions, and a greedy continuation.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from tokenizers import ByteLevelBPETokenizer
from transformers import GPT2Config, GPT2LMHeadModel, GPT2TokenizerFast

END = "<|endoftext|>"
CORPUS = [
    "the cat sat on the mat, and the dog didn't see the other cat's hat.",
    "they're sure we've seen what I'll do; he'd rather not, she's said so!",
    "in 1999 there were 2000 cats and 35 dogs   with   spaces\n\nand lines",
    "naïve façade über straße, élan vital, Ångström, привет мир, 你好世界, สวัสดี",
] * 3
TEXTS = [
    "the cat sat on the mat",
    " the cat",
    "  two  blanks   three    four ",
    "trailing blanks   ",
    "a\nb\n\nc \n d\t\te \r\n f",
    "don't DON'T they're we'VE I'll he'd 's 'tis ''s !'s rock'n'roll",
    "x's'x 'S 'll'll 't",
    "12 345a 6.7e8 ½ ² Ⅻ ٣٤ १२",
    "naïve e\u0301lan ﬁn ß ſ İ ǆ",
    "你好，世界。 こんにちは　世界 안녕",
    "emoji 😀👍🏽👨‍👩‍👧 flags 🇩🇪",
    "nbsp\u00a0here\u00a0\u00a0x thin\u2009y ideographic\u3000z line\u2028s para\u2029t nel\u0085u",
    "zero\u200bwidth joiner\u200d bom\ufeff vt\x0bff\x0cfs\x1cus\x1f",
    "combining a\u0301\u0327 ขอบคุณ हिन्दी עברית العربية",
    "snake_case __init__ --- ... ===>>> <tag> $5.00 100% #a @b",
    "\u0130\u0131 \U0001d400\U0001d7d8 \u16a0 \u1680ogham",
    "supercalifragilisticexpialidocious" * 4,
    "-" * 300,
    "é" * 200,
    "",
    " ",
    "\n",
    "६ Ĵ Ġ Ċ marker",
]
# Of these, random strings: all kinds of characters next to each other.
MIXED = [
    *"  \n\t\r'ss'tedllmv've.,!?-_$12",
    "'re",
    "\u00a0",
    "\u3000",
    "é",
    "ß",
    "½",
    "你",
    "👍",
    "the",
]


def write_tokenizer(folder: Path) -> GPT2TokenizerFast:
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(CORPUS, vocab_size=400, min_frequency=2, show_progress=False)
    described = json.loads(trained.to_str())["model"]
    vocabulary = described["vocab"] | {END: len(described["vocab"])}
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in described["merges"]]
    folder.mkdir(exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), "utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n", "utf-8")
    return GPT2TokenizerFast.from_pretrained(str(folder))


def main(out: Path) -> None:
    torch.manual_seed(0)
    tokenizer = write_tokenizer(out / "model")
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=48,
        n_embd=16,
        n_layer=3,
        n_head=4,
        n_inner=24,
        resid_pdrop=0.2,
        embd_pdrop=0.2,
        attn_pdrop=0.3,
        layer_norm_epsilon=1e-4,
    )
    model = GPT2LMHeadModel(config).eval()
    random = np.random.default_rng(1)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            drawn = random.normal(
                1 if ".ln_" in name and "weight" in name else 0, 0.4, weight.shape
            )
            # float16 holds them exactly, and the file is half as large.
            weight.copy_(torch.tensor(drawn.astype("float16").astype("float32")))
    model.half().save_pretrained(out / "model")
    model = model.float()
    lengths = np.array([20, 13, 1])
    mask = (np.arange(20) < lengths[:, None]).astype("int64")
    ids = random.integers(0, len(tokenizer), (3, 20))
    types = random.integers(0, 2, (3, 20)) * 7 + 3  # rows of the word embeddings: 3 or 10
    tensors = [torch.tensor(array) for array in (ids, mask, types)]
    with torch.no_grad():
        plain = model(tensors[0], attention_mask=tensors[1], output_hidden_states=True)
        typed = model(tensors[0], attention_mask=tensors[1], token_type_ids=tensors[2])
        greedy = model.generate(
            tensors[0][:1], max_new_tokens=12, do_sample=False, eos_token_id=-1, pad_token_id=0
        )
    texts = TEXTS + ["".join(random.choice(MIXED, length)) for length in range(1, 120)]
    encoded = [tokenizer(text)["input_ids"] for text in texts]
    words = ["the", "cat", "naïve", "don't", "1999", "", "x"]
    after_blank = [tokenizer(" " + word)["input_ids"] for word in words]
    np.savez(
        out / "expected.npz",
        texts=np.array([text.encode() + b"." for text in texts]),
        text_ids=np.concatenate([np.array(one, "int32") for one in encoded]),
        text_lengths=np.array([len(one) for one in encoded]),
        words=np.array([word.encode() + b"." for word in words]),
        word_ids=np.concatenate([np.array(one, "int32") for one in after_blank]),
        word_lengths=np.array([len(one) for one in after_blank]),
        input_word_ids=ids.astype("int32"),
        input_mask=mask.astype("int32"),
        token_type_ids=types.astype("int32"),
        hidden_states=np.stack([state.numpy() for state in plain.hidden_states]),
        logits=plain.logits.numpy()[:2, :13:6],
        typed_logits=typed.logits.numpy()[:2, :13:6],
        greedy=greedy.numpy().astype("int32"),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
