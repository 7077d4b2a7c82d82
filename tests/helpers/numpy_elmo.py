"""ELMo in NumPy, in float64, from the variables of a module in TF Hub's first format.

Written from the formulas (Peters et al. 2018; bilm-tf), a word at a time, with nothing of ours.
"""

import numpy as np


def elmo_layers(
    arrays: dict,
    words: list[str],
    activation: str = "relu",
    cell_clip: float | None = 3.0,
    projection_clip: float | None = 3.0,
    skip_connections: bool = True,
    sentence_boundaries: bool = True,
    forget_bias: float = 1.0,
) -> list[np.ndarray]:
    """`[words, 2 * projection]` of the token layer and of each LSTM layer, of one sentence."""
    arrays = {name: np.asarray(array, np.float64) for name, array in arrays.items()}
    ids = [_ids(word if isinstance(word, bytes) else word.encode()) for word in words]
    if sentence_boundaries:
        ids = [_ids([256]), *ids, _ids([257])]
    tokens = np.stack([_token(arrays, one, activation) for one in ids])
    states, layers = [tokens, tokens[::-1]], [np.concatenate([tokens, tokens], axis=1)]
    for layer in (0, 1):
        for direction in (0, 1):
            cell = f"bilm/RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/rnn/lstm_cell"
            names = ("kernel", "bias", "projection/kernel")
            weights = [arrays[f"{cell}/{name}"] for name in names]
            outputs = _lstm(states[direction], *weights, forget_bias, cell_clip, projection_clip)
            added = states[direction] if skip_connections and layer else 0.0
            states[direction] = outputs + added
        layers.append(np.concatenate([states[0], states[1][::-1]], axis=1))
    return [layer[1:-1] if sentence_boundaries else layer for layer in layers]


def _ids(content) -> np.ndarray:
    inside = [258, *list(content)[:48], 259]
    return np.array(inside + [260] * (50 - len(inside))) + 1


def _token(arrays: dict, ids: np.ndarray, activation: str) -> np.ndarray:
    characters = arrays["bilm/char_embed"][ids]
    pooled = []
    while f"bilm/CNN/W_cnn_{len(pooled)}" in arrays:
        kernel = arrays[f"bilm/CNN/W_cnn_{len(pooled)}"][0]
        windows = [characters[start : start + len(kernel)] for start in range(51 - len(kernel))]
        convolved = np.tensordot(np.stack(windows), kernel, 2)
        pooled.append((convolved + arrays[f"bilm/CNN/b_cnn_{len(pooled)}"]).max(axis=0))
    x = np.concatenate(pooled)
    x = np.maximum(x, 0) if activation == "relu" else np.tanh(x)
    number = 0
    while f"bilm/CNN_high_{number}/W_carry" in arrays:
        w_carry, b_carry, w_transform, b_transform = (
            arrays[f"bilm/CNN_high_{number}/{name}"]
            for name in ("W_carry", "b_carry", "W_transform", "b_transform")
        )
        gate = _sigmoid(x @ w_carry + b_carry)
        x = gate * np.maximum(x @ w_transform + b_transform, 0) + (1 - gate) * x
        number += 1
    return x @ arrays["bilm/CNN_proj/W_proj"] + arrays["bilm/CNN_proj/b_proj"]


def _lstm(inputs, kernel, bias, projection, forget_bias, cell_clip, projection_clip) -> np.ndarray:
    hidden, cell, outputs = np.zeros(projection.shape[1]), np.zeros(projection.shape[0]), []
    for one in inputs:
        i, j, f, o = np.split(np.concatenate([one, hidden]) @ kernel + bias, 4)
        cell = _sigmoid(f + forget_bias) * cell + _sigmoid(i) * np.tanh(j)
        cell = cell if cell_clip is None else np.clip(cell, -cell_clip, cell_clip)
        hidden = (_sigmoid(o) * np.tanh(cell)) @ projection
        if projection_clip is not None:
            hidden = np.clip(hidden, -projection_clip, projection_clip)
        outputs.append(hidden)
    return np.stack(outputs)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))
