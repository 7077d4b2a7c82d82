"""A run of several tasks that starts from another run, and runs that start from one of several."""

import numpy as np
import pytest
from finished_runs import METRICS
from made_runs import make_run

import tf_adapt as ta
from tf_adapt.config.reading import config_from
from tf_adapt.encoder.starting_point import pretrained_weights
from tf_adapt.errors import ConfigError
from tf_adapt.runs import checkpoints, run_folder
from tf_adapt.training.dry_run import dry_run
from tf_adapt.training.finished.load_run import load_run
from tf_adapt.training.resolving import run_config
from tf_adapt.training.resolving.build import build_parts
from tf_adapt.training.resolving.resolve import lesson_of
from tf_adapt.training.resolving.warm_start import in_metrics, starting_run
from tf_adapt.training.results.finish import write_tasks
from tf_adapt.training.teachers.teacher import taught

# Nearly every one builds several models.
pytestmark = pytest.mark.slow

QUESTION = {"dataset": "sample_classification", "source": "sample", "train_examples": 40}
NAME = {"dataset": "sample_tagging", "source": "sample", "train_examples": 24}
PAIR = {"dataset": "sample_pair_classification", "source": "sample", "train_examples": 24}
TASKS = {"question": {"data": QUESTION}, "name": {"data": NAME, "head": "linear_tagger"}}


@pytest.fixture(scope="module")
def make_config(shallow_bert):
    def make(start=None, epochs=1, **more):
        training = {"epochs": epochs, "batch_size": 16, "learning_rate": 1e-2}
        if "tasks" in more:
            training["steps_per_epoch"] = 4
        content = {
            "encoder": {"handle": str(shallow_bert)},
            "adaptation": "fine_tuning",
            "training": training,
            **({} if start is None else {"start": {"run": str(start)}}),
        }
        return config_from(content | more, "test")

    return make


@pytest.fixture(scope="module")
def made_run(make_config, tmp_path_factory):
    """A function that makes a finished run of several tasks, its weights random."""

    def make(**more):
        run = tmp_path_factory.mktemp("several") / "run"
        config = make_config(tasks=TASKS, target="question", **more)
        run.mkdir(exist_ok=True)
        model = build_parts(config).model
        random = np.random.default_rng(1)
        for weight in model.weights:
            weight.assign_add(random.normal(0, 0.1, weight.shape))
        run_config.start(run, config)
        write_tasks(run, model)
        weights = checkpoints.to_arrays(model.weights)
        checkpoints.save_best(run / "checkpoint", checkpoints.best_name(0), weights)
        of_task = {"dataset": "x", "head": "x", "dev": {"accuracy": 0.5}, "metric": "accuracy"}
        of_task |= {"splits": {}, "truncated": {}, "serving_per_1000": 1.0}
        tasks = {"target": "question", "tasks": dict.fromkeys(TASKS, of_task)}
        run_folder.write_metrics(run, METRICS | tasks | {"module": model.encoder.module_hash})
        return run

    return make


@pytest.fixture(scope="module")
def several(made_run):
    """A finished run of a classification, its target, and a tagging."""
    return made_run()


@pytest.fixture(scope="module")
def one(shallow_bert, tmp_path_factory):
    """A finished run of the classification alone."""
    return make_run(tmp_path_factory.mktemp("one") / "run", shallow_bert, "classification")


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


def test_several_tasks_begin_with_the_encoder_of_one(make_config, one):
    source = load_run(one)
    config = make_config(one, tasks=TASKS, target="name", task_attention=3)
    model, new = started(config), build_parts(config).model
    own, known = pretrained_weights(model.encoder), pretrained_weights(source.encoder)
    assert_same([own[name] for name in known], known.values())
    assert_same(model.models["question"].head.weights, source.head.weights)
    assert differs(new.models["question"].head.weights, source.head.weights)
    assert in_metrics(config, model, starting_run(config))["head"] == ["question"]


def test_a_task_of_the_same_name_gives_its_head(make_config, several):
    """Two tasks with the same labels: the name decides, and for another name the target."""
    twice = TASKS | {"again": {"data": QUESTION}}
    model = started(make_config(several, tasks=twice, target="question"))
    source = load_run(several)
    for name in ("question", "again"):
        assert_same(model.models[name].head.weights, source.head.weights)
    tagger = load_run(several, task="name").head
    assert_same(model.models["name"].head.weights, tagger.weights)


def test_several_tasks_may_be_trained_first(make_config, tmp_path, shallow_bert):
    first = tmp_path / "first.yaml"
    first.write_text(
        "tasks:\n"
        "  question: {data: {dataset: sample_classification, source: sample}}\n"
        "  name: {data: {dataset: sample_tagging, source: sample}, head: linear_tagger}\n"
        "target: question\n"
        f"encoder: {{handle: {shallow_bert}}}\n"
        "adaptation: fine_tuning\n"
        "training: {epochs: 1, steps_per_epoch: 2, batch_size: 4, learning_rate: 1.0e-2}\n",
        "utf-8",
    )
    config = make_config(data=QUESTION).model_dump(exclude_none=True)
    config = config_from(config | {"start": {"config": str(first)}}, "test")
    found = dry_run(config)
    assert set(found["first"]["tasks"]) == {"question", "name"}


def test_c1_attention_of_tasks_has_no_other_place(make_config, made_run):
    run = made_run(task_attention=3)
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
    parts, answers = taught(lesson_of(config), build_parts(config), tmp_path / "run")
    said = ta.predict(load_run(several), parts.splits.examples["train"])
    found = answers.arrays["train"].argmax(axis=1)
    assert [parts.model.task.labels[number] for number in found] == [one.label for one in said]
    with pytest.raises(ConfigError, match="teacher.run: "):
        dry_run(make_config(data=PAIR, teacher={"run": str(several)}))
