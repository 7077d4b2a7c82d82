"""Features on disk in shards: whole, absent or computed again, whatever happens to the disk."""

import resource
import shutil
import signal

import numpy as np
import pytest
import tensorflow as tf
from small_data import TASKS

import tf_adapt as ta
from tf_adapt.data.batches import batches_from
from tf_adapt.data.packing.prepare import prepare
from tf_adapt.encoder import feature_arrays, feature_cache, feature_shards
from tf_adapt.encoder.feature_cache import reading_features, with_features
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.layers.head_inputs import POOLED, state_inputs

pytestmark = pytest.mark.usefixtures("small_shards")

WORDS = ["a", "man", "who", "is", "the", "time"]


@pytest.fixture(scope="module")
def encoder(tiny_bert):
    return ta.HubEncoder(tiny_bert, trainable=False)


@pytest.fixture(scope="module")
def data(encoder):
    """100 texts of 1 to 10 words: four batches."""
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(WORDS, random.integers(1, 11))) for _ in range(100)]
    return prepare([(text, "yes") for text in texts], TASKS["classification"], encoder)


@pytest.fixture(scope="module")
def expected(data, encoder):
    return all_rows(with_features(data, encoder))


def all_rows(data) -> list[np.ndarray]:
    (parts,) = data.features
    return [one.rows(example) for one in parts for example in range(len(one.starts))]


def check_same(found, expected):
    for one, other in zip(all_rows(found), expected, strict=True):
        np.testing.assert_array_equal(one, other)


def shards(folder, part="*") -> list:
    return sorted(folder.glob(f"*/features/{part}/shard_*"))


def test_the_bits_do_not_depend_on_where_they_are(data, encoder, expected, tmp_path, passes):
    check_same(with_features(data, encoder), expected)  # four shards in memory
    for _ in range(2):
        check_same(with_features(data, encoder, tmp_path), expected)
    assert [len(shards(tmp_path, part)) for part in ("all", "pooled", "*")] == [4, 4, 8]
    assert passes == [100, 100]


def test_shards_are_whole_batches_in_the_order_of_length(monkeypatch):
    lengths = np.random.default_rng(0).integers(1, 50, 5000)
    for most, smallest, sizes in (
        (64, 1024, [1024] * 4 + [904]),
        (3, 1, [1696, 1696, 1608]),
        (64, 10**6, [5000]),
    ):
        monkeypatch.setattr(feature_arrays, "MOST_SHARDS", most)
        monkeypatch.setattr(feature_arrays, "SMALLEST_SHARD", smallest)
        orders = feature_arrays.shard_orders(lengths)
        assert [len(order) for order in orders] == sizes
        np.testing.assert_array_equal(np.concatenate(orders), np.argsort(lengths, kind="stable"))


def test_i7_a_flipped_byte_costs_one_shard(data, encoder, expected, tmp_path, passes, caplog):
    with_features(data, encoder, tmp_path)
    damage = (("all", 1, "rows.bin"), ("pooled", 3, "rows.bin"), ("all", 0, "lengths.bin"))
    for part, number, name in damage:
        path = shards(tmp_path, part)[number] / name
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 16
        path.write_bytes(content)
        with pytest.raises(ArtifactError, match=f"damaged features .{name} does not have the SHA"):
            with_features(data, encoder, tmp_path, require=True)
        check_same(with_features(data, encoder, tmp_path), expected)
    assert passes == [100, 32, 4, 32]
    assert caplog.text.count("computed again") == 3


def test_i7_shards_that_are_gone(data, encoder, expected, tmp_path, passes):
    with_features(data, encoder, tmp_path)
    shutil.rmtree(shards(tmp_path, "all")[2])
    shutil.rmtree(shards(tmp_path, "all")[0])
    with pytest.raises(ArtifactError, match="shard_0000: the cache has no features.*require"):
        with_features(data, encoder, tmp_path, require=True)
    check_same(with_features(data, encoder, tmp_path), expected)
    assert passes == [100, 64]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_i1_an_interrupted_pass_goes_on(data, encoder, expected, tmp_path, passes, stop):
    def interrupted(batches):
        for number, batch in enumerate(batches):
            if number == 3:
                raise stop
            yield batch

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feature_cache, "tracked", lambda batches, *_: interrupted(batches))
        with pytest.raises(stop):
            with_features(data, encoder, tmp_path)
    assert [len(shards(tmp_path, part)) for part in ("all", "pooled")] == [3, 3]
    assert not list(tmp_path.rglob("*.partial"))
    check_same(with_features(data, encoder, tmp_path), expected)
    assert passes == [100, 4]


def test_i6_the_disk_is_full_in_the_middle(data, encoder, expected, tmp_path, passes):
    """A limit on the size of files stands in for a full disk; later shards have longer texts."""
    with_features(data, encoder, tmp_path / "whole", head_inputs=state_inputs(mixed=True))
    sizes = [(shard / "rows.bin").stat().st_size for shard in shards(tmp_path / "whole", "all")]
    assert sizes[0] < sizes[1] < sizes[2]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (sizes[1], before[1]))
    try:
        with pytest.raises(ArtifactError, match="shard_0002: cannot be written .*; free space or"):
            with_features(data, encoder, tmp_path / "full", head_inputs=state_inputs(mixed=True))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert [len(shards(tmp_path / "full", part)) for part in ("all", "pooled")] == [2, 2]
    assert not list(tmp_path.rglob("*.partial"))
    kept = with_features(data, encoder, tmp_path / "full", head_inputs=state_inputs(mixed=True))
    check_same(kept, expected[:100])
    assert passes == [100, 100, 36]


def test_i6_too_little_space_is_said_before_anything_is_computed(
    data, encoder, tmp_path, passes, monkeypatch
):
    usage = shutil.disk_usage(tmp_path)._replace(free=3000)
    monkeypatch.setattr(feature_shards.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(ArtifactError, match="features need 0 MB, and 0 MB are free"):
        with_features(data, encoder, tmp_path)
    assert not shards(tmp_path)


def test_a_folder_that_is_removed_is_read_to_the_end(data, encoder, expected, tmp_path):
    kept = with_features(data, encoder, tmp_path / "cache")
    shutil.rmtree(tmp_path / "cache")
    check_same(kept, expected)


def test_a_shard_that_is_cut_ends_the_epoch_with_its_name(data, encoder, tmp_path):
    kept = with_features(data, encoder, tmp_path, head_inputs=POOLED)
    model = ta.build_model(TASKS["classification"], encoder, "linear", head_scaled=False)
    model.compile("sgd", model.task.loss)
    path = shards(tmp_path, "pooled")[2] / "rows.bin"
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size // 2)
    message = (
        "pooled/shard_0002/rows.bin: features cannot be read any more .it is shorter than it was"
    )
    with pytest.raises(ArtifactError, match=message), reading_features(kept):
        model.fit(batches_from(kept, 8), verbose=0)
    with pytest.raises(tf.errors.OpError), reading_features(data):
        raise tf.errors.DataLossError(None, None, "of something else")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_of_the_size(data, encoder, expected, tmp_path, dtype):
    rounded = [tf.cast(tf.cast(one, dtype), tf.float32).numpy() for one in expected]
    for folder in (None, tmp_path, tmp_path):
        kept = with_features(data, encoder, folder, dtype=dtype)
        check_same(kept, [tf.cast(one, dtype).numpy() for one in expected])
        index = tf.constant([5])
        inputs = {
            key: value for one in kept.features[0] for key, value in one.inputs(index).items()
        }
        np.testing.assert_array_equal(inputs["states"][0], rounded[5])
        np.testing.assert_array_equal(inputs["pooled"][0], rounded[100 + 5][0])
        assert inputs["states"].dtype == tf.float32
    whole = with_features(data, encoder, tmp_path)
    check_same(whole, expected)
    sizes = {}
    for path in tmp_path.rglob("rows.bin"):
        sizes[path.parents[3].name] = sizes.get(path.parents[3].name, 0) + path.stat().st_size
    small, large = sorted(sizes.values())
    assert large == 2 * small


def test_what_was_computed_in_half_precision_is_not_widened(tiny_bert, tmp_path):
    half = ta.HubEncoder(tiny_bert, trainable=False, dtype="mixed_bfloat16")
    few = prepare([("a man", "yes")], TASKS["classification"], half)
    for dtype in ("float32", "float16"):
        kept = with_features(few, half, tmp_path, dtype=dtype)
        assert [one.dtype.name for one in kept.features[0]] == ["bfloat16"] * 2
    assert len(list(tmp_path.glob("*/features"))) == 1


def test_what_float16_cannot_hold(tiny_bert, data, tmp_path):
    encoder = ta.HubEncoder(tiny_bert, trainable=False)
    (gamma,) = (one for one in encoder.weights if "layer_1/output_layer_norm/gamma" in one.path)
    gamma.assign(gamma * 1e6)
    for folder in (None, tmp_path):
        with pytest.raises(ConfigError, match="features.dtype: .* got float16; take bfloat16"):
            with_features(data, encoder, folder, dtype="float16")
    assert not shards(tmp_path)


def test_memory_first_then_disk_then_neither(data, encoder, expected, tmp_path, passes, caplog):
    _, needed = feature_cache.kept_parts(data, encoder, feature_cache.EVERYTHING, "float32")
    enough, own = needed * 1.01, tmp_path / "own"
    for limits, cache, on_disk in (
        ((enough, 0), None, False),
        ((0, enough), None, True),
        ((enough, enough), None, False),
        ((0, enough), tmp_path / "cache", True),
        ((enough, 0), tmp_path / "cache", False),
    ):
        shutil.rmtree(own, ignore_errors=True)
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
        settings = dict(zip(("limit_mb", "disk_limit_mb"), limits, strict=True))
        kept = with_features(data, encoder, cache, own_folder=own, **settings)
        check_same(kept, expected)
        assert len(shards(cache or own)) == (8 if on_disk else 0)
    passes.clear()
    too_little = {"limit_mb": needed * 0.9, "disk_limit_mb": needed * 0.9}
    assert with_features(data, encoder, own_folder=own, **too_little) is data
    assert passes == []
    assert "reads the texts in every epoch; set features.disk_limit_mb: 1 to keep" in caplog.text
