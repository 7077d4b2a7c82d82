"""A run that starts from one that is trained first: `start: {config: FILE}`."""

import numpy as np
import pytest
import yaml

from tf_adapt.config.reading import config_from, load_config
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.runs import checkpoints, run_folder
from tf_adapt.runs.finished_run import chain_in_words
from tf_adapt.training import epochs as training_epochs
from tf_adapt.training.dry_run import dry_run
from tf_adapt.training.load_run import load_run
from tf_adapt.training.train import train

# Nearly every one trains a model or more.
pytestmark = pytest.mark.slow

PAIRS = {"dataset": "sample_pair_classification", "source": "sample", "train_examples": 48}
WORDS = {"dataset": "sample_classification", "source": "sample", "train_examples": 48}


@pytest.fixture
def write(tiny_bert, tmp_path):
    """Writes a config, and returns its path."""

    def write(name, data=WORDS, epochs=1, **more):
        content = {
            "data": data,
            "encoder": {"handle": str(tiny_bert)},
            "adaptation": "fine_tuning",
            "training": {"epochs": epochs, "batch_size": 16, "learning_rate": 1e-2},
        }
        path = tmp_path / name
        path.write_text(yaml.safe_dump(content | more), "utf-8")
        return path

    return write


def best_arrays(run):
    return checkpoints.load_best(run / "checkpoint").arrays["model"]


def assert_same_weights(one, two):
    one, two = best_arrays(one), best_arrays(two)
    assert one.keys() == two.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], two[name])


def test_it_is_the_run_that_start_run_would_name(write, tmp_path):
    first = write("first.yaml", PAIRS)
    second = write("second.yaml", start={"config": str(first)}, epochs=2)
    train(load_config(first), tmp_path / "first")
    by_hand = write("by_hand.yaml", start={"run": str(tmp_path / "first")}, epochs=2)
    expected = train(load_config(by_hand), tmp_path / "by_hand")
    metrics = train(load_config(second), tmp_path / "run")
    assert_same_weights(tmp_path / "run", tmp_path / "by_hand")
    start = tmp_path / "run" / run_folder.START
    assert_same_weights(start, tmp_path / "first")
    assert metrics["dev"] == expected["dev"]
    assert metrics["start"] == expected["start"] | {"run": str(first)}
    assert chain_in_words(metrics["start"]).startswith(f"{first}: sample_pair_classification, fi")
    assert load_run(start).task.kind == "pair_classification"  # a whole run
    # Finished runs need neither file.
    first.unlink()
    assert train(load_config_without_check(second), tmp_path / "run") == metrics


def load_config_without_check(path):
    """As the config of a run in its folder is read, whose start may be gone."""
    return config_from(yaml.safe_load(path.read_text()), str(path))


def test_i1_killed_while_the_first_run_trains(write, tmp_path, monkeypatch):
    first = write("first.yaml", PAIRS, epochs=2)
    config = load_config(write("second.yaml", start={"config": str(first)}))
    train(config, tmp_path / "whole")
    save = training_epochs.save_state

    def stop(*args):
        save(*args)
        raise KeyboardInterrupt

    run = tmp_path / "run"
    for epoch in (1, 2, 3):  # in the first run, at its end, in the second
        monkeypatch.setattr(training_epochs, "save_state", stop)
        with pytest.raises(KeyboardInterrupt):
            train(config, run)
        monkeypatch.undo()
        assert (run / "config.yaml").is_file() == (epoch == 3)
        assert not (run / run_folder.LOCK).exists()
    train(config, run)
    assert_same_weights(run, tmp_path / "whole")
    assert_same_weights(run / run_folder.START, tmp_path / "whole" / run_folder.START)


def test_another_config_by_now_is_refused(write, tmp_path):
    first = write("first.yaml", PAIRS)
    config = load_config(write("second.yaml", start={"config": str(first)}))
    train(config, tmp_path / "run")
    write("first.yaml", PAIRS, epochs=2)
    longer = load_config(write("second.yaml", start={"config": str(first)}, epochs=2))
    with pytest.raises(
        ConfigError, match=r"start.config: .*first.yaml is another config than when"
    ):
        train(longer, tmp_path / "run")
    first.unlink()
    assert train(longer.model_copy(), tmp_path / "run")["epochs"] == 2


def test_a_chain_is_trained_from_its_beginning(write, tmp_path):
    first = write("first.yaml", PAIRS)
    second = write("second.yaml", start={"config": str(first)})
    third = write("third.yaml", start={"config": str(second)})
    metrics = train(load_config(third), tmp_path / "run")
    assert metrics["start"]["run"] == str(second)
    assert metrics["start"]["start"]["run"] == str(first)
    assert (tmp_path / "run" / "start" / "start" / "metrics.json").is_file()


def test_dry_run_shows_the_first_run_and_trains_nothing(write, tmp_path):
    first = write("first.yaml", PAIRS, epochs=3)
    found = dry_run(load_config(write("second.yaml", start={"config": str(first)})))
    assert found["first"]["config"] == str(first) and len(found["first"]["plan"]) >= 1
    assert found["first"]["plan"][-1].get("last_epoch", found["first"]["plan"][-1]["epoch"]) == 3
    bcn = write("bcn.yaml", start={"config": str(write("linear.yaml"))}, head="bcn")
    with pytest.raises(ConfigError, match=r"head: expected that of .*linear.yaml.*start.head: fal"):
        dry_run(load_config(bcn))
    added = write("added.yaml", adaptation="adapters")
    with pytest.raises(ConfigError, match=r"adaptation: expected the adapters of .*added.yaml"):
        dry_run(load_config(write("second.yaml", start={"config": str(added)})))


def test_c1_what_cannot_be_trained_first(write, tiny_elmo, tmp_path):
    loop = tmp_path / "loop.yaml"
    write("loop.yaml", start={"config": str(loop)})
    with pytest.raises(ConfigError, match=r"loop.yaml:\d+: start.config: .*starts from itself"):
        load_config(loop)
    back = write("back.yaml", start={"config": str(write("loop.yaml"))})
    write("loop.yaml", start={"config": str(back)})
    with pytest.raises(ConfigError, match=r"back.yaml starts from .*loop.yaml starts from .*back"):
        load_config(back)
    gone = write("gone.yaml", start={"config": str(tmp_path / "nowhere.yaml")})
    with pytest.raises(
        ConfigError, match=r"gone.yaml:\d+: start.config: .*nowhere.yaml: cannot be"
    ):
        load_config(gone)
    (tmp_path / "wrong.yaml").write_text("data: {dataset: mrpc, dtaset: 3}\n", "utf-8")
    wrong = write("second.yaml", start={"config": str(tmp_path / "wrong.yaml")})
    with pytest.raises(ConfigError, match=r"start.config: .*wrong.yaml:1: data.dtaset: .*dataset"):
        load_config(wrong)
    for start, got in (({"head": False}, "neither"), ({"run": "a", "config": "b"}, "both")):
        with pytest.raises(ConfigError, match=f"start: expected either run, .*got {got}"):
            load_config(write("second.yaml", start=start))
    elmo = write("elmo.yaml", encoder={"handle": str(tiny_elmo)})
    with pytest.raises(ConfigError, match=r"start.config: expected a run on .*got .*elmo.yaml on"):
        train(load_config(write("second.yaml", start={"config": str(elmo)})), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_foreign_folder_called_start_is_no_run_folder(write, tmp_path):
    config = load_config(write("second.yaml", start={"config": str(write("first.yaml", PAIRS))}))
    (tmp_path / "run" / "start").mkdir(parents=True)
    (tmp_path / "run" / "start" / "mine.txt").write_text("mine", "utf-8")
    with pytest.raises(ArtifactError, match=r"start: expected a run folder or an empty one"):
        train(config, tmp_path / "run")


def test_ulmfits_three_steps(tiny_lstm, write, tmp_path):
    texts = [f"who is the {number}th man ?" for number in range(60)]
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    module = {"handle": str(tiny_lstm)}
    text = {"format": "text", "kind": "language_model", "train": str(tmp_path / "texts.txt")}
    factors = {"lstm_0": 0.2, "lstm_1": 0.3, "embeddings": 0.5, "head": 0.5}
    words = write(
        "words.yaml",
        text,
        objective="language_model",
        encoder=module,
        optimizer={"factors": factors},
    )
    steps = write(
        "steps.yaml",
        start={"config": str(words)},
        encoder=module,
        head="concat_pooling",
        adaptation="gradual_unfreezing",
        optimizer={"decay": 1 / 2.6},
        schedule={"name": "slanted_triangular"},
        epochs=2,
    )
    metrics = train(load_config(steps), tmp_path / "run")
    assert chain_in_words(metrics["start"]).startswith(f"{words}: ")
    assert metrics["head"] == "concat_pooling"
    before = {n: w.numpy() for n, w in HubEncoder(tiny_lstm).native.weights_by_name().items()}
    tuned = load_run(tmp_path / "run" / run_folder.START).encoder.native.weights_by_name()
    now = load_run(tmp_path / "run").encoder.native.weights_by_name()
    assert all((tuned[name].numpy() != before[name]).any() for name in before)
    # The second of two epochs unfreezes the top LSTM; the best may be the first.
    same = {name for name in before if (now[name].numpy() == tuned[name].numpy()).all()}
    assert {name for name in before if not name.startswith("lstm_2")} <= same
