"""A child of benchmarks/crf.py: pytorch-crf."""

import torch
from timing import THREADS, answer, example
from torchcrf import CRF


def prepared(num_tags: int):
    """The CRF and what it is called with."""
    logits, tags, lengths = map(torch.tensor, example(num_tags))
    mask = torch.arange(tags.shape[1]) < lengths[:, None]
    return CRF(num_tags, batch_first=True), logits.requires_grad_(), tags, mask


def loss(num_tags: int):
    """The loss and its gradients."""
    crf, logits, tags, mask = prepared(num_tags)

    def run():
        value = -crf(logits, tags, mask=mask, reduction="mean")
        return torch.autograd.grad(value, [logits, *crf.parameters()])

    return run


def best_path(num_tags: int):
    """Viterbi's algorithm."""
    crf, logits, _, mask = prepared(num_tags)

    @torch.no_grad()
    def run():
        return crf.decode(logits, mask=mask)

    return run


if __name__ == "__main__":
    torch.set_num_threads(THREADS)
    answer({"loss": loss, "best_path": best_path})
