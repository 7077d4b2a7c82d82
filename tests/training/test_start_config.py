"""A run that starts from one that is trained first: `start: {config: FILE}`."""

import shutil

import pytest
import yaml
from cut_runs import assert_same_weights, keep_at

from hub_modules.storage import records
from tf_adapt.config.reading import config_from, load_config
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.runs import run_folder
from tf_adapt.runs.finished_run import chain_in_words
from tf_adapt.training.dry_run import dry_run
from tf_adapt.training.finished.load_run import load_run
from tf_adapt.training.train import train

# Nearly every one trains a model or more.
pytestmark = pytest.mark.slow

PAIRS = {"dataset": "sample_pair_classification", "source": "sample", "train_examples": 48}
WORDS = {"dataset": "sample_classification", "source": "sample", "train_examples": 48}


def write_config(path, module, data=WORDS, epochs=1, **more):
    content = {
        "data": data,
        "encoder": {"handle": str(module)},
        "adaptation": "fine_tuning",
        "training": {"epochs": epochs, "batch_size": 16, "learning_rate": 1e-2},
    }
    path.write_text(yaml.safe_dump(content | more), "utf-8")
    return path


@pytest.fixture
def write(shallow_bert, tmp_path):
    """Writes a config, and returns its path."""
    return lambda name, *args, **more: write_config(tmp_path / name, shallow_bert, *args, **more)


@pytest.fixture(scope="module")
def chain(shallow_bert, tmp_path_factory):
    """A chain of three configs, of which the last is trained: the run `whole`; and `cut`, the same
    killed while the second trains."""
    folder = tmp_path_factory.mktemp("chain")

    def write(name, *args, **more):
        return str(write_config(folder / name, shallow_bert, *args, **more))

    second = write("second.yaml", start={"config": write("first.yaml", PAIRS)})
    third = write("third.yaml", start={"config": second}, epochs=2)
    with pytest.MonkeyPatch.context() as patch:
        keep_at(patch, 2, folder / "cut_second", of=folder / "whole" / run_folder.START)
        train(load_config(folder / third), folder / "whole")
    (folder / "cut").mkdir()
    (folder / "cut_second").rename(folder / "cut" / run_folder.START)
    return folder


def test_it_is_the_run_that_start_run_would_name(write, chain, tmp_path):
    start = chain / "whole" / run_folder.START
    by_hand = write("by_hand.yaml", start={"run": str(start)}, epochs=2)
    expected = train(load_config(by_hand), tmp_path / "by_hand")
    assert_same_weights(chain / "whole", tmp_path / "by_hand")
    metrics = run_folder.finished_metrics(chain / "whole")
    assert metrics["dev"] == expected["dev"]
    second, first = chain / "second.yaml", chain / "first.yaml"
    assert metrics["start"] == expected["start"] | {"run": str(second)}
    assert metrics["start"]["start"]["run"] == str(first)
    said = chain_in_words(metrics["start"])
    assert said.startswith(f"{second}: sample_classification, fi") and f"{first}: sample_p" in said
    for name, kind in (("start", "classification"), ("start/start", "pair_classification")):
        assert load_run(chain / "whole" / name).task.kind == kind  # a whole run


def load_config_without_check(path):
    """As the config of a run in its folder is read, whose start may be gone."""
    return config_from(yaml.safe_load(path.read_text()), str(path))


def test_i1_killed_while_a_first_run_trains(chain, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(chain / "cut", run)
    assert not (run / "config.yaml").exists()
    train(load_config(chain / "third.yaml"), run)
    assert_same_weights(run, chain / "whole")
    assert_same_weights(run / run_folder.START, chain / "whole" / run_folder.START)
    assert not (run / run_folder.LOCK).exists()


def test_another_config_by_now_is_refused(write, chain, tmp_path):
    shutil.copytree(chain / "whole", tmp_path / "run")
    second = write("second.yaml", start={"config": str(chain / "first.yaml")})
    moved = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text("utf-8"))
    moved["start"] = {"config": str(second)}
    records.write(tmp_path / "run", "config.yaml", yaml.safe_dump(moved))
    third = write("third.yaml", start={"config": str(second)}, epochs=3)
    longer = load_config(third)
    write("second.yaml", PAIRS, start={"config": str(chain / "first.yaml")})
    message = r"start.config: .*second.yaml is another config than when"
    with pytest.raises(ConfigError, match=message):
        train(longer, tmp_path / "run")
    # Finished runs do not need the file.
    second.unlink()
    assert train(load_config_without_check(third), tmp_path / "run")["epochs"] == 3


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


@pytest.mark.large
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
