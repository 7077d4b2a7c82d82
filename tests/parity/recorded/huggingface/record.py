"""Records small HuggingFace models of random weights: ids of their tokenizers, all hidden states.

Run with an interpreter that has torch, transformers and sentencepiece (requirements/oracles.txt):
python tests/parity/recorded/huggingface/record.py OUT_FOLDER [FAMILY …]
Each `.npz` holds the files of a folder as `save_pretrained` and the tokenizers' trainers write
them, and what HuggingFace computes with it. With --again before OUT_FOLDER the files are those of
the recordings beside this script (a trainer of WordPiece does not give the same pieces twice), and
what HuggingFace computes with them is recorded anew.
"""

import io
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import sentencepiece
import torch
import transformers
from tokenizers import BertWordPieceTokenizer, ByteLevelBPETokenizer

# A tab only for the byte-level vocabulary: SentencePiece's rules for white space are stored in each
# model, and these small ones are stored without.
TEXTS = [
    "Two dogs run over the old bridge, and a café closes at 10:30.",
    "  Don't   stop!\tThey'll be late...",
    "naïve ÜBER 日本 🙂 x2y",
    "the",
]
OTHERS = ["A dog is running.", "They will be late", "nothing of this", "the old bridge of the town"]
WORDS = [["Two", "dogs", "run", ",", "n't"], ["café"], ["ÜBER", "10:30", "x2y"], ["the", "the"]]
CORPUS = [*TEXTS, *OTHERS, "the dogs and the bridges of the old town are closing late"] * 4
COMMON = {
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 80,
    "initializer_range": 0.3,
}
BPE_SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def wordpiece(folder: Path, lower_case: bool) -> int:
    tokenizer = BertWordPieceTokenizer(lowercase=lower_case)
    tokenizer.train_from_iterator(CORPUS, vocab_size=150, min_frequency=1, show_progress=False)
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece, _ in pieces), "utf-8")
    settings = {"do_lower_case": lower_case}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), "utf-8")
    return len(pieces)


def byte_pairs(folder: Path) -> int:
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(
        CORPUS, vocab_size=330, min_frequency=2, special_tokens=BPE_SPECIALS, show_progress=False
    )
    tokenizer.save_model(str(folder))
    return tokenizer.get_vocab_size()


def pieces(folder: Path, name: str, **options) -> int:
    """`options`: the ids and names of the special pieces."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS),
        model_writer=model,
        vocab_size=110,
        normalization_rule_name="identity",
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    (folder / name).write_bytes(model.getvalue())
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue()).vocab_size()


def bert(folder: Path):
    size = wordpiece(folder, lower_case=True)
    config = transformers.BertConfig(vocab_size=size, layer_norm_eps=1e-3, **COMMON)
    return transformers.BertModel(config)


def roberta(folder: Path):
    size = byte_pairs(folder)
    config = transformers.RobertaConfig(
        vocab_size=size, type_vocab_size=1, layer_norm_eps=1e-5, **COMMON
    )
    return transformers.RobertaModel(config)


def xlm_roberta(folder: Path):
    size = pieces(folder, "sentencepiece.bpe.model", unk_id=0, bos_id=1, eos_id=2)
    config = transformers.XLMRobertaConfig(
        vocab_size=size + 2, type_vocab_size=1, layer_norm_eps=1e-5, **COMMON
    )
    return transformers.XLMRobertaModel(config)


def distilbert(folder: Path):
    size = wordpiece(folder, lower_case=False)
    config = transformers.DistilBertConfig(
        vocab_size=size,
        dim=16,
        n_layers=3,
        n_heads=2,
        hidden_dim=24,
        max_position_embeddings=80,
        initializer_range=0.3,
    )
    return transformers.DistilBertModel(config)


def albert(folder: Path):
    size = pieces(
        folder,
        "spiece.model",
        pad_id=0,
        unk_id=1,
        bos_id=2,
        eos_id=3,
        bos_piece="[CLS]",
        eos_piece="[SEP]",
        control_symbols="[MASK]",
    )
    config = transformers.AlbertConfig(
        vocab_size=size, embedding_size=8, num_hidden_groups=1, inner_group_num=1, **COMMON
    )
    settings = {"do_lower_case": True, "keep_accents": False}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), "utf-8")
    return transformers.AlbertModel(config)


def electra(folder: Path):
    size = wordpiece(folder, lower_case=True)
    config = transformers.ElectraConfig(vocab_size=size, embedding_size=8, **COMMON)
    return transformers.ElectraModel(config)


def deberta_v3(folder: Path):
    size = pieces(
        folder,
        "spm.model",
        pad_id=0,
        bos_id=1,
        eos_id=2,
        unk_id=3,
        pad_piece="[PAD]",
        bos_piece="[CLS]",
        eos_piece="[SEP]",
        unk_piece="[UNK]",
    )
    config = transformers.DebertaV2Config(
        vocab_size=size + 1,
        type_vocab_size=0,
        relative_attention=True,
        share_att_key=True,
        position_biased_input=False,
        pos_att_type=["p2c", "c2p"],
        norm_rel_ebd="layer_norm",
        position_buckets=8,
        layer_norm_eps=1e-7,
        **COMMON,
    )
    return transformers.DebertaV2Model(config)


FAMILIES = {
    f.__name__: f for f in (bert, roberta, xlm_roberta, distilbert, albert, electra, deberta_v3)
}


TOKENIZERS = {
    "bert": transformers.BertTokenizer,
    "roberta": transformers.RobertaTokenizer,
    "xlm_roberta": transformers.XLMRobertaTokenizer,
    "distilbert": transformers.DistilBertTokenizer,
    "albert": transformers.AlbertTokenizer,
    "electra": transformers.ElectraTokenizer,
    "deberta_v3": transformers.DebertaV2Tokenizer,
}


def make(name: str, folder: Path) -> None:
    """Writes vocabulary and model."""
    torch.manual_seed(len(name))
    model = FAMILIES[name](folder)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if "norm" in key.lower() or key.endswith("bias"):
                parameter += 0.2 * torch.randn_like(parameter)
    model.eval().save_pretrained(folder)


def unpack(name: str, folder: Path) -> None:
    """Writes the files of the recording beside this script."""
    with np.load(Path(__file__).parent / f"{name}.npz", allow_pickle=False) as recording:
        for key in recording.files:
            if key.startswith("file "):
                (folder / key.removeprefix("file ")).write_bytes(recording[key].tobytes())


def record(name: str, write, out: Path) -> None:
    """`write`: `make` or `unpack`."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write(name, folder)
        found = {
            f"file {path.name}": np.frombuffer(path.read_bytes(), np.uint8)
            for path in sorted(folder.iterdir())
            if path.name != "tokenizer.json"
        }
        found |= computed(name, folder)
    np.savez_compressed(out / f"{name}.npz", **found)


def computed(name: str, folder: Path) -> dict:
    model = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = TOKENIZERS[name].from_pretrained(folder)
    texts = [text if name == "roberta" else text.replace("\t", " ") for text in TEXTS]
    found = {"texts": np.array(texts), "others": np.array(OTHERS)}
    found["words"] = np.array([" ".join(row) for row in WORDS])
    for kind, given in (("single", (texts,)), ("pair", (texts, OTHERS))):
        packed = tokenizer(*given, padding=True, return_tensors="pt", return_token_type_ids=True)
        types = packed["token_type_ids"]
        if getattr(model.config, "type_vocab_size", 0) < 2:
            packed.pop("token_type_ids")
        with torch.no_grad():
            output = model(**packed, output_hidden_states=True)
        found[f"{kind}_ids"] = packed["input_ids"].numpy().astype(np.int32)
        found[f"{kind}_mask"] = packed["attention_mask"].numpy().astype(np.int32)
        found[f"{kind}_types"] = types.numpy().astype(np.int32)
        found[f"{kind}_states"] = torch.stack(output.hidden_states).numpy()
        pooled = getattr(output, "pooler_output", None)
        if pooled is not None and name in ("bert", "albert"):
            found[f"{kind}_pooled"] = pooled.numpy()
    options = {"add_prefix_space": True} if name == "roberta" else {}
    by_word = TOKENIZERS[name].from_pretrained(folder, **options)
    split = by_word(WORDS, is_split_into_words=True, padding=True)
    found["words_ids"] = np.array(split["input_ids"], np.int32)
    first = [
        [split.word_ids(row).index(number) for number in range(len(words))]
        for row, words in enumerate(WORDS)
    ]
    longest = max(map(len, first))
    found["words_first"] = np.array([f + [-1] * (longest - len(f)) for f in first], np.int32)
    return found


if __name__ == "__main__":
    arguments = sys.argv[1:]
    again = arguments[0] == "--again"
    out, *families = arguments[again:]
    for family in families or FAMILIES:
        record(family, unpack if again else make, Path(out))
