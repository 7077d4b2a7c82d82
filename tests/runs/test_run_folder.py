import contextlib
import multiprocessing
import os

import pytest
import yaml
from finished_runs import METRICS, finish

from hub_modules.storage import records
from tf_adapt.config.reading import config_from, dump_config
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.runs import run_folder
from tf_adapt.training.resolving import run_config


def config(**training):
    content = {
        "data": {"dataset": "mrpc", "source": "tfds"},
        "encoder": {"handle": "https://example.org/bert/1"},
        "adaptation": "fine_tuning",
        "training": {"epochs": 2, "batch_size": 8, "learning_rate": 1e-3} | training,
    }
    return config_from(content, "test")


def test_new_folder_has_no_config(tmp_path):
    assert run_config.saved_config(tmp_path / "new") is None
    assert run_config.saved_config(tmp_path) is None


def test_what_a_killed_process_left_does_not_count(tmp_path):
    (tmp_path / ".lock").touch()
    (tmp_path / f".config.yaml.{'0' * 32}.partial").touch()
    assert run_config.saved_config(tmp_path) is None


def test_config_comes_back(tmp_path):
    run_config.start(tmp_path, config())
    assert run_config.saved_config(tmp_path) == config()


def test_foreign_folder_is_refused(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(ArtifactError, match=r"expected a run folder or an empty one"):
        run_config.saved_config(tmp_path)
    with pytest.raises(ArtifactError, match="expected a folder, got a file"):
        run_config.saved_config(tmp_path / "thesis.tex")


def test_damaged_config_is_an_artifact_error(tmp_path):
    records.write(tmp_path, "config.yaml", "data: {")
    with pytest.raises(ArtifactError, match=r"config\.yaml:"):
        run_config.saved_config(tmp_path)


def test_more_epochs_and_other_notes_are_the_same_run(tmp_path):
    run_config.check_same_run(tmp_path, config(), config())
    run_config.check_same_run(tmp_path, config(), config(epochs=3))
    about = {"about": {"summary": "s", "expected": "e", "minutes": 1.0}}
    noted = config_from(config().model_dump() | about, "test")
    run_config.check_same_run(tmp_path, config(), noted)
    run_config.check_same_run(tmp_path, noted, config())


@pytest.mark.parametrize("now, is_same", [(None, True), ("IOB2", False)])
def test_a_scheme_that_the_tags_show_need_not_be_in_the_config(tmp_path, now, is_same):
    def tagged(scheme):
        data = {"format": "conll", "kind": "tagging", "train": "a.txt", "scheme": scheme}
        return config_from(config().model_dump() | {"data": data}, "test")

    with contextlib.nullcontext() if is_same else pytest.raises(ConfigError, match="data.scheme"):
        run_config.check_same_run(tmp_path, tagged("IOB1"), tagged(now))


def test_another_config_is_refused(tmp_path):
    for training, message in [
        ({"learning_rate": 1e-4}, r"training\.learning_rate \(was 0\.001, now 0\.0001\)"),
        ({"epochs": 1}, r"training\.epochs \(was 2, now 1\)"),
        ({"seed": 1, "epochs": 3}, r"training\.seed \(was 0, now 1\);"),
    ]:
        with pytest.raises(ConfigError, match=message):
            run_config.check_same_run(tmp_path, config(), config(**training))


def test_a_linear_head_of_an_earlier_version_says_how_to_go_on(tmp_path):
    """Before `head_scaled` a frozen encoder's vectors were not standardised."""
    frozen = config().model_dump() | {"head": "linear", "adaptation": "feature_extraction"}
    wanted = config_from(frozen, "test")
    before = yaml.safe_load(dump_config(wanted))
    del before["head_scaled"]
    run_folder.start(tmp_path, yaml.safe_dump(before), [])
    started = run_config.saved_config(tmp_path)
    with pytest.raises(ConfigError, match="the same config --set head_scaled=false "):
        run_config.check_same_run(tmp_path, started, wanted)
    run_config.check_same_run(
        tmp_path, started, config_from(frozen | {"head_scaled": False}, "test")
    )


def test_start_of_a_longer_run_makes_it_unfinished(tmp_path):
    run_config.start(tmp_path, config())
    finish(tmp_path)
    assert run_folder.finished_metrics(tmp_path) == METRICS
    run_config.start(tmp_path, config(epochs=3))
    assert run_folder.finished_metrics(tmp_path) is None
    assert run_config.saved_config(tmp_path).training.epochs == 3


def test_damaged_metrics(tmp_path):
    finish(tmp_path)
    path = tmp_path / "metrics.json"
    path.write_text(path.read_text().replace("0.5", "0.6"))
    with pytest.raises(ArtifactError, match=r"metrics\.json: its SHA-256 is not the one in"):
        run_folder.finished_metrics(tmp_path)


def test_metrics_of_another_form(tmp_path):
    for content in ["{}", "[]", "{", '"x"', "[" * 100_000]:
        records.write(tmp_path, "metrics.json", content)
        with pytest.raises(ArtifactError, match=r"metrics\.json: "):
            run_folder.finished_metrics(tmp_path)


def test_history(tmp_path):
    run_folder.write_history(tmp_path, [{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": None}])
    assert (tmp_path / "history.csv").read_text() == "epoch,loss\n1,0.5\n2,\n"
    # The first epoch by an earlier version.
    run_folder.write_history(tmp_path, [{"epoch": 1}, {"epoch": 2, "encoder_gradient": 0.5}])
    assert (tmp_path / "history.csv").read_text() == "epoch,encoder_gradient\n1,\n2,0.5\n"


def test_lock_names_its_owner_and_leaves_nothing(tmp_path):
    folder = tmp_path / "run"
    with run_folder.locked(folder):
        with (
            pytest.raises(ArtifactError, match=f"in use by pid {os.getpid()}"),
            run_folder.locked(folder),
        ):
            pass
        assert (folder / ".lock").exists()
    assert not folder.exists()


def hold_and_die(folder, held):
    with run_folder.locked(folder):
        held.set()
        os._exit(9)


def test_lock_of_a_dead_process_is_taken_over(tmp_path):
    context = multiprocessing.get_context("fork")
    held = context.Event()
    process = context.Process(target=hold_and_die, args=(tmp_path, held))
    process.start()
    process.join(10)
    assert held.is_set()
    assert (tmp_path / ".lock").exists()
    with run_folder.locked(tmp_path):
        assert (tmp_path / ".lock").read_text() == str(os.getpid())


def test_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(ArtifactError, match="not writable as a run folder"),
        run_folder.locked(tmp_path / "file" / "run"),
    ):
        pass
