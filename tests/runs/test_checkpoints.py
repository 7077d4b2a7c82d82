import json
import logging

import numpy as np
import pytest

from hub_modules.storage import files
from tf_adapt.errors import ArtifactError, TrainingError
from tf_adapt.runs import checkpoints


def arrays(value: float) -> dict:
    return {
        "model": {"0": np.full((2, 3), value, "float32"), "1": np.arange(4)},
        "optimizer": {"0": np.array(7, "int64")},
    }


def names(folder) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_round_trip(tmp_path):
    path = checkpoints.save(tmp_path, arrays(0.1), {"epoch": 1, "best": None})
    found = checkpoints.load_latest(tmp_path)
    assert found.path == path
    assert found.state == {"epoch": 1, "best": None}
    for group, values in arrays(0.1).items():
        for name, value in values.items():
            np.testing.assert_array_equal(found.arrays[group][name], value)
            assert found.arrays[group][name].dtype == value.dtype


def test_nothing_saved_yet(tmp_path):
    assert checkpoints.load_latest(tmp_path) is None
    assert checkpoints.load_latest(tmp_path / "absent") is None
    with pytest.raises(ArtifactError, match="expected the weights of a best epoch, got none"):
        checkpoints.load_best(tmp_path)


def test_the_last_two_and_the_best_they_need_are_kept(tmp_path):
    for epoch in range(5):
        if epoch in (0, 3):
            best = {"epoch": epoch, "score": 0.5, "name": checkpoints.best_name(epoch)}
            checkpoints.save_best(tmp_path, best["name"], arrays(epoch)["model"])
        checkpoints.save(tmp_path, arrays(epoch), {"epoch": epoch, "best": best})
        if epoch == 3:
            assert [n for n in names(tmp_path) if "best" in n] == ["best_0001", "best_0004"]
    assert names(tmp_path) == ["best_0004", "checkpoint_000004", "checkpoint_000005"]
    assert checkpoints.load_best(tmp_path).arrays["model"]["0"][0, 0] == 3


def test_i4_damaged_best_weights_fall_back_to_those_before(tmp_path, caplog):
    for epoch in range(2):
        best = {"epoch": epoch, "score": 0.5, "name": checkpoints.best_name(epoch)}
        checkpoints.save_best(tmp_path, best["name"], arrays(epoch)["model"])
        checkpoints.save(tmp_path, arrays(epoch), {"best": best})
    damage(tmp_path / "best_0002" / "model.npz", "flip")
    assert checkpoints.load_best(tmp_path).path.name == "best_0001"
    assert "best_0002/model.npz" in caplog.text
    assert "going back to best_0001" in caplog.text
    assert checkpoints.load_latest(tmp_path).path.name == "checkpoint_000001"
    damage(tmp_path / "best_0001" / "model.npz", "missing")
    for load in (checkpoints.load_best, checkpoints.load_latest):
        with pytest.raises(ArtifactError):
            load(tmp_path)


def damage(path, how: str) -> None:
    content = path.read_bytes()
    if how == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif how == "flip":
        middle = len(content) // 2
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    else:
        path.unlink()


def test_damaged_newest_falls_back(tmp_path, caplog):
    for file in ["model.npz", "optimizer.npz", "state.json", "record.json"]:
        for how in ["cut", "flip", "missing"]:
            folder = tmp_path / f"{how} {file}"
            for epoch in range(2):
                path = checkpoints.save(folder, arrays(epoch), {"epoch": epoch, "best": None})
            damage(path / file, how)
            with caplog.at_level(logging.WARNING):
                found = checkpoints.load_latest(folder)
            assert found.state["epoch"] == 0
            assert f"{how} {file}/checkpoint_000002" in caplog.text
            assert names(folder) == ["checkpoint_000001"]


def test_all_damaged_is_never_a_fresh_start(tmp_path):
    for epoch in range(2):
        path = checkpoints.save(tmp_path, arrays(epoch), {"epoch": epoch, "best": None})
        damage(path / "model.npz", "flip")
    with pytest.raises(ArtifactError, match="no checkpoint is intact .*SHA-256"):
        checkpoints.load_latest(tmp_path)
    assert len(names(tmp_path)) == 2


def test_newer_format_is_refused(tmp_path):
    path = checkpoints.save(tmp_path, arrays(0), {"best": None})
    record = json.loads((path / "record.json").read_text())
    (path / "record.json").write_text(json.dumps(record | {"format": 99}))
    with pytest.raises(ArtifactError, match="expected format 1, got 99"):
        checkpoints.read(path)


def test_a_pickle_is_never_loaded(tmp_path):
    path = checkpoints.save(tmp_path, arrays(0), {"best": None})
    np.savez(path / "model.npz", **{"0": np.array([print], dtype=object)})
    record = json.loads((path / "record.json").read_text())
    file = path / "model.npz"
    record["files"]["model.npz"] = {"bytes": file.stat().st_size, "sha256": files.sha256(file)}
    (path / "record.json").write_text(json.dumps(record))
    with pytest.raises(ArtifactError, match="not arrays of numbers"):
        checkpoints.read(path)


def test_what_is_not_finite_is_not_saved(tmp_path):
    bad = arrays(0)
    bad["optimizer"]["1"] = np.array([0.0, np.nan])
    with pytest.raises(TrainingError, match="array 1 of the optimizer is not finite"):
        checkpoints.save(tmp_path, bad, {"best": None})
    assert names(tmp_path) == []


@pytest.mark.parametrize("moment", [1, 2])
def test_killed_while_writing(tmp_path, monkeypatch, moment):
    """At the rename of the checkpoint, and after it: the listed checkpoint loads."""
    checkpoints.save(tmp_path, arrays(0), {"epoch": 0, "best": None})
    rename = files.rename

    def killed(source, target):
        if moment == 2:
            rename(source, target)
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "rename", killed)
    with pytest.raises(KeyboardInterrupt):
        checkpoints.save(tmp_path, arrays(1), {"epoch": 1, "best": None})
    monkeypatch.undo()
    assert checkpoints.load_latest(tmp_path).state["epoch"] == moment - 1
