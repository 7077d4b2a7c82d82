"""The plan of a run: rates and groups over its steps, against numbers by hand."""

import pytest

from tf_adapt import adaptation as a
from tf_adapt.compiling import compiled_model
from tf_adapt.config import adaptation_of, config_from
from tf_adapt.planning import phase_stretches, plan, planned_rate
from tf_adapt.tasks import Task

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


def test_the_steps_of_each_phase():
    assert phase_stretches(a.fine_tuning(), GROUPS, 10, 30) == [(0, 30)]
    thaw = [(0, 10), (10, 20), (20, 30), (30, 40), (40, 60)]
    assert phase_stretches(a.chain_thaw(), GROUPS, 10, 60) == thaw
    assert phase_stretches(a.gradual_unfreezing(), GROUPS, 10, 20) == [(0, 10), (10, 20)]
    by_steps = a.gradual_unfreezing(every=7, unit="steps")
    assert phase_stretches(by_steps, GROUPS, 10, 30) == [(0, 7), (7, 14), (14, 21), (21, 30)]


def test_one_schedule_over_the_whole_run(make_config):
    config = make_config("two_stage", schedule={"name": "constant"})
    rate = planned_rate(config, a.two_stage(), GROUPS, steps_per_epoch=4)
    # A quarter of 20 steps rises.
    assert [rate(step) for step in (0, 1, 4, 5, 19)] == pytest.approx([0, 0.2, 0.8, 1, 1])


def test_a_schedule_for_each_phase(make_config):
    config = make_config("two_stage", epochs=3, schedule={"per_phase": True})
    rate = planned_rate(config, a.two_stage(), GROUPS, steps_per_epoch=4)
    # Four steps: one rises from 0, then the line from 1 to 0. Then the same over eight.
    first = [0, 3 / 4, 2 / 4, 1 / 4]
    second = [0, 1 / 2, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8]
    assert [rate(step) for step in range(12)] == pytest.approx(first + second)


def test_each_schedule_by_name(make_config):
    def at(name, step):
        config = make_config("fine_tuning", schedule={"name": name})
        return planned_rate(config, a.fine_tuning(), GROUPS, steps_per_epoch=4)(step)

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
    rows = plan(config, adaptation_of(config.adaptation), model, steps_per_epoch=5)
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
