"""Run by test_pytorch_crf.py in an environment with PyTorch: what pytorch-crf computes.

`pytorch_crf.py CASES RESULTS`: two .npz files, whose keys are `NUMBER:NAME`.
"""

import sys

import numpy as np
import torch
from torchcrf import CRF


def results_of(case: dict) -> dict:
    # In float32 its gradients are off by 5e-5 after 150 words.
    logits = torch.tensor(case["logits"], dtype=torch.float64, requires_grad=True)
    tags, mask = torch.tensor(case["tags"]), torch.tensor(case["mask"])
    crf = CRF(logits.shape[-1], batch_first=True).double()
    weights = [crf.transitions, crf.start_transitions, crf.end_transitions]
    with torch.no_grad():
        for weight, name in zip(weights, ("transitions", "start", "end"), strict=True):
            weight.copy_(torch.tensor(case[name]))
    log_likelihoods = crf(logits, tags, mask=mask, reduction="none")
    gradients = torch.autograd.grad(
        log_likelihoods.sum(), [logits, *weights], allow_unused=True, materialize_grads=True
    )
    paths = crf.decode(logits, mask=mask)
    best = np.full(mask.shape, -1)
    for row, path in zip(best, paths, strict=True):
        row[: len(path)] = path
    names = ("of_logits", "of_transitions", "of_start", "of_end")
    arrays = {name: part.numpy() for name, part in zip(names, gradients, strict=True)}
    return arrays | {"log_likelihoods": log_likelihoods.detach().numpy(), "best": best}


def main(cases_path: str, results_path: str) -> None:
    cases: dict[str, dict] = {}
    with np.load(cases_path, allow_pickle=False) as arrays:
        for key, array in arrays.items():
            number, name = key.split(":")
            cases.setdefault(number, {})[name] = array
    results = {
        f"{number}:{name}": array
        for number, case in cases.items()
        for name, array in results_of(case).items()
    }
    np.savez(results_path, **results)


if __name__ == "__main__":
    main(*sys.argv[1:])
