"""What is on disk, beside the same in memory: equal values, equal bits, nothing left behind."""

import os
from itertools import chain

import numpy as np
import pytest
import tensorflow as tf

from tf_adapt.data.batches import epoch_batches, prepare, sorted_batches
from tf_adapt.data.formats import Record, read_csv, read_jsonl, read_tsv
from tf_adapt.data.stored.sequences import BLOCK, OnDisk, at, places_in, stored
from tf_adapt.data.stored.tokens import TokensOnDisk, TokenWriter, rows_at, token_bytes, token_count
from tf_adapt.data.stored.unnamed_file import UnnamedFile
from tf_adapt.errors import ArtifactError
from tf_adapt.tasks.task import Task

PAIR = Task("pair_classification", labels=["no", "yes"])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Where files go; they have no name, so that it stays empty."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "stored"))
    yield tmp_path / "stored"
    assert not any(folder.iterdir() if (folder := tmp_path / "stored").exists() else ())


def records(total: int) -> list[Record]:
    words = [f"w{number % 13} " * (number % 11 + 1) for number in range(total)]
    return [Record(text, text[::-1].strip(), "yes", f"f:{n}") for n, text in enumerate(words)]


@pytest.mark.parametrize("total", [1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
def test_a_sequence_on_disk_is_the_list(total):
    values = records(total)
    kept = stored(iter(values), 0)
    assert isinstance(kept, OnDisk)
    assert list(kept) == values
    assert kept == values
    assert kept != values[::-1] or total == 1
    assert stored(kept, 0) is kept
    assert list(kept[-2:]) == values[-2:]
    chosen = np.random.default_rng(0).permutation(total)[: total // 2 + 1]
    part, of_list = at(kept, chosen), at(values, chosen)
    assert list(part) == of_list
    assert list(at(part, [0])) == of_list[:1]
    assert places_in(part, kept) == places_in(of_list, values) == chosen.tolist()
    with pytest.raises(IndexError):
        kept[total]


def test_the_limit_is_that_of_what_is_written():
    values = records(10 * BLOCK)
    size = stored(values, 0)._file.size
    assert stored(values, size / 1e6) is not values
    assert isinstance(stored(values, size / 1e6), list)
    assert isinstance(stored(values, (size - 1) / 1e6), OnDisk)


@pytest.mark.parametrize(
    ("read", "name", "rows"),
    [
        (read_tsv, "a.tsv", ["text\tlabel", *(f"t {n}\tx" for n in range(600))]),
        (read_csv, "a.csv", ["text,label", *(f'"t\n{n}",x' for n in range(600))]),
        (read_jsonl, "a.jsonl", [f'{{"text": "t{n}", "label": "x"}}' for n in range(600)]),
    ],
)
def test_readers_leave_examples_on_disk(tmp_path, read, name, rows):
    path = tmp_path / name
    path.write_text("\n".join(rows))
    columns = {"text_a": "text", "label": "label"}
    kept = read(path, columns, memory_mb=0)
    assert isinstance(kept, OnDisk)
    assert kept == read(path, columns)


@pytest.mark.parametrize("name", ["bert", "elmo"])
def test_batches_have_the_same_bits(request, name):
    limit = {"bert": 40, "elmo": 8}[name]
    encoder, examples = request.getfixturevalue(name)(limit), records(300)
    given = PAIR, encoder, None, True
    in_memory, on_disk = prepare(examples, *given), prepare(stored(examples, 0), *given, False, 0)
    assert in_memory.truncated == on_disk.truncated > 0
    assert all(isinstance(segment, TokensOnDisk) for segment in on_disk.segments)
    for one, other in zip(in_memory.segments, on_disk.segments, strict=True):
        assert token_count(one) == token_count(other)
        assert b"".join(token_bytes(one)) == b"".join(token_bytes(other))
    for make in (
        lambda prepared: epoch_batches(prepared, 16, seed=3, epoch=1),
        lambda prepared: epoch_batches(prepared, 16, seed=3, epoch=1, skip=5),
        lambda prepared: sorted_batches(prepared, 7)[0],
    ):
        for one, other in zip(make(in_memory), make(on_disk), strict=True):
            tf.nest.map_structure(np.testing.assert_array_equal, one, other)


@pytest.mark.parametrize(
    "rows", [[[3, 1], [], [2]], [[b"a", b"bc"], [], [b"d"]], [[], []], [[b"x"], []]]
)
def test_rows_without_tokens(rows):
    dtype = tf.string if any(isinstance(token, bytes) for token in chain(*rows)) else tf.int32
    writer = TokenWriter(-1)
    for row in rows:  # some at a time
        writer.add(tf.ragged.constant([row], dtype, row_splits_dtype=tf.int64))
    tokens = writer.finished()
    assert rows_at(tokens, tf.range(len(rows))).to_list() == rows
    assert rows_at(tokens, tf.constant([len(rows) - 1, 0])).to_list() == [rows[-1], rows[0]]
    whole = tf.ragged.constant(rows, dtype, row_splits_dtype=tf.int64)
    assert b"".join(token_bytes(tokens)) == b"".join(token_bytes(whole))


def test_a_full_disk_is_named(monkeypatch):
    file = UnnamedFile()
    file._file.close()
    file._file = open("/dev/full", "wb", buffering=0)  # noqa: SIM115
    with pytest.raises(ArtifactError, match=r"stored: .*data.memory_mb .*No space left on device"):
        file.append(b"x")
    file._file.close()
    monkeypatch.setenv("TMPDIR", "/proc/nowhere")
    with pytest.raises(ArtifactError, match="/proc/nowhere: data beyond data.memory_mb"):
        UnnamedFile()


def test_a_file_is_read_in_parts(monkeypatch):
    file = UnnamedFile()
    file.append(b"0123456789")
    read = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, start: read(fd, min(size, 3), start))
    assert file.read(1, 9) == b"12345678"
