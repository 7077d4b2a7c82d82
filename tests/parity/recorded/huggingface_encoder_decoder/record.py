"""Records an encoder and a GPT-2 with new cross-attention in HuggingFace's `EncoderDecoderModel`.

Run in the environment of requirements/oracles.txt:
python record.py ENCODER_FOLDER GPT2_FOLDER OUT.npz SEED
Both folders are as `save_pretrained` writes them. Recorded are the weights that neither has, ids of
padded sources and targets, logits, and texts: greedy, and by beam search.
"""

import json
import sys

import numpy as np
import torch
from transformers import EncoderDecoderModel

LENGTHS, TARGET_LENGTHS = (9, 4, 1), (5, 7, 2)
# Beams and length penalty.
SEARCHES = [(1, 1.0), (2, 1.0), (3, 0.0), (4, 2.0)]
ENDS, NEW = (2, 40), 10


def padded(random, words: int, lengths: tuple) -> tuple[np.ndarray, np.ndarray]:
    mask = (np.arange(max(lengths)) < np.array(lengths)[:, None]).astype("int64")
    return random.integers(5, words, mask.shape) * mask, mask


def is_new(name: str) -> bool:
    return "cross" in name or name.startswith("enc_to_dec_proj")


def main(encoder: str, decoder: str, out: str, seed: str) -> None:
    random = np.random.default_rng(int(seed))
    model = EncoderDecoderModel.from_encoder_decoder_pretrained(encoder, decoder).float().eval()
    new = {}
    for name, weight in model.named_parameters():
        if is_new(name):
            scale = 0.05 if name == "enc_to_dec_proj.weight" else 0.4
            value = random.normal(0, scale, weight.shape).astype("float32")
            new[f"weight:{name}"] = value
            weight.data = torch.tensor(value)
    ids, mask = padded(random, model.config.encoder.vocab_size, LENGTHS)
    words = model.config.decoder.vocab_size
    target_ids, target_mask = padded(random, words, TARGET_LENGTHS)
    given = {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask)}
    with torch.no_grad():
        logits = model(
            **given,
            decoder_input_ids=torch.tensor(target_ids),
            decoder_attention_mask=torch.tensor(target_mask),
        ).logits
        texts = [
            model.generate(
                **given,
                do_sample=False,
                num_beams=beams,
                length_penalty=penalty,
                max_new_tokens=NEW,
                decoder_start_token_id=1,
                bos_token_id=1,
                eos_token_id=list(ends),
                pad_token_id=ends[0],
            )[:, 1:].tolist()
            for beams, penalty in SEARCHES
            for ends in (ENDS, tuple(range(words // 3)))
        ]
    arrays = {"ids": ids, "mask": mask, "target_ids": target_ids, "target_mask": target_mask}
    np.savez_compressed(out, **new, **arrays, logits=logits.numpy(), texts=json.dumps(texts))


if __name__ == "__main__":
    main(*sys.argv[1:])
