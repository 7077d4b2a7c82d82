"""A training step of the same heads in PyTorch."""

import torch
from answering import Work, answer
from heads_example import example
from heads_pytorch_models import Bcn, Esim


def prepared(job: dict) -> Work:
    """`packed`: whether LSTMs read packed sequences, or padded ones (for their time only)."""
    texts, labels = example(job["head"])
    model = {"esim": Esim, "bcn": Bcn}[job["head"]](job["units"], packed=job["packed"])
    given = []
    for layers, lengths in texts:
        mask = torch.arange(layers.shape[2]) < torch.tensor(lengths)[:, None]
        given.append((list(torch.tensor(layers)), torch.tensor(lengths), mask))
    labels = torch.tensor(labels)
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
