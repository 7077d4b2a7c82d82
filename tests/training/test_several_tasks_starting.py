"""A run of several tasks that starts from another run, and runs that start from one of several."""

import numpy as np
import pytest

from tf_adapt.config.reading import config_from
from tf_adapt.encoder.starting_point import pretrained_weights
from tf_adapt.errors import ConfigError
from tf_adapt.runs import checkpoints
from tf_adapt.training import epochs as training_epochs
from tf_adapt.training.build import build_parts
from tf_adapt.training.dry_run import dry_run
from tf_adapt.training.load_run import load_run
from tf_adapt.training.starting import starting_run
from tf_adapt.training.train import train

# Nearly every one trains a model or more.
pytestmark = pytest.mark.slow

QUESTION = {"dataset": "sample_classification", "source": "sample", "train_examples": 40}
NAME = {"dataset": "sample_tagging", "source": "sample", "train_examples": 24}
PAIR = {"dataset": "sample_pair_classification", "source": "sample", "train_examples": 24}
TASKS = {"question": {"data": QUESTION}, "name": {"data": NAME, "head": "linear_tagger"}}


@pytest.fixture(scope="module")
def make_config(tiny_bert):
    def make(start=None, epochs=1, **more):
        training = {"epochs": epochs, "batch_size": 16, "learning_rate": 1e-2}
        if "tasks" in more:
            training["steps_per_epoch"] = 4
        content = {
            "encoder": {"handle": str(tiny_bert)},
            "adaptation": "fine_tuning",
            "training": training,
            **({} if start is None else {"start": {"run": str(start)}}),
        }
        return config_from(content | more, "test")

    return make


@pytest.fixture(scope="module")
def several(make_config, tmp_path_factory):
    """A finished run of a classification, its target, and a tagging."""
    run = tmp_path_factory.mktemp("several") / "run"
    train(make_config(tasks=TASKS, target="question"), run)
    return run


@pytest.fixture(scope="module")
def one(make_config, tmp_path_factory):
    """A finished run of the classification alone."""
    run = tmp_path_factory.mktemp("one") / "run"
    train(make_config(data=QUESTION), run)
    return run


def started(config):
    """The model of a run before its first step."""
    return build_parts(config, starting_run(config)).model


def assert_same(weights, others):
    for weight, other in zip(weights, others, strict=True):
        np.testing.assert_array_equal(weight.numpy(), other.numpy())


def differs(weights, others) -> bool:
    pairs = zip(weights, others, strict=True)
    return any((one.numpy() != two.numpy()).any() for one, two in pairs)


def test_one_task_goes_on_with_its_head_among_several(make_config, several):
    """Multi-task training, then each task alone (Liu et al. 2019, MT-DNN)."""
    for data, name in ((QUESTION, "question"), (NAME, "name")):
        source = load_run(several, task=name)
        head = {} if name == "question" else {"head": "linear_tagger"}
        model = started(make_config(several, data=data, **head))
        assert_same(model.encoder.weights, source.encoder.weights)
        assert_same(model.head.weights, source.head.weights)
    pair = started(make_config(several, data=PAIR))
    assert_same(pair.encoder.weights, source.encoder.weights)


def test_several_tasks_begin_with_the_encoder_of_one(make_config, one, tmp_path):
    source = load_run(one)
    config = make_config(one, tasks=TASKS, target="name", task_attention=3)
    model, new = started(config), build_parts(config).model
    own, known = pretrained_weights(model.encoder), pretrained_weights(source.encoder)
    assert_same([own[name] for name in known], known.values())
    assert_same(model.models["question"].head.weights, source.head.weights)
    assert differs(new.models["question"].head.weights, source.head.weights)
    metrics = train(config, tmp_path / "run")
    assert metrics["start"]["head"] == ["question"]
    assert metrics["start"]["dataset"] == "sample_classification"


def test_a_task_of_the_same_name_gives_its_head(make_config, several):
    """Two tasks with the same labels: the name decides, and for another name the target."""
    twice = TASKS | {"again": {"data": QUESTION}}
    model = started(make_config(several, tasks=twice, target="question"))
    source = load_run(several)
    for name in ("question", "again"):
        assert_same(model.models[name].head.weights, source.head.weights)
    tagger = load_run(several, task="name").head
    assert_same(model.models["name"].head.weights, tagger.weights)


def test_a_killed_run_of_several_tasks_goes_on_without_its_start(
    make_config, one, tmp_path, monkeypatch
):
    config = make_config(one, tasks=TASKS, target="question", epochs=2)
    train(config, tmp_path / "whole")
    save = training_epochs.save_state

    def stop(*args):
        save(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(training_epochs, "save_state", stop)
    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "run")
    monkeypatch.undo()
    one.rename(one.with_name("away"))
    try:
        train(config, tmp_path / "run")
    finally:
        one.with_name("away").rename(one)
    found, expected = (
        checkpoints.load_best(tmp_path / name / "checkpoint").arrays["model"]
        for name in ("run", "whole")
    )
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


def test_several_tasks_may_be_trained_first(make_config, tmp_path, tiny_bert):
    first = tmp_path / "first.yaml"
    first.write_text(
        "tasks:\n"
        "  question: {data: {dataset: sample_classification, source: sample}}\n"
        "  name: {data: {dataset: sample_tagging, source: sample}, head: linear_tagger}\n"
        "target: question\n"
        f"encoder: {{handle: {tiny_bert}}}\n"
        "adaptation: fine_tuning\n"
        "training: {epochs: 1, steps_per_epoch: 2, batch_size: 4, learning_rate: 1.0e-2}\n",
        "utf-8",
    )
    config = make_config(data=QUESTION).model_dump(exclude_none=True)
    config = config_from(config | {"start": {"config": str(first)}}, "test")
    found = dry_run(config)
    assert set(found["first"]["tasks"]) == {"question", "name"}
    metrics = train(config, tmp_path / "run")
    assert metrics["start"]["head"] is True
    assert load_run(tmp_path / "run" / "start", task="name").task.kind == "tagging"


def test_c1_attention_of_tasks_has_no_other_place(make_config, tmp_path):
    run = tmp_path / "run"
    train(make_config(tasks=TASKS, target="question", task_attention=3), run)
    with pytest.raises(ConfigError, match=r"task_attention: expected that of .*question, name: "):
        dry_run(make_config(run, data=QUESTION))
    again = started(make_config(run, tasks=TASKS, target="question", task_attention=3))
    assert_same(again.encoder.weights, load_run(run).encoder.weights)


def test_c1_another_head_is_named_with_its_task(make_config, several):
    bilstm = TASKS | {"name": {"data": NAME, "head": "bilstm"}}
    config = make_config(several, tasks=bilstm, target="question")
    with pytest.raises(ConfigError, match=r"tasks.name.head: expected that of task name of .*run"):
        dry_run(config)


def test_a_run_of_several_tasks_teaches_its_target(make_config, several, tmp_path):
    config = make_config(data=QUESTION, teacher={"run": str(several)})
    metrics = train(config, tmp_path / "run")
    expected = load_run(several).task.labels
    assert metrics["taught"]["teacher"]["dev"]["accuracy"] >= 0
    assert load_run(tmp_path / "run").task.labels == expected
    with pytest.raises(ConfigError, match="teacher.run: "):
        dry_run(make_config(data=PAIR, teacher={"run": str(several)}))
