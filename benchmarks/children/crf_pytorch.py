"""pytorch-crf."""

import torch
from answering import Work, answer
from crf_example import example, padded
from pytorch_device import DEVICE
from torchcrf import CRF


def prepared(job: dict) -> Work:
    """`operation`: "loss" or "best_path"."""
    return {"loss": loss, "best_path": best_path}[job["operation"]](job["tags"])


def made(num_tags: int):
    """The CRF and what it is called with."""
    given = (torch.tensor(part).to(DEVICE) for part in example(num_tags))
    logits, tags, lengths, transitions = given
    crf = CRF(num_tags, batch_first=True).to(DEVICE)
    with torch.no_grad():
        for weight in crf.parameters():
            weight.zero_()
        crf.transitions.copy_(transitions)
    mask = torch.arange(tags.shape[1], device=DEVICE) < lengths[:, None]
    return crf, logits.requires_grad_(), tags, mask


def loss(num_tags: int) -> Work:
    """The loss and its gradients by the logits and all weights."""
    crf, logits, tags, mask = made(num_tags)
    weights = [crf.transitions, crf.start_transitions, crf.end_transitions]

    def run(turn):
        value = -crf(logits, tags, mask=mask, reduction="mean")
        return [part.cpu() for part in torch.autograd.grad(value, [logits, *weights])]

    return Work(run, lambda result: {"logits": result[0].numpy(), "transitions": result[1].numpy()})


def best_path(num_tags: int) -> Work:
    """Viterbi's algorithm."""
    crf, logits, _, mask = made(num_tags)

    @torch.no_grad()
    def run(turn):
        return crf.decode(logits, mask=mask)

    return Work(run, lambda result: {"paths": padded(result)})


if __name__ == "__main__":
    answer(prepared)
