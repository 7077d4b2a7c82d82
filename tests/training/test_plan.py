"""The plan of a run: rates and groups over its steps, against numbers by hand."""

import time

import pytest

from tf_adapt.adaptation import adaptations as a
from tf_adapt.adaptation.schedules import Constant
from tf_adapt.adaptation.unfreezing import group_names
from tf_adapt.config.reading import config_from
from tf_adapt.tasks.task import Task
from tf_adapt.training.plan import Plan
from tf_adapt.training.resolving.build import plan_of
from tf_adapt.training.resolving.compiled_model import compiled_model

GROUPS = ["char_cnn", "lstm_0", "lstm_1", "head"]


@pytest.fixture
def make_config(tiny_elmo):
    def make(adaptation, epochs=5, **sections):
        training = {"epochs": epochs, "batch_size": 2, "learning_rate": 1.0, "warmup": 0.25}
        content = {
            "data": {"dataset": "sample_classification", "source": "sample"},
            "encoder": {"handle": str(tiny_elmo)},
            "adaptation": adaptation,
            "training": training,
        }
        return config_from(content | sections, "test")

    return make


def stretches(adaptation, epochs):
    plan = Plan(adaptation, tuple(GROUPS), epochs, 10, lambda total, factor: Constant(factor, 0))
    return plan.stretches()


def test_the_steps_of_each_phase():
    assert stretches(a.fine_tuning(), 3) == [(0, 30)]
    thaw = [(0, 10), (10, 20), (20, 30), (30, 40), (40, 60)]
    assert stretches(a.chain_thaw(), 6) == thaw
    assert stretches(a.gradual_unfreezing(), 2) == [(0, 10), (10, 20)]
    by_steps = a.gradual_unfreezing(every=7, unit="steps")
    assert stretches(by_steps, 3) == [(0, 7), (7, 14), (14, 21), (21, 30)]


def test_one_schedule_over_the_whole_run(make_config):
    config = make_config("two_stage", schedule={"name": "constant"})
    rate = plan_of(config, GROUPS, 4).rate
    # A quarter of 20 steps rises.
    assert [rate(step) for step in (0, 1, 4, 5, 19)] == pytest.approx([0, 0.2, 0.8, 1, 1])


def test_a_schedule_for_each_phase(make_config):
    config = make_config("two_stage", epochs=3, schedule={"per_phase": True})
    rate = plan_of(config, GROUPS, 4).rate
    # Four steps: one rises from 0, then the line from 1 to 0. Then the same over eight.
    first = [0, 3 / 4, 2 / 4, 1 / 4]
    second = [0, 1 / 2, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8]
    assert [rate(step) for step in range(12)] == pytest.approx(first + second)


def test_the_first_phase_has_a_rate_of_its_own(make_config):
    config = make_config(
        "two_stage", epochs=3, schedule={"name": "constant", "per_phase": True, "first_phase": 30.0}
    )
    rate = plan_of(config, GROUPS, 4).rate
    assert [rate(step) for step in (1, 3, 4, 6, 11)] == pytest.approx([30, 30, 0, 1, 1])


def test_each_schedule_by_name(make_config):
    def at(name, step):
        config = make_config("fine_tuning", schedule={"name": name})
        return plan_of(config, GROUPS, 4).rate(step)

    assert at("constant", 12) == 1
    assert at("linear_decay", 10) == pytest.approx(0.5)
    assert at("cosine_decay", 5) == 1
    assert at("slanted_triangular", 5) == 1
    assert at("slanted_triangular", 0) == pytest.approx(1 / 32)


def test_the_rows_of_a_plan(make_config):
    config = make_config(
        {"name": "gradual_unfreezing", "every": 3, "unit": "steps"},
        epochs=2,
        optimizer={"decay": 0.5},
        schedule={"name": "constant"},
    )
    model = compiled_model(config, Task("classification", labels=["no", "yes"]))
    rows = plan_of(config, group_names(model.encoder), 5).rows(model)
    assert [row["steps"] for row in rows] == [[1, 3], [4, 5], [6, 6], [7, 9], [10, 10]]
    assert [row["epoch"] for row in rows] == [1, 1, 2, 2, 2]
    assert [row["phase"] for row in rows] == [1, 2, 2, 3, 4]
    assert rows[0]["groups"] == ["head"]
    # Rates 0, 0.5, 1, 1 …: warm-up of a quarter of ten steps, rounded to two.
    assert rows[0]["rates"] == pytest.approx({"head": 0.5})
    assert rows[1]["groups"] == ["lstm_1", "head"]
    assert rows[1]["rates"] == pytest.approx({"lstm_1": 0.5, "head": 1.0})
    sizes = {name: sum(w.value.shape.num_elements() for w in weights)
             for name, weights in model.encoder.layer_groups}  # fmt: skip
    assert rows[1]["parameters"] - rows[0]["parameters"] == sizes["lstm_1"]


def test_very_many_epochs_are_folded(make_config):
    most = 1_000_000
    config = make_config({"name": "two_stage", "head_epochs": 5}, epochs=most)
    model = compiled_model(config, Task("classification", labels=["no", "yes"]))
    started = time.process_time()
    rows = plan_of(config, group_names(model.encoder), 100_000).rows(model)
    assert time.process_time() - started < 1
    assert len(rows) == 101
    assert [rows[0][key] for key in ("epoch", "last_epoch", "phase")] == [1, 5, 1]
    assert [rows[1][key] for key in ("epoch", "last_epoch", "phase")] == [6, 10_000, 2]
    assert [row["steps"][0] for row in rows[1:]] == [row["steps"][1] + 1 for row in rows[:-1]]
    assert rows[-1]["last_epoch"] == most
    # The line falls from 1 at the first step to 0 after the last: its mean over the last row.
    assert rows[-1]["rates"]["head"] == pytest.approx(0.005, abs=1e-5)


def test_the_rows_of_a_hundred_epochs_are_one_each(make_config):
    config = make_config("fine_tuning", epochs=100)
    model = compiled_model(config, Task("classification", labels=["no", "yes"]))
    rows = plan_of(config, group_names(model.encoder), 3).rows(model)
    assert [row["epoch"] for row in rows] == list(range(1, 101))
    assert not any("last_epoch" in row for row in rows)
    rate = plan_of(config, GROUPS, 3).rate
    for row in rows:
        first, last = row["steps"]
        expected = sum(rate(step) for step in range(first - 1, last)) / 3
        assert row["rates"]["head"] == pytest.approx(expected)
