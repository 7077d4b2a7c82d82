"""How PyTorch's users compute in half precision."""

import contextlib

import torch
from pytorch_device import DEVICE


def dtype_of(job: dict) -> torch.dtype:
    """Of the weights: float32, also under autocast."""
    return torch.bfloat16 if job.get("half_weights") else torch.float32


def autocast(job: dict):
    """The context of a forward pass."""
    if job["precision"] is None or job.get("half_weights"):
        return contextlib.nullcontext()
    return torch.autocast(DEVICE.type, torch.bfloat16)
