"""Continuations by transformers' `generate`."""

import json
from pathlib import Path

import torch
from answering import Work, answer
from pytorch_device import DEVICE
from transformers import GPT2LMHeadModel


def prepared(job: dict) -> Work:
    """As `decode_ours`, with the folder `huggingface`."""
    model = GPT2LMHeadModel.from_pretrained(job["huggingface"], dtype=torch.float32).eval()
    model.generation_config.eos_token_id = None
    ids = torch.tensor(json.loads(Path(job["rows"]).read_text("utf-8")), device=DEVICE)
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    settings = {"max_new_tokens": job["new"], "num_beams": job["beams"], "do_sample": False}
    model = model.to(DEVICE)

    def run(turn):
        with torch.inference_mode():
            found = model.generate(**given, **settings, pad_token_id=0)
        return found[:, ids.shape[1] :].cpu().numpy()

    return Work(run, lambda found: {"tokens": found}, amount=len(ids) * job["new"])


if __name__ == "__main__":
    answer(prepared)
