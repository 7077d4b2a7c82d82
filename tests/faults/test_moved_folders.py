"""A folder that is moved, removed or replaced while a process works in it (P2)."""

import shutil

import pytest

from hub_modules.storage.files import publish_folder, write_text
from tf_adapt.config.reading import config_from
from tf_adapt.errors import ArtifactError
from tf_adapt.runs import run_folder
from tf_adapt.training.steps import Steps
from tf_adapt.training.train import train


def moved(run):
    run.rename(run.with_name("moved"))


def replaced(run):
    moved(run)
    shutil.copytree(run.with_name("moved"), run)


CHANGES = [moved, shutil.rmtree, replaced]


@pytest.mark.parametrize("change", CHANGES)
def test_p2_nothing_is_written_into_a_folder_that_is_another_one(change, tmp_path):
    run = tmp_path / "run"
    with pytest.raises(ArtifactError, match="moved, removed or replaced"), run_folder.locked(run):
        write_text(run / "config.yaml", "a: 1")
        change(run)
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(ArtifactError, match="moved, removed or replaced"):
            write_text(run / "predictions" / "dev.tsv", "x")
        with (
            pytest.raises(ArtifactError, match="moved, removed or replaced"),
            publish_folder(run / "checkpoint" / "best_0001"),
        ):
            pass
        write_text(tmp_path / "elsewhere", "x")
        (tmp_path / "elsewhere").unlink()
        assert sorted(tmp_path.rglob("*")) == before
    if change is replaced:  # by a folder with a lock of its own
        assert (run / run_folder.LOCK).is_file()


def test_a_lock_that_ended_checks_nothing(tmp_path):
    run = tmp_path / "run"
    with run_folder.locked(run):
        write_text(run / "config.yaml", "a: 1")
    assert not (run / run_folder.LOCK).exists()
    moved(run)
    write_text(run / "config.yaml", "a: 1")


@pytest.mark.slow
def test_p2_a_run_whose_folder_is_removed(shallow_bert, tmp_path, monkeypatch):
    run, end = tmp_path / "run", Steps.on_train_batch_end

    def on_train_batch_end(self, batch, logs=None):
        end(self, batch, logs)
        if self.run.state.global_step == 2:
            shutil.rmtree(run)

    monkeypatch.setattr(Steps, "on_train_batch_end", on_train_batch_end)
    content = {
        "data": {"dataset": "sample_classification", "source": "sample", "train_examples": 24},
        "encoder": {"handle": str(shallow_bert)},
        "adaptation": "fine_tuning",
        "training": {"epochs": 2, "batch_size": 8, "learning_rate": 1e-2},
    }
    with pytest.raises(ArtifactError, match="moved, removed or replaced"):
        train(config_from(content, "test"), run)
    assert not run.exists()
