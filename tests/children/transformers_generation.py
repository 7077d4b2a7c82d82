"""Continuations in transformers: `transformers_generation.py FOLDER CASES.json OUT.json`.

A case: `prompts` (lists of ids), `ends` (ids), and arguments of `generate`.
"""

import json
import sys
from pathlib import Path

import torch
from transformers import GPT2LMHeadModel


def continued(model, case: dict) -> list[list[int]]:
    prompts, ends = case.pop("prompts"), case.pop("ends")
    longest = max(map(len, prompts))
    ids = torch.tensor([[0] * (longest - len(row)) + row for row in prompts])
    mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in prompts])
    found = model.generate(
        ids, attention_mask=mask, do_sample=False, eos_token_id=ends, pad_token_id=ends[0], **case
    )
    return found[:, longest:].tolist()


def main(folder: str, cases: str, out: str) -> None:
    model = GPT2LMHeadModel.from_pretrained(folder).float().eval()
    with torch.no_grad():
        found = [continued(model, case) for case in json.loads(Path(cases).read_text())]
    Path(out).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
