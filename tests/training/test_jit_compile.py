"""Rows padded to few lengths for XLA, and what it cannot compile.

(The same numbers as without: test_options_of_training.py.)
"""

from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.config.reading import config_from
from tf_adapt.data.formats import TaggedSentence
from tf_adapt.data.packing.prepare import prepare
from tf_adapt.errors import ConfigError
from tf_adapt.training.resolving.compiled_model import compiled_model

TAGS = ta.Task("tagging", ["O", "B-X"])
SENTENCES = [
    TaggedSentence(["the", "man", "sings"], ["O", "B-X", "O"]),
    TaggedSentence(["a"], ["O"]),
]


def test_rows_are_padded_to_few_lengths(tiny_bert):
    encoder = ta.HubEncoder(tiny_bert)
    data = prepare(SENTENCES, TAGS, encoder)
    short, targets = data.batch(tf.range(2, dtype=tf.int64))
    long, padded_targets = replace(data, length_step=32).batch(tf.range(2, dtype=tf.int64))
    for name, expected in {**short["a"], "targets": targets}.items():
        found = padded_targets if name == "targets" else long["a"][name]
        filler = -1 if name in ("first_piece", "last_piece", "targets") else 0
        width = expected.shape[1]
        assert found.shape == (2, 32)
        np.testing.assert_array_equal(found[:, :width], expected)
        np.testing.assert_array_equal(found[:, width:], filler)


def refused(handle, head):
    content = {
        "data": {"dataset": "sample_tagging", "source": "sample"},
        "encoder": {"handle": str(handle)},
        "head": head,
        "adaptation": "fine_tuning",
        "training": {"epochs": 1, "batch_size": 2, "learning_rate": 1e-2, "jit_compile": True},
    }
    with pytest.raises(ConfigError, match="training.jit_compile: expected a BERT") as caught:
        compiled_model(config_from(content, "test"), TAGS)
    return str(caught.value)


def test_elmo_is_refused(tiny_elmo):
    assert "got the family elmo" in refused(tiny_elmo, "crf")


@pytest.mark.parametrize("head", ["bilstm", "bilstm_crf"])
def test_heads_with_lstms_are_refused(tiny_bert, head):
    assert "got the head Tagger, which has LSTMs; leave it out" in refused(tiny_bert, head)
