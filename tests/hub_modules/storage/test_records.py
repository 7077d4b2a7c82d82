"""What a folder has on record is read back as it was written, or not at all."""

import pytest

from hub_modules.storage import files, records
from tf_adapt.errors import ArtifactError


def test_a_file_comes_back(tmp_path):
    records.write(tmp_path, "task.json", "é\n")
    records.write(tmp_path, "predictions/dev.tsv", "x")
    assert records.read(tmp_path, "task.json") == "é\n".encode()
    assert records.names(tmp_path) == ["task.json", "predictions/dev.tsv"]


def test_one_flipped_bit_is_found(tmp_path):
    for bit in range(8):
        records.write(tmp_path, "task.json", '{"labels": ["person"]}')
        path = tmp_path / "task.json"
        content = bytearray(path.read_bytes())
        content[13] ^= 1 << bit
        path.write_bytes(content)
        with pytest.raises(ArtifactError, match=r"task\.json: its SHA-256 is not the one in"):
            records.read(tmp_path, "task.json")


def test_a_file_that_is_gone_or_was_never_written(tmp_path):
    records.write(tmp_path, "task.json", "{}")
    (tmp_path / "task.json").unlink()
    with pytest.raises(ArtifactError, match=r"task\.json: cannot be read"):
        records.read(tmp_path, "task.json")
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ArtifactError, match=r"other\.json: it is not in .*record\.json"):
        records.read(tmp_path, "other.json")
    (tmp_path / "record.json").unlink()
    with pytest.raises(ArtifactError, match=r"record\.json: cannot be read"):
        records.read(tmp_path, "task.json")


@pytest.mark.parametrize("moment", range(1, 5))
def test_a_killed_process_leaves_the_old_file_or_the_new(tmp_path, monkeypatch, moment):
    """Two renames a file: killed before the first, between them or after, the file is whole."""
    records.write(tmp_path, "config.yaml", "old")
    rename, done = files.rename, 0

    def killed(source, target):
        nonlocal done
        done += 1
        if done == (moment + 1) // 2 and moment % 2:
            raise KeyboardInterrupt
        rename(source, target)
        if done == moment // 2 and moment % 2 == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(files, "rename", killed)
    with pytest.raises(KeyboardInterrupt):
        records.write(tmp_path, "config.yaml", "new")
    monkeypatch.undo()
    assert records.read(tmp_path, "config.yaml") == (b"new" if moment == 4 else b"old")
    records.write(tmp_path, "config.yaml", "newer")
    assert records.read(tmp_path, "config.yaml") == b"newer"


def test_a_record_of_another_form(tmp_path):
    records.write(tmp_path, "a", "x")
    for content in [
        "",
        "[]",
        "{}",
        "{",
        '{"format": 2, "files": {}}',
        '{"format": 1, "files": {"a": [3]}}',
        '{"format": 1, "files": {"a": [{"bytes": 1, "sha256": "x"}]}}',
        "[" * 100_000,
    ]:
        (tmp_path / "record.json").write_text(content)
        with pytest.raises(ArtifactError, match=r"record\.json|format 1"):
            records.read(tmp_path, "a")
