"""A training step of the same heads in PyTorch."""

import torch
from answering import Work, answer
from heads_example import example
from heads_pytorch_models import Bcn, Esim
from pytorch_device import DEVICE


def prepared(job: dict) -> Work:
    """`packed`: whether LSTMs read packed sequences, or padded ones (for their time only)."""
    texts, labels = example(job["head"])
    model = {"esim": Esim, "bcn": Bcn}[job["head"]](job["units"], packed=job["packed"]).to(DEVICE)
    given = []
    for layers, lengths in texts:
        # The lengths stay on the CPU: a packed sequence wants them there.
        mask = torch.arange(layers.shape[2]) < torch.tensor(lengths)[:, None]
        layers = list(torch.tensor(layers).to(DEVICE))
        given.append((layers, torch.tensor(lengths), mask.to(DEVICE)))
    labels = torch.tensor(labels).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-4)

    def step(turn):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(given), labels)
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return Work(step, lambda result: {})


if __name__ == "__main__":
    answer(prepared)
