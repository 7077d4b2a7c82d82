"""What layers are called with: two rows of other lengths, with as much padding as is asked for."""

from collections.abc import Callable

import numpy as np

from tf_adapt.tasks.tag_constraints import tag_constraints

LENGTHS = (5, 3)  # real positions of the two rows of every batch
WIDTH = 6
CONSTRAINTS = tag_constraints(["O", "B-X", "I-X"], "IOB2")


def bert_inputs(extra: int) -> tuple:
    random = np.random.default_rng(1)
    time = LENGTHS[0] + extra
    mask = np.arange(time) < np.array(LENGTHS)[:, None]
    ids = random.integers(1, 20, size=(2, LENGTHS[0]))
    types = random.integers(0, 2, size=(2, LENGTHS[0]))
    spare = ((0, 0), (0, extra))
    inputs = {
        "input_word_ids": np.pad(ids, spare) * mask,
        "input_mask": mask,
        "input_type_ids": np.pad(types, spare) * mask,
    }
    return ({name: array.astype("int32") for name, array in inputs.items()},)


def elmo_inputs(extra: int) -> tuple:
    ids = np.random.default_rng(2).integers(1, 257, size=(2, LENGTHS[0], 50)).astype("int32")
    ids[1, LENGTHS[1] :] = 0
    return ({"character_ids": np.pad(ids, ((0, 0), (0, extra), (0, 0)))},)


def word_ids(extra: int) -> tuple:
    ids = np.random.default_rng(8).integers(1, 4, size=(2, LENGTHS[0])).astype("int32")
    ids[1, LENGTHS[1] :] = 0
    return ({"word_ids": np.pad(ids, ((0, 0), (0, extra)))},)


def text(extra: int, seed: int) -> dict:
    """An encoder's outputs for a head, with junk at padding."""
    random = np.random.default_rng(seed)
    layers = []
    for _ in range(2):
        states = random.normal(size=(2, LENGTHS[0], WIDTH))
        states = np.pad(states, ((0, 0), (0, extra), (0, 0)), constant_values=1e3)
        states[1, LENGTHS[1] :] = -1e3
        layers.append(states.astype("float32"))
    mask = np.arange(LENGTHS[0] + extra) < np.array(LENGTHS)[:, None]
    return {"layers": layers, "mask": mask, "pooled": layers[-1][:, 0]}


def one_text(extra: int) -> tuple:
    return ([text(extra, seed=3)],)


def two_texts(extra: int) -> tuple:
    return ([text(extra, seed=3), text(2 * extra, seed=4)],)


def joint_pair(extra: int) -> tuple:
    """Two texts in one row, `[CLS] a [SEP] b [SEP]`, of one or two words each."""
    types = np.pad([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]], ((0, 0), (0, extra)))
    encoded = text(extra, seed=3)
    inputs = {
        "input_mask": encoded["mask"].astype("int32"),
        "input_type_ids": types.astype("int32"),
    }
    return [encoded], inputs


def joint_sentences(extra: int) -> tuple:
    """As `joint_pair`, of two or three words each, so that an LSTM has something to remember."""
    mask = np.arange(8 + extra) < np.array([[8], [7]])
    types = np.pad([[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1, 1, 0]], ((0, 0), (0, extra)))
    states = np.pad(
        np.random.default_rng(3).normal(size=(2, 8, WIDTH)), ((0, 0), (0, extra), (0, 0))
    )
    states[~mask] = -1e3
    inputs = {"input_mask": mask.astype("int32"), "input_type_ids": types.astype("int32")}
    return [{"layers": [states.astype("float32")], "mask": mask}], inputs


def layers_and_mask(extra: int) -> tuple:
    encoded = text(extra, seed=3)
    return encoded["layers"], encoded["mask"]


def states_and_mask(extra: int) -> tuple:
    encoded = text(extra, seed=3)
    return encoded["layers"][0], encoded["mask"]


def text_and_pieces(extra: int) -> tuple:
    spare = {"pad_width": ((0, 0), (0, extra)), "constant_values": -1}
    first, last = [[0, 2, 3], [1, 2, -1]], [[1, 2, 4], [1, 2, -1]]
    pieces = {"first_piece": np.pad(first, **spare), "last_piece": np.pad(last, **spare)}
    return [text(extra, seed=3)], {name: array.astype("int32") for name, array in pieces.items()}


def states_and_table(extra: int) -> tuple:
    table = np.random.default_rng(7).normal(size=(20, WIDTH))
    return text(extra, seed=3)["layers"][0], table.astype("float32")


def tagged_words(extra: int) -> tuple:
    """Logits, tags and mask for a CRF, with junk at padding."""
    random = np.random.default_rng(6)
    mask = np.arange(LENGTHS[0] + extra) < np.array(LENGTHS)[:, None]
    spare = ((0, 0), (0, extra))
    logits = np.pad(random.normal(size=(2, LENGTHS[0], 3)), (*spare, (0, 0)))
    tags = np.pad(random.integers(0, 3, size=(2, LENGTHS[0])), spare)
    logits[~mask], tags[~mask] = np.nan, -1
    return logits.astype("float32"), tags.astype("int32"), mask


def first_only(inputs: Callable) -> Callable:
    return lambda extra: inputs(extra)[:1]
