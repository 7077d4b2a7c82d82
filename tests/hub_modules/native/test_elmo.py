"""The native ELMo: distinct words, state, batches, clipping. (All else: conformance/.)"""

import numpy as np

from hub_modules.native.elmo import ElmoEncoder

CONFIG = {
    "filters": [[1, 4], [2, 8]],
    "character_width": 4,
    "num_highway": 1,
    "projection_width": 6,
    "lstm_width": 10,
}


def built(**changes):
    encoder = ElmoEncoder(**CONFIG | changes)
    encoder.build()
    rng = np.random.default_rng(0)
    encoder.load_weights_by_name(
        {n: rng.normal(0, 0.5, w.shape) for n, w in encoder.weights_by_name().items()}
    )
    return encoder


def characters(rows=3, time=5, seed=1):
    ids = np.random.default_rng(seed).integers(1, 257, (rows, time, 50)).astype("int32")
    ids[1, 3:] = 0
    ids[0, 2] = ids[2, 4] = ids[0, 0]  # the same word in three places
    return {"character_ids": ids}


def test_layers_are_the_token_layer_twice_and_both_directions():
    outputs = built()(characters())
    assert [tuple(layer.shape) for layer in outputs["layers"]] == [(3, 5, 12)] * 3
    tokens = outputs["layers"][0]
    np.testing.assert_array_equal(tokens[..., :6], tokens[..., 6:])
    np.testing.assert_array_equal(
        outputs["mask"], [[True] * 5, [True] * 3 + [False] * 2, [True] * 5]
    )
    assert not np.any(outputs["layers"][2][1, 3:])


def test_the_character_cnn_runs_once_for_each_distinct_word(monkeypatch):
    encoder, seen = built(), []
    run = encoder.char_cnn.call
    monkeypatch.setattr(encoder.char_cnn, "call", lambda ids: seen.append(ids.shape[0]) or run(ids))
    outputs = encoder(characters())
    # 13 real words, of which 3 are the same; begin, end and padding words are one each.
    assert seen == [11 + 3]
    tokens = outputs["layers"][0].numpy()
    np.testing.assert_array_equal(tokens[0, 0], tokens[2, 4])
    assert np.abs(tokens[0, 0] - tokens[0, 1]).max() > 1e-3


def test_a_sentence_alone_equals_the_sentence_in_a_batch():
    encoder, batch = built(), characters()
    together = encoder(batch)["layers"]
    for row, length in enumerate((5, 3, 5)):
        alone = encoder({"character_ids": batch["character_ids"][row : row + 1, :length]})
        for one, other in zip(alone["layers"], together, strict=True):
            np.testing.assert_allclose(one[0], other[row, :length], atol=5e-6)


def test_stateless_repeats_itself_and_stateful_remembers_until_reset():
    stateless, batch = built(), characters()
    np.testing.assert_array_equal(stateless(batch)["layers"][2], stateless(batch)["layers"][2])
    stateful = built(stateful=True)
    first = stateful(batch)["layers"][2]
    np.testing.assert_allclose(first, stateless(batch)["layers"][2], atol=1e-6)
    assert np.abs(stateful(batch)["layers"][2] - first).max() > 1e-3
    stateful.reset_states()
    np.testing.assert_allclose(stateful(batch)["layers"][2], first, atol=1e-6)


def test_rows_beyond_the_batch_keep_their_state():
    stateful, batch = built(stateful=True), characters()
    stateful(batch)
    third = stateful.carried_hidden.numpy()[:, :, 2]
    stateful({"character_ids": batch["character_ids"][:2]})
    np.testing.assert_array_equal(stateful.carried_hidden.numpy()[:, :, 2], third)
    assert np.abs(third).max() > 0


def test_without_boundaries_the_states_of_a_layer_can_be_given():
    encoder, batch = built(sentence_boundaries=False), characters()
    batch["character_ids"][2] = 0  # no word
    whole = encoder(batch)["layers"]
    assert not np.any(whole[2][2])
    lower = encoder.lower_layers(batch, 1)
    assert lower["layers"][1].shape == (3, 5 + encoder.boundary_positions, 12) == (3, 5, 12)
    np.testing.assert_array_equal(np.sum(lower["mask"], axis=1), [5, 3, 0])
    above = encoder(batch | {"states_of_lstm_0": lower["layers"][1]})["layers"]
    np.testing.assert_allclose(above[1], whole[2], atol=1e-6)


def test_clipping_binds():
    tight = built(cell_clip=0.01, projection_clip=0.02)
    hidden = tight(characters())["layers"][1]
    assert np.abs(hidden).max() <= 0.02 + 1e-7
