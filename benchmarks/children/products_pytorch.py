"""Matrix products of PyTorch, under autocast or on weights of half precision."""

import torch
from answering import Work, answer
from products_example import example
from pytorch_device import DEVICE


def prepared(job: dict) -> Work:
    """`half`: weights are kept in the precision of the products."""
    arrays, weights = example(job["rows"])
    dtype = getattr(torch, job["precision"])
    states = {width: torch.tensor(a, device=DEVICE).to(dtype) for width, a in arrays.items()}
    kept = dtype if job.get("half") else torch.float32
    layers = [torch.tensor(array.T.copy(), device=DEVICE).to(kept) for array in weights]

    @torch.no_grad()
    def run(turn):
        # Weights lie as in `nn.Linear`, which transformers uses, and are cast in each call.
        found = [torch.nn.functional.linear(states[w.shape[1]], w.to(dtype)) for w in layers]
        found[-1].float().cpu()
        return found

    return Work(run, lambda found: {"result": found[-1].float().cpu().numpy()})


if __name__ == "__main__":
    answer(prepared)
