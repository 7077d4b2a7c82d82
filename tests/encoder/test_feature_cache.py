"""A frozen encoder's states, kept: equal to those computed at once, checked, shared, rebuilt."""

import inspect
import json
import shutil
import threading

import numpy as np
import pytest
import tensorflow as tf
from small_data import RECORDS, TASKS, TEXTS

import tf_adapt as ta
from hub_modules.storage.files import describe
from tf_adapt.config.training_sections import FeaturesConfig
from tf_adapt.data.batches import batches_from, prepare
from tf_adapt.data.formats import TaggedSentence
from tf_adapt.encoder import feature_cache
from tf_adapt.encoder.feature_cache import with_features
from tf_adapt.errors import ArtifactError, ConfigError


@pytest.fixture(scope="module")
def encoders(tiny_bert, tiny_elmo, tiny_causal):
    handles = {"bert": tiny_bert, "elmo": tiny_elmo, "causal": tiny_causal}
    return {name: ta.HubEncoder(handle, trainable=False) for name, handle in handles.items()}


def prepared_for(encoder, kind="classification", records=None):
    return prepare(records or RECORDS[kind], TASKS[kind], encoder)


def cached(folder, **changes) -> dict:
    return {"cache": str(folder), **changes}


def entries(folder) -> list:
    return sorted(folder.glob("*/features"))


def test_the_limits_in_python_are_those_of_a_run():
    in_python = inspect.signature(with_features).parameters
    for name in ("cache", "require", "limit_mb", "disk_limit_mb", "dtype"):
        assert in_python[name].default == getattr(FeaturesConfig(), name)


def all_rows(data) -> np.ndarray:
    """Everything that is kept, as one row of numbers."""
    return np.concatenate(
        [
            one.rows(example).astype(np.float64).ravel()
            for column in data.features
            for one in column
            for example in range(len(one.starts))
        ]
    )


def shards_of(entry) -> list:
    return sorted(entry.glob("*/shard_*"))


@pytest.fixture
def passes(monkeypatch) -> list[int]:
    """The number of texts of each pass over texts."""
    found, compute = [], feature_cache.computed_shards

    def watched(prepared, number, graph, parts, orders, *more):
        if orders:
            found.append(sum(map(len, orders)))
        return compute(prepared, number, graph, parts, orders, *more)

    monkeypatch.setattr(feature_cache, "computed_shards", watched)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "kind"),
    [
        ("bert", "pair_classification"),
        ("elmo", "pair_classification"),
        ("elmo", "tagging"),
        ("causal", "classification"),
    ],
)
def test_states_are_those_of_the_encoder(encoders, kind, family, tmp_path):
    encoder = encoders[family]
    data = prepared_for(encoder, kind)
    kept = with_features(data, encoder, **cached(tmp_path))
    order = np.array([2, 0, 3])
    for inputs, _ in _batches(data, order):
        expected = {name: encoder(inputs[name]) for name in inputs}
    for inputs, _ in _batches(kept, order):
        found = {name: encoder(inputs[name]) for name in inputs}
    assert found.keys() == expected.keys()
    for name, encoded in expected.items():
        assert found[name].keys() == encoded.keys()
        mask = encoded["mask"].numpy()
        np.testing.assert_array_equal(found[name]["mask"], mask)
        for ours, theirs in zip(found[name]["layers"], encoded["layers"], strict=True):
            np.testing.assert_allclose(ours.numpy()[mask], theirs.numpy()[mask], atol=1e-5)
            assert not ours.numpy()[~mask].any()
        if "pooled" in encoded:
            np.testing.assert_allclose(found[name]["pooled"], encoded["pooled"], atol=1e-5)


def _batches(data, order):
    from tf_adapt.data.batches import in_order

    return in_order(data, [order])


def test_half_precision_is_kept_as_it_is(tiny_bert, tmp_path):
    encoder = ta.HubEncoder(tiny_bert, trainable=False, dtype="mixed_bfloat16")
    data = prepared_for(encoder)
    kept = with_features(data, encoder, **cached(tmp_path))
    with_features(data, encoder, **cached(tmp_path, require=True))
    (inputs, _) = next(iter(batches_from(kept, 4, shuffle=False)))
    assert inputs["a"]["states"].dtype == tf.bfloat16
    assert inputs["a"]["pooled"].dtype == tf.bfloat16
    encoded = encoder(inputs["a"])
    assert encoded["layers"][0].dtype == tf.bfloat16


@pytest.mark.parametrize("changed", ["text", "order", "module", "precision", "weights"])
def test_i8_anything_else_is_another_entry(changed, encoders, tiny_elmo, tiny_bert, tmp_path):
    encoder, records = encoders["elmo"], RECORDS["classification"]
    with_features(prepared_for(encoder), encoder, **cached(tmp_path))
    if changed == "text":
        records = [("a man sang", "yes"), *records[1:]]
    elif changed == "order":
        records = records[::-1]
    elif changed == "module":
        encoder = encoders["bert"]
    elif changed == "precision":
        encoder = ta.HubEncoder(tiny_elmo, trainable=False, dtype="mixed_bfloat16")
    else:
        encoder = ta.HubEncoder(tiny_elmo, trainable=False, pretrained=False)
    data = prepared_for(encoder, records=records)
    kept = with_features(data, encoder, **cached(tmp_path))
    assert len(entries(tmp_path)) == 2
    alone = with_features(data, encoder)
    np.testing.assert_array_equal(all_rows(kept), all_rows(alone))
    np.testing.assert_array_equal(kept.features[0][0].starts, alone.features[0][0].starts)


def _cut(shard):
    path = shard / "rows.bin"
    path.write_bytes(path.read_bytes()[:-64])


def _flip(shard):
    content = bytearray((shard / "rows.bin").read_bytes())
    content[100] ^= 1
    (shard / "rows.bin").write_bytes(content)


def _delete(shard):
    (shard / "lengths.bin").unlink()


def _change_record(shard):
    record = json.loads((shard / "record.json").read_text())
    record["key"]["module"] = "another"
    (shard / "record.json").write_text(json.dumps(record))


def _another_shard(shard):
    record = json.loads((shard / "record.json").read_text())
    record["shard"] += 1
    (shard / "record.json").write_text(json.dumps(record))


def _other_lengths(shard):
    path = shard / "lengths.bin"
    path.write_bytes(np.ones(4, "<i8").tobytes())
    record = json.loads((shard / "record.json").read_text())
    record["files"]["lengths.bin"] = describe(path)
    (shard / "record.json").write_text(json.dumps(record))


def _empty_record(shard):
    (shard / "record.json").write_text("")


DAMAGE = [_cut, _flip, _delete, _change_record, _another_shard, _other_lengths, _empty_record]


def test_i7_damage_is_found_and_built_anew(encoders, tmp_path, caplog):
    encoder, data = encoders["elmo"], prepared_for(encoders["elmo"])
    expected = all_rows(with_features(data, encoder, **cached(tmp_path)))
    (entry,) = entries(tmp_path)
    for damage in DAMAGE:
        caplog.clear()
        damage(*shards_of(entry))
        with pytest.raises(ArtifactError, match="damaged features"):
            with_features(data, encoder, **cached(tmp_path, require=True))
        kept = with_features(data, encoder, **cached(tmp_path))
        assert "computed again" in caplog.text, damage
        np.testing.assert_array_equal(all_rows(kept), expected)
        with_features(data, encoder, **cached(tmp_path, require=True))


def test_i8_the_same_text_in_other_pairs_is_another_entry(encoders, tmp_path):
    encoder, kind = encoders["elmo"], "pair_classification"
    for second in (["rain", "who is it", "a man", "the"], ["a man sang", "a", "it is", "who is"]):
        records = [(text, other, "no") for text, other in zip(TEXTS, second, strict=True)]
        data = prepared_for(encoder, kind, records)
        kept = with_features(data, encoder, **cached(tmp_path))
        np.testing.assert_array_equal(all_rows(kept), all_rows(with_features(data, encoder)))
    assert len(entries(tmp_path)) == 4


def test_i7_required_but_not_on_disk(encoders, tmp_path):
    data = prepared_for(encoders["bert"])
    settings = cached(tmp_path, require=True, disk_limit_mb=0)
    with pytest.raises(ConfigError, match="features.require: .* features.disk_limit_mb: 1 or"):
        with_features(data, encoders["bert"], **settings)


def test_i7_required_but_not_there(encoders, tmp_path):
    with pytest.raises(ArtifactError, match="features.require"):
        with_features(
            prepared_for(encoders["bert"]), encoders["bert"], **cached(tmp_path, require=True)
        )


def test_i9_one_builder_at_a_time(encoders, tmp_path, passes):
    encoder, data, found = encoders["elmo"], prepared_for(encoders["elmo"]), []

    def build():
        found.append(all_rows(with_features(data, encoder, **cached(tmp_path))))

    threads = [threading.Thread(target=build) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert passes == [4]
    assert len(found) == 8
    for states in found[1:]:
        np.testing.assert_array_equal(states, found[0])


def test_i9_leftovers_of_a_killed_builder_are_removed(encoders, tmp_path):
    encoder, data = encoders["elmo"], prepared_for(encoders["elmo"])
    with_features(data, encoder, **cached(tmp_path))
    (entry,) = entries(tmp_path)
    (shard,) = shards_of(entry)
    shutil.move(shard, shard.with_name(f".shard_0000.{'0' * 32}.partial"))
    with_features(data, encoder, **cached(tmp_path))
    assert list(shard.parent.iterdir()) == [shard]


def test_a_cache_that_cannot_be_written(encoders, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ArtifactError, match="not writable as a cache"):
        with_features(prepared_for(encoders["elmo"]), encoders["elmo"], **cached(file))


@pytest.mark.slow
def test_document_context_is_part_of_what_is_kept(encoders, tmp_path):
    encoder = encoders["bert"]
    records = [
        TaggedSentence(text.split(), ["O"] * len(text.split()), document=number // 2)
        for number, text in enumerate(TEXTS)
    ]
    for context in (False, True):
        data = prepare(records, TASKS["tagging"], encoder, document_context=context)
        kept = with_features(data, encoder, **cached(tmp_path))
        (inputs, _) = next(iter(batches_from(data, 4, shuffle=False)))
        (remembered, _) = next(iter(batches_from(kept, 4, shuffle=False)))
        expected, found = encoder(inputs["a"]), encoder(remembered["a"])
        mask = expected["mask"].numpy()
        for ours, theirs in zip(found["layers"], expected["layers"], strict=True):
            np.testing.assert_allclose(ours.numpy()[mask], theirs.numpy()[mask], atol=1e-5)
    assert len(entries(tmp_path)) == 2
