"""Modules of random weights; but for `write_tiny_program`'s, their SavedModel holds no program."""

from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from hub_modules.export import write_module
from hub_modules.load import load_module
from hub_modules.manifest import read_manifest, write_manifest
from hub_modules.native.awd_lstm import AwdLstmEncoder
from hub_modules.native.bert import BertEncoder
from hub_modules.native.causal import CausalEncoder
from hub_modules.native.elmo import ElmoEncoder
from hub_modules.native.relative.modern_bert import ModernBertEncoder
from hub_modules.native.relative.mpnet import MPNetEncoder
from hub_modules.preprocess.byte_pairs import byte_signs
from hub_modules.sources import ModuleSource
from hub_modules.sources.layouts.causal import write_own_byte_pairs

_ENCODERS = {
    "bert": BertEncoder,
    "causal": CausalEncoder,
    "elmo": ElmoEncoder,
    "lstm": AwdLstmEncoder,
    "modern_bert": ModernBertEncoder,
    "mpnet": MPNetEncoder,
}


def write_random_module(
    folder: Path, kind: str, config: dict, output_layer: dict | None = None
) -> None:
    """Writes manifest and weights, the same each time; a BERT's vocabulary is there already."""
    # Before the encoder is made, whose initializers take their seeds when they are.
    keras.utils.set_random_seed(5)
    encoder = _ENCODERS[kind](**config)
    encoder.build()
    random = np.random.default_rng(5)
    weights = {
        name: variable.numpy() + random.normal(0, 0.05, variable.shape).astype("float32")
        for name, variable in encoder.weights_by_name().items()
    }
    holder = tf.Module()
    holder.stored = [tf.Variable(value, name=name) for name, value in weights.items()]
    tf.saved_model.save(holder, str(folder / "encoder"))
    groups = [name for name, _ in encoder.layer_groups]
    shapes = {name: list(value.shape) for name, value in weights.items()}
    if output_layer is not None:
        np.savez(folder / "output_layer.npz", **output_layer)
    lower_case = None if kind in ("causal", "modern_bert") else True
    contract = {"kind": kind, "config": config, "lower_case": lower_case}
    write_manifest(folder, contract | {"groups": groups, "weights": shapes})


def write_tiny_elmo(folder: Path) -> None:
    """An ELMo of random weights, small enough to train in a second."""
    config = {
        "filters": [[1, 4], [2, 8]],
        "character_width": 4,
        "num_highway": 1,
        "projection_width": 8,
        "lstm_width": 16,
    }
    folder.mkdir()
    write_random_module(folder, "elmo", config)


def write_tiny_causal(folder: Path, num_layers: int = 2) -> None:
    """A GPT-2 of random weights, small enough to train in a second."""
    pieces = [*byte_signs(), "<|endoftext|>", "Ġt", "he", "Ġthe", "in"]
    config = {
        "vocabulary_size": len(pieces),
        "width": 16,
        "num_layers": num_layers,
        "num_heads": 2,
        "intermediate_width": 32,
        "max_positions": 256,
    }
    folder.mkdir()
    write_own_byte_pairs(folder, pieces, ["Ġ t", "h e", "Ġt he", "i n"])
    write_random_module(folder, "causal", config)


def write_tiny_modern_bert(folder: Path) -> None:
    """A ModernBERT of random weights, small enough to train in a second."""
    special = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
    pieces = [*byte_signs(), "Ġt", "he", "Ġthe", "in", *special]
    config = {
        "vocabulary_size": len(pieces),
        "width": 16,
        "num_layers": 2,
        "num_heads": 2,
        "intermediate_width": 24,
        "max_positions": 256,
        "global_layers": [0],
        "local_attention": 4,
    }
    folder.mkdir()
    write_own_byte_pairs(folder, pieces, ["Ġ t", "h e", "Ġt he", "i n"])
    (folder / "added_tokens.json").write_text('{"as_written": {}, "normalized": {}}', "utf-8")
    write_random_module(folder, "modern_bert", config)


def write_tiny_mpnet(folder: Path) -> None:
    """An MPNet of random weights, small enough to train in a second."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    pieces = ["<s>", "<pad>", "</s>", "[UNK]", *letters, ".", "?", "the"]
    pieces += [*(f"##{letter}" for letter in letters), "<mask>"]
    config = {
        "vocabulary_size": len(pieces),
        "width": 16,
        "num_layers": 2,
        "num_heads": 2,
        "intermediate_width": 24,
        "max_positions": 254,
    }
    folder.mkdir()
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces), "utf-8")
    write_random_module(folder, "mpnet", config)


def write_tiny_lstm(folder: Path) -> None:
    """An AWD-LSTM of random weights and an output layer, small enough to train in a second."""
    special, marks = ["xxpad", "xxunk", "xxbos", "xxmaj", "xxup"], ["?", ".", ",", "-"]
    words = [*special, *marks, "in", "the", "what", "is", "who", "was"]
    config = {
        "vocabulary_size": len(words),
        "width": 12,
        "lstm_width": 20,
        "num_layers": 3,
    }
    folder.mkdir()
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in words), "utf-8")
    bias = np.random.default_rng(7).normal(0, 0.05, len(words)).astype("float32")
    write_random_module(folder, "lstm", config, {"bias": bias})


def write_tiny_bert(folder: Path, num_layers: int = 2) -> None:
    """A BERT of random weights, small enough to train in a second."""
    characters = "abcdefghijklmnopqrstuvwxyz0123456789"
    marks = [*"'?.,-!()&$%:;/"]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *characters, *marks]
    pieces += ["the", "what", "is", "who", "where", *(f"##{letter}" for letter in characters)]
    config = {
        "vocabulary_size": len(pieces),
        "width": 16,
        "num_layers": num_layers,
        "num_heads": 2,
        "intermediate_width": 32,
        "max_positions": 256,
    }
    folder.mkdir()
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces), "utf-8")
    write_random_module(folder, "bert", config)


def write_tiny_program(folder: Path, tiny_bert: Path) -> None:
    """The weights of `tiny_bert` with their program."""
    contract = read_manifest(tiny_bert)
    weights = load_module(tiny_bert).encoder.weights_by_name()
    source = ModuleSource(
        "bert",
        contract.config.model_dump(exclude_unset=True),
        {name: weight.numpy() for name, weight in weights.items()},
        vocabulary=(tiny_bert / "vocab.txt").read_text("utf-8").splitlines(),
        lower_case=contract.lower_case,
    )
    write_module(source, folder)


def write_tf1_module(folder: Path, arrays: dict) -> Path:
    """Arrays as the variables of a module in TF Hub's first format; its program is empty."""
    (folder / "variables").mkdir(parents=True)
    names = sorted(arrays)
    prefix, slices = str(folder / "variables" / "variables"), [""] * len(names)
    tf.raw_ops.SaveV2(
        prefix=prefix,
        tensor_names=names,
        shape_and_slices=slices,
        tensors=[tf.constant(arrays[name]) for name in names],
    )
    (folder / "tfhub_module.pb").write_bytes(b"\x08\x03")
    (folder / "saved_model.pb").write_bytes(b"")
    return folder


def tf1_elmo_arrays(weights=(0.0, 0.0, 0.0), scale=1.0) -> dict:
    """The variables of a tiny google/elmo, under the names of its checkpoint."""
    random = np.random.default_rng(6)
    cells, projection, characters = 10, 6, 4
    shapes = {
        "char_embed": (262, characters),
        "CNN/W_cnn_0": (1, 1, characters, 3),
        "CNN/b_cnn_0": (3,),
        "CNN/W_cnn_1": (1, 3, characters, 5),
        "CNN/b_cnn_1": (5,),
        "CNN_high_0/W_carry": (8, 8),
        "CNN_high_0/b_carry": (8,),
        "CNN_high_0/W_transform": (8, 8),
        "CNN_high_0/b_transform": (8,),
        "CNN_proj/W_proj": (8, projection),
        "CNN_proj/b_proj": (projection,),
    }
    for direction in (0, 1):
        for layer in (0, 1):
            cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/rnn/lstm_cell"
            shapes[f"{cell}/kernel"] = (2 * projection, 4 * cells)
            shapes[f"{cell}/bias"] = (4 * cells,)
            shapes[f"{cell}/projection/kernel"] = (cells, projection)
    arrays = {
        f"bilm/{name}": random.normal(0, 0.5, shape).astype("float32")
        for name, shape in shapes.items()
    }
    arrays["bilm/char_embed"][0] = 0
    arrays["aggregation/weights"] = np.array(weights, "float32")
    arrays["aggregation/scaling"] = np.float32(scale)
    return arrays
