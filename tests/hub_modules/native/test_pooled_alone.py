"""The pooled vector alone: the same numbers with less of the top layer."""

import numpy as np
import pytest
import tensorflow as tf

from hub_modules.native.added.settings import BottleneckAdapters, Lora, ProjectedAdapters
from hub_modules.native.bert import BertEncoder
from hub_modules.native.causal import CausalEncoder
from hub_modules.native.kernels.pooled_alone import pooled_alone
from hub_modules.native.relative.mpnet import MPNetEncoder

TIME = 5
# Encoder, what is added to it, positions of the top layer that are computed.
CASES = [
    (BertEncoder, None, 1),
    (BertEncoder, BottleneckAdapters(3, parallel=True), 1),
    (BertEncoder, Lora(rank=2), 1),
    (MPNetEncoder, None, 1),
    (BertEncoder, BottleneckAdapters(3, operation="convolution"), TIME),
    (BertEncoder, ProjectedAdapters(4), TIME),
    (CausalEncoder, None, TIME),
]


@pytest.mark.parametrize(("encoder_class", "added", "positions"), CASES)
def test_the_pooled_vector_is_that_of_a_whole_call(encoder_class, added, positions):
    sizes = {"width": 8, "num_layers": 2, "num_heads": 2, "intermediate_width": 16}
    encoder = encoder_class(vocabulary_size=50, max_positions=12, **sizes)
    encoder.build()
    if added is not None:
        encoder.add(added)
    random = np.random.default_rng(0)
    for weight in encoder.weights:
        weight.assign(random.normal(0, 0.5, weight.shape))
    ids = random.integers(1, 50, [3, TIME])
    mask = np.arange(TIME) < [[5], [3], [1]]
    named = {"input_word_ids": ids, "input_mask": mask, "input_type_ids": ids % 2}
    inputs = {name: tf.constant(array, tf.int32) for name, array in named.items()}
    whole = encoder(inputs, training=False)
    with pooled_alone():
        alone = encoder(inputs, training=False)
    np.testing.assert_allclose(alone["pooled"], whole["pooled"], atol=1e-5)
    assert alone["layers"][-1].shape == (3, positions, 8)
    assert np.array_equal(alone["mask"], mask)
