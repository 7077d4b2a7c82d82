"""ESIM and BCN in plain PyTorch, to be measured beside ours: the same sizes and dropouts."""

import torch
from heads_example import CLASSES, LAYERS, WIDTH
from torch import nn
from torch.nn.functional import dropout
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class Mix(nn.Module):
    """A learned average of an encoder's layers."""

    def __init__(self, layers=LAYERS):
        super().__init__()
        self.scalars = nn.Parameter(torch.zeros(layers))
        self.gamma = nn.Parameter(torch.ones(()))

    def forward(self, layers):
        weights = torch.softmax(self.scalars, 0)
        mixed = sum(weight * layer for weight, layer in zip(weights, layers, strict=True))
        return self.gamma * mixed


class BiLstm(nn.Module):
    """`nn.LSTM` in both directions, over packed sequences or, for its time only, padded ones."""

    def __init__(self, width, units, packed):
        super().__init__()
        self.packed = packed
        self.lstm = nn.LSTM(width, units, batch_first=True, bidirectional=True)

    def forward(self, states, lengths):
        if not self.packed:
            return self.lstm(states)[0]
        rows = pack_padded_sequence(states, lengths, batch_first=True, enforce_sorted=False)
        rows, _ = self.lstm(rows)
        return pad_packed_sequence(rows, batch_first=True, total_length=states.shape[1])[0]


class Maxout(nn.Module):
    """The largest of four linear functions for each unit."""

    def __init__(self, width, units):
        super().__init__()
        self.units = units
        self.linear = nn.Linear(width, 4 * units)

    def forward(self, inputs):
        return self.linear(inputs).view(-1, self.units, 4).max(-1).values


def masked_softmax(scores, mask):
    """`scores` among the unmasked, as shares of 1."""
    return torch.softmax(scores.masked_fill(~mask, float("-inf")), -1)


def masked_max(states, mask):
    """Largest value of each unit over the words."""
    return states.masked_fill(~mask[..., None], float("-inf")).max(1).values


def masked_mean(states, mask):
    """Mean of each unit over the words."""
    return (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


def word_dropout(states):
    """Dropout with one mask for all words of a text."""
    return states * dropout(torch.ones_like(states[:, :1]), 0.5)


class Esim(nn.Module):
    """Texts are `(layers, lengths, mask)`, encoded one after the other, as AllenNLP does."""

    def __init__(self, units, packed):
        super().__init__()
        self.mix = Mix()
        self.encoder = BiLstm(WIDTH, units, packed)
        self.projection = nn.Linear(8 * units, units)
        self.inference = BiLstm(units, units, packed)
        self.hidden = nn.Linear(8 * units, units)
        self.output = nn.Linear(units, CLASSES)

    def forward(self, texts):
        a, b = (self.encoder(word_dropout(self.mix(layers)), n) for layers, n, _ in texts)
        mask_a, mask_b = (mask[:, None] for _, _, mask in texts)
        scores = a @ b.transpose(1, 2)
        aligned_a = masked_softmax(scores, mask_b) @ b
        aligned_b = masked_softmax(scores.transpose(1, 2), mask_a) @ a
        pools = []
        for own, other, (_, lengths, mask) in zip(
            (a, b), (aligned_a, aligned_b), texts, strict=True
        ):
            match = torch.cat([own, other, own - other, own * other], -1)
            match = torch.relu(self.projection(match))
            match = self.inference(word_dropout(match), lengths)
            pools += [masked_mean(match, mask), masked_max(match, mask)]
        features = torch.relu(self.hidden(dropout(torch.cat(pools, -1), 0.5)))
        return self.output(dropout(features, 0.5))


class Bcn(nn.Module):
    """The one text is `(layers, lengths, mask)`."""

    def __init__(self, units, packed, width=WIDTH, layers=LAYERS, classes=CLASSES):
        super().__init__()
        self.mix, self.output_mix = Mix(layers), Mix(layers)
        self.pre_encoder = nn.Linear(width, units)
        self.encoder = BiLstm(units, units, packed)
        self.integrator = BiLstm(6 * units, units, packed)
        integrated = 2 * units + width
        self.attention = nn.Linear(integrated, 1)
        sizes = [4 * integrated, 4 * units, 2 * units, classes]
        self.maxouts = nn.ModuleList([Maxout(sizes[place], sizes[place + 1]) for place in range(3)])

    def forward(self, texts):
        ((layers, lengths, mask),) = texts
        states = dropout(self.mix(layers), 0.5)
        states = dropout(torch.relu(self.pre_encoder(states)), 0.25)
        states = self.encoder(states, lengths)
        context = masked_softmax(states @ states.transpose(1, 2), mask[:, None]) @ states
        states = torch.cat([states, states - context, states * context], -1)
        states = torch.cat([self.integrator(states, lengths), self.output_mix(layers)], -1)
        attention = masked_softmax(self.attention(states)[..., 0], mask)
        pools = [
            masked_max(states, mask),
            -masked_max(-states, mask),
            masked_mean(states, mask),
            (attention[:, None] @ states)[:, 0],
        ]
        features = dropout(torch.cat(pools, -1), 0.1)
        for maxout, share in zip(self.maxouts, (0.2, 0.3, 0.0), strict=True):
            features = dropout(maxout(features), share)
        return features
