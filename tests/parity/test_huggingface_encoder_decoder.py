"""An encoder-decoder against HuggingFace's `EncoderDecoderModel`: logits of padded batches, texts
by greedy decoding and by beam search.

`recorded/huggingface_encoder_decoder/record.py` made the recording, of `bert_small` and the
recorded GPT-2.
"""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from generation_cases import up_to_the_end
from huggingface_folders import write_folder

import tf_adapt as ta
from tf_adapt.encoder.encoder_decoder import EncoderDecoder
from tf_adapt.generation.generator import TokenGenerator
from tf_adapt.models.text_generation.encoder_decoder_model import build_encoder_decoder
from tf_adapt.training.finished.module_export import export_huggingface

RECORDED = Path(__file__).parent / "recorded"
FOLDER, GPT2 = RECORDED / "huggingface_encoder_decoder", RECORDED / "huggingface_gpt2" / "model"
# Those of record.py.
SEARCHES = [(1, 1.0), (2, 1.0), (3, 0.0), (4, 2.0)]
WORDS, NEW, START = 401, 10, 1
ENDS = ((2, 40), tuple(range(WORDS // 3)))


def model_of(encoder: str, arrays: dict):
    both = EncoderDecoder(encoder, decoder=ta.HubEncoder(str(GPT2)))
    model = build_encoder_decoder(ta.Task("text_generation"), both, "fine_tuning")
    given = {name.removeprefix("weight:"): arrays[name] for name in arrays if "weight:" in name}

    def take(name: str, *layers):
        """Their `Conv1D` is `[in, out]`, as ours; keys and values are one, side by side."""
        kernel, bias = (given.pop(f"{name}.{what}") for what in ("weight", "bias"))
        for number, layer in enumerate(layers):
            columns = slice(number * layer.bias.shape[0], (number + 1) * layer.bias.shape[0])
            layer.kernel.assign(kernel[:, columns])
            layer.bias.assign(bias[columns])

    for number, block in enumerate(model.head.blocks):
        name, attention = f"decoder.transformer.h.{number}", block.attention
        take(f"{name}.crossattention.c_attn", attention.key, attention.value)
        take(f"{name}.crossattention.q_attn", attention.query)
        take(f"{name}.crossattention.c_proj", attention.output_projection)
        block.layer_norm.gamma.assign(given.pop(f"{name}.ln_cross_attn.weight"))
        block.layer_norm.beta.assign(given.pop(f"{name}.ln_cross_attn.bias"))
    if model.head.projection is not None:
        model.head.projection.kernel.assign(given.pop("enc_to_dec_proj.weight").T)
        model.head.projection.bias.assign(given.pop("enc_to_dec_proj.bias"))
    assert not given
    return model


def check(model, arrays: dict, compare) -> None:
    source = {"input_word_ids": arrays["ids"], "input_mask": arrays["mask"]}
    source = {name: tf.constant(ids, tf.int32) for name, ids in source.items()}
    source["input_type_ids"] = tf.zeros_like(source["input_word_ids"])
    target = {"input_word_ids": arrays["target_ids"], "input_mask": arrays["target_mask"]}
    target = {name: tf.constant(ids, tf.int32) for name, ids in target.items()}
    states, _ = model.decoder.states_after(target, None, model.head.between(model.read(source)))
    real = arrays["target_mask"] > 0
    logits = model.decoder.logits(states).numpy()[real]
    compare("HuggingFace encoder-decoder, logits", logits, arrays["logits"][real], 1e-5)

    def begun(inputs: dict) -> tuple:
        rows, step = model.begun(model.read(inputs))
        return rows | {"input_word_ids": tf.fill([3, 1], START)}, step

    write = TokenGenerator(model, begun)
    theirs = iter(json.loads(str(arrays["texts"])))
    for beams, penalty in SEARCHES:
        for ends in ENDS:
            settings = ta.Decoding(NEW, beams=beams, length_penalty=penalty)
            ours = write(source, ends, settings).numpy().tolist()
            expected = up_to_the_end(next(theirs), ends)
            assert up_to_the_end(ours, ends) == expected, (beams, penalty)


def arrays_of(path: Path) -> dict:
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)


def test_what_is_recorded(compare):
    arrays = arrays_of(FOLDER / "expected.npz")
    check(model_of("bert_small", arrays), arrays, compare)


@pytest.mark.oracle
@pytest.mark.parametrize(("name", "seed"), [("bert_small", 2), ("tiny", 3)])
def test_other_weights_and_texts(tmp_path, compare, name, seed):
    python = os.environ.get("TF_ADAPT_ORACLES_PYTHON")
    if not python:
        pytest.skip("TF_ADAPT_ORACLES_PYTHON does not name an interpreter with transformers")
    if name == "tiny":
        encoder = folder = str(write_folder("bert", tmp_path / "bert"))
    else:
        encoder, folder = name, str(export_huggingface(name, tmp_path / "bert"))
    out = tmp_path / "out.npz"
    command = [python, FOLDER / "record.py", folder, GPT2, out, str(seed)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    arrays = arrays_of(out)
    check(model_of(encoder, arrays), arrays, compare)
