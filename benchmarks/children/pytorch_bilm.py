"""ELMo's language model in plain PyTorch, with our weights: what to compare ours with.

As in AllenNLP, batches are sorted by length, a step computes only the rows that still have words,
and padding goes through the character convolutions like words. Unlike there, the input's part of
the gates is one product for all steps.
"""

import json

import numpy as np
import torch
from pytorch_device import DEVICE
from torch import nn
from torch.nn.functional import conv1d, linear

SENTENCE_BEGIN, SENTENCE_END, WORD_BEGIN, WORD_END, PAD = 257, 258, 259, 260, 261
CHARACTERS = 50
ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh}


def character_ids(sentences: list[list[str]]) -> np.ndarray:
    """`[batch, time, 50]`, sentence boundaries included; a padding word is zeros."""
    longest = max(map(len, sentences)) + 2
    ids = np.zeros((len(sentences), longest, CHARACTERS), np.int64)
    for row, words in zip(ids, sentences, strict=True):
        spelled = [[byte + 1 for byte in word.encode("utf-8")[:48]] for word in words]
        for place, characters in enumerate([[SENTENCE_BEGIN], *spelled, [SENTENCE_END]]):
            row[place] = PAD
            row[place, : len(characters) + 2] = [WORD_BEGIN, *characters, WORD_END]
    return ids


class Bilm(nn.Module):
    """Character ids and lengths → the token layer (twice, side by side) and every biLM layer."""

    def __init__(self, path: str, fused: bool):
        super().__init__()
        with np.load(path) as arrays:
            self.config = json.loads(str(arrays["config"]))
            names = [name for name in arrays if name != "config"]
            self.arrays = {name: torch.tensor(arrays[name], device=DEVICE) for name in names}
        made = FusedDirection if fused else Direction
        self.directions = [
            [made(self.part(f"lstm_{n}/{side}/"), self.config) for side in ("forward", "backward")]
            for n in range(self.config["num_layers"])
        ]

    def part(self, prefix: str) -> dict:
        """The weights whose names begin so."""
        return {n.removeprefix(prefix): a for n, a in self.arrays.items() if n.startswith(prefix)}

    def forward(self, ids, lengths: list[int]) -> list:
        order = torch.tensor(np.argsort([-length for length in lengths], kind="stable"))
        lengths = [lengths[row] for row in order]
        tokens = self.tokens(ids[order].to(DEVICE))
        forward, backward = tokens, reverse(tokens, lengths)
        layers = [torch.cat([tokens, tokens], -1)]
        for number, (one, other) in enumerate(self.directions):
            skip = number > 0 and self.config["skip_connections"]
            forward = one(forward, lengths) + (forward if skip else 0)
            backward = other(backward, lengths) + (backward if skip else 0)
            layers.append(torch.cat([forward, reverse(backward, lengths)], -1))
        back = torch.argsort(order).to(DEVICE)
        return [layer[back] for layer in layers]

    def tokens(self, ids):
        """The character CNN of all words, `[batch, time, width]`."""
        weights = self.part("char_cnn/")
        table = torch.cat([torch.zeros_like(weights["embedding"][:1]), weights["embedding"]])
        characters = table[ids.reshape(-1, CHARACTERS)].transpose(1, 2)
        found = []
        for number in range(len(self.config["filters"])):
            kernel = weights[f"convolution_{number}/kernel"].permute(2, 1, 0)
            states = conv1d(characters, kernel, weights[f"convolution_{number}/bias"])
            found.append(ACTIVATIONS[self.config["activation"]](states.max(-1).values))
        states = torch.cat(found, -1)
        for number in range(self.config["num_highway"]):
            one = {name: weights[f"highway_{number}/{name}"] for name in HIGHWAY}
            gate = torch.sigmoid(states @ one["gate_kernel"] + one["gate_bias"])
            new = torch.relu(states @ one["transform_kernel"] + one["transform_bias"])
            states = gate * new + (1 - gate) * states
        if "projection/kernel" in weights:
            states = states @ weights["projection/kernel"] + weights["projection/bias"]
        return states.view(*ids.shape[:2], -1)


HIGHWAY = ("gate_kernel", "gate_bias", "transform_kernel", "transform_bias")


class Direction:
    """An LSTM with projection, cell and projected state clipped, as a loop over time."""

    def __init__(self, weights: dict, config: dict):
        width = weights["projection"].shape[1]
        self.input_kernel = weights["kernel"][:-width].T.contiguous()
        self.kernel = weights["kernel"][-width:].T.contiguous()
        self.projection = weights["projection"].T.contiguous()
        bias = weights["bias"].clone().view(4, -1)
        bias[2] += 1
        self.bias = bias.view(-1)
        self.cell_clip, self.projection_clip = config["cell_clip"], config["projection_clip"]

    def __call__(self, inputs, lengths: list[int]):
        gates = linear(inputs, self.input_kernel, self.bias)
        batch, time = inputs.shape[:2]
        outputs = inputs.new_zeros(batch, time, self.projection.shape[0])
        hidden = inputs.new_zeros(batch, self.projection.shape[0])
        cell = inputs.new_zeros(batch, self.projection.shape[1])
        active = [sum(length > place for length in lengths) for place in range(time)]
        for place, rows in enumerate(active):
            step = gates[:rows, place] + linear(hidden[:rows], self.kernel)
            entry, candidate, keep, output = step.chunk(4, -1)
            cell = torch.sigmoid(keep) * cell[:rows] + torch.sigmoid(entry) * torch.tanh(candidate)
            cell = clipped(cell, self.cell_clip)
            hidden = linear(torch.sigmoid(output) * torch.tanh(cell), self.projection)
            hidden = clipped(hidden, self.projection_clip)
            outputs[:rows, place] = hidden
        return outputs


class FusedDirection:
    """`nn.LSTM` with `proj_size`, over packed sequences; nothing is clipped."""

    def __init__(self, weights: dict, config: dict):
        units, width = weights["projection"].shape
        self.lstm = nn.LSTM(
            weights["kernel"].shape[0] - width, units, proj_size=width, batch_first=True
        )
        bias = weights["bias"].clone().view(4, -1)
        bias[2] += 1
        given = {
            "weight_ih_l0": in_their_order(weights["kernel"][:-width].T),
            "weight_hh_l0": in_their_order(weights["kernel"][-width:].T),
            "bias_ih_l0": in_their_order(bias.view(-1)),
            "bias_hh_l0": torch.zeros(4 * units),
            "weight_hr_l0": weights["projection"].T,
        }
        self.lstm.load_state_dict(given)
        self.lstm.to(DEVICE)

    def __call__(self, inputs, lengths: list[int]):
        packed = nn.utils.rnn.pack_padded_sequence(inputs, lengths, batch_first=True)
        total = inputs.shape[1]
        states, _ = self.lstm(packed)
        return nn.utils.rnn.pad_packed_sequence(states, batch_first=True, total_length=total)[0]


def in_their_order(gates):
    """Entry, candidate, forget, output → entry, forget, candidate, output, along the rows."""
    entry, candidate, keep, output = gates.chunk(4)
    return torch.cat([entry, keep, candidate, output])


def clipped(values, limit):
    """Bounded to ± limit; None: any."""
    return values if limit is None else values.clamp(-limit, limit)


def reverse(states, lengths: list[int]):
    """Each row from its own end."""
    place = torch.arange(states.shape[1], device=DEVICE)[None]
    length = torch.tensor(lengths, device=DEVICE)[:, None]
    index = torch.where(place < length, length - 1 - place, place)
    return torch.gather(states, 1, index[..., None].expand_as(states))
