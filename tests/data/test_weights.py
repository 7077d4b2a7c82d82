"""Weights of records, and columns by their names, in `ta.batches`."""

import numpy as np
import pytest

import tf_adapt as ta
from tf_adapt.errors import ConfigError, DataError


def test_columns_and_weights_of_a_frame(tiny_elmo):
    encoder = ta.HubEncoder(tiny_elmo)
    task = ta.Task("classification", labels=["bad", "good"])
    data = {"review": ["a b", "c", "d e f"], "stars": ["good", "bad", "good"], "id": [1, 2, 3]}
    columns = {"text": "review", "label": "stars"}
    weights = [0.5, 2.0, 0.0]
    (batch,) = ta.batches(
        data, task, encoder, shuffle=False, columns=columns, sample_weight=weights
    )
    assert batch[1].numpy().tolist() == [1, 0, 1] and batch[2].numpy().tolist() == weights
    rows = [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]
    (batch,) = ta.batches(rows, task, encoder, shuffle=False, columns=columns)
    assert batch[1].numpy().tolist() == [1, 0, 1]
    with pytest.raises(DataError, match="expected one column 'text', got the columns 'review'"):
        ta.batches(data, task, encoder, columns={"text": "text"})
    with pytest.raises(ConfigError, match="columns: expected none for records"):
        ta.batches(["a"], task, encoder, columns={"text": "text"})
    for wrong in ([1.0], [1, 1, np.nan], [1, 1, -1]):
        with pytest.raises(ConfigError, match="sample_weight: expected"):
            ta.batches(data, task, encoder, columns=columns, sample_weight=wrong)
    with pytest.raises(ConfigError, match="got examples without labels"):
        ta.batches(["a"], task, encoder, sample_weight=[1.0])


def test_parts_of_a_sentence_have_its_weight(tiny_bert):
    encoder = ta.HubEncoder(tiny_bert)
    task = ta.Task("tagging", labels=["O", "B-X", "I-X"])
    sentences = [(["a"] * 20, ["O"] * 20), (["b"], ["B-X"]), (["c"] * 9, ["O"] * 9)]
    given = {"shuffle": False, "max_length": 8, "truncate": True, "sample_weight": [1, 2, 3]}
    (batch,) = ta.batches(sentences, task, encoder, **given)
    words = (batch[1].numpy() >= 0).sum(axis=1)
    weights = batch[2].numpy()
    assert [words[weights == weight].sum() for weight in (1, 2, 3)] == [20, 1, 9]
    assert (np.diff(weights) >= 0).all() and len(weights) > 3
