"""Heads that read different parts of an encoder's outputs share what is in a cache."""

import numpy as np
import pytest
from small_data import TASKS

import tf_adapt as ta
from tf_adapt.data.packing.prepare import prepare
from tf_adapt.encoder import feature_cache
from tf_adapt.encoder.feature_cache import with_features
from tf_adapt.errors import ArtifactError
from tf_adapt.layers.head_inputs import EVERYTHING, POOLED, HeadInputs, state_inputs

pytestmark = pytest.mark.usefixtures("small_shards")

WORDS = ["a", "man", "who", "is", "the", "time"]
ALL, TOP = state_inputs(mixed=True), state_inputs(mixed=False)
FIRST, LAST = (state_inputs(True, pooling) for pooling in ("first", "last"))
MAX, MEAN = (state_inputs(False, pooling) for pooling in ("max", "mean"))


@pytest.fixture(scope="module")
def encoders(tiny_bert, tiny_elmo):
    handles = {"bert": tiny_bert, "elmo": tiny_elmo}
    return {name: ta.HubEncoder(handle, trainable=False) for name, handle in handles.items()}


def texts(kind, encoder):
    """100 texts or pairs of 1 to 10 words: four batches."""
    random = np.random.default_rng(0)

    def text():
        return " ".join(random.choice(WORDS, random.integers(1, 11)))

    pair = kind == "pair_classification"
    records = [(text(), text(), "no") if pair else (text(), "no") for _ in range(100)]
    return prepare(records, TASKS[kind], encoder)


def check_same(found, expected):
    for ours, theirs in zip(found.features, expected.features, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            assert (one.part.name, one.dtype) == (other.part.name, other.dtype)
            for example in range(100):
                np.testing.assert_array_equal(one.rows(example), other.rows(example))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "dtype", "others"),
    [
        ("classification", "float16", (TOP, FIRST, MAX)),
        ("pair_classification", "float32", (POOLED, LAST, EVERYTHING)),
    ],
    ids=["float16", "pairs"],
)
def test_of_all_layers_nothing_is_computed_again(encoders, kind, dtype, others, tmp_path, passes):
    encoder = encoders["bert"]
    data = texts(kind, encoder)
    with_features(data, encoder, tmp_path, head_inputs=ALL, dtype=dtype)
    passes.clear()
    found = [with_features(data, encoder, tmp_path, head_inputs=one, dtype=dtype) for one in others]
    assert passes == []
    for one, reads in zip(found, others, strict=True):
        check_same(one, with_features(data, encoder, head_inputs=reads, dtype=dtype))
        require = with_features(data, encoder, tmp_path, True, head_inputs=reads, dtype=dtype)
        check_same(require, one)


@pytest.mark.slow
def test_of_both_columns(encoders, tmp_path, passes):
    encoder = encoders["elmo"]
    data = texts("pair_classification", encoder)
    with_features(data, encoder, tmp_path, head_inputs=ALL)
    assert passes == [100, 100]
    found = [
        with_features(data, encoder, tmp_path, head_inputs=one) for one in (TOP, FIRST, LAST, MAX)
    ]
    assert passes == [100, 100]
    for one, reads in zip(found, (TOP, FIRST, LAST, MAX), strict=True):
        check_same(one, with_features(data, encoder, head_inputs=reads))


@pytest.mark.slow
def test_what_is_no_selection_is_computed(encoders, tmp_path, passes):
    encoder = encoders["bert"]
    data = texts("classification", encoder)
    for reads in (POOLED, ALL, MEAN, EVERYTHING, HeadInputs("top")):
        check_same(
            with_features(data, encoder, tmp_path, head_inputs=reads),
            with_features(data, encoder, head_inputs=reads),
        )
    # On disk the pooled vectors, all layers, the mean; in memory each.
    assert passes == [100, 100, 100, 100, 100, 100, 100, 100]


@pytest.mark.parametrize("reads", [TOP, FIRST], ids=["top", "first"])
def test_i7_a_source_with_a_damaged_shard(encoders, tmp_path, passes, reads):
    encoder = encoders["bert"]
    data = texts("classification", encoder)
    with_features(data, encoder, tmp_path, head_inputs=ALL)
    path = sorted(tmp_path.glob("*/features/all/shard_*"))[1] / "rows.bin"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 16
    path.write_bytes(content)
    with pytest.raises(ArtifactError, match="shard_0001: the cache has no features.*require"):
        with_features(data, encoder, tmp_path, True, head_inputs=reads)
    found = with_features(data, encoder, tmp_path, head_inputs=reads)
    assert passes == [100, 32]
    check_same(found, with_features(data, encoder, head_inputs=reads))
    passes.clear()
    with_features(data, encoder, tmp_path, head_inputs=ALL)
    assert passes == [32]


def test_i1_an_interrupted_pass_goes_on_for_another_head(encoders, tmp_path, passes):
    encoder = encoders["bert"]
    data = texts("classification", encoder)

    def interrupted(batches):
        for number, batch in enumerate(batches):
            if number == 3:
                raise KeyboardInterrupt
            yield batch

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feature_cache, "tracked", lambda batches, *_: interrupted(batches))
        with pytest.raises(KeyboardInterrupt):
            with_features(data, encoder, tmp_path, head_inputs=ALL)
    for reads in (POOLED, TOP):
        check_same(
            with_features(data, encoder, tmp_path, head_inputs=reads),
            with_features(data, encoder, head_inputs=reads),
        )
    assert passes == [100, 4, 100, 4, 100]


def test_a_run_without_a_cache_keeps_no_more_than_it_reads(encoders, tmp_path):
    encoder = encoders["bert"]
    data = texts("classification", encoder)
    with_features(data, encoder, limit_mb=0, own_folder=tmp_path, head_inputs=ALL)
    (entry,) = tmp_path.glob("*/features")
    assert [part.name for part in entry.iterdir()] == ["all"]
