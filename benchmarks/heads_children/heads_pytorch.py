"""A child of benchmarks/heads.py: heads in PyTorch; with the argument `padded`, LSTMs unpacked."""

import sys

import torch
from heads_timing import THREADS, answer, example
from pytorch_heads import Bcn, Esim


def prepared(head: str, units: int):
    """A function that does one training step."""
    texts, labels = example(head)
    model = {"esim": Esim, "bcn": Bcn}[head](units, packed="padded" not in sys.argv)
    given = []
    for layers, lengths in texts:
        mask = torch.arange(layers.shape[2]) < torch.tensor(lengths)[:, None]
        given.append((list(torch.tensor(layers)), torch.tensor(lengths), mask))
    labels = torch.tensor(labels)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-4)

    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(given), labels)
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return step


if __name__ == "__main__":
    torch.set_num_threads(THREADS)
    answer(prepared)
