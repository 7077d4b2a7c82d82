"""Which task a step trains, and on what: the formulas, and an order that is a pure function."""

from collections import Counter

import numpy as np
import pytest

import tf_adapt as ta
from tf_adapt.data.multi_task_batches import TaskOrder
from tf_adapt.data.task_sampling import exponent, probabilities
from tf_adapt.errors import ConfigError

SIZES = {"cola": 8551, "mnli": 392702, "mrpc": 3668, "rte": 2490}


def test_annealed_sampling_is_that_of_pals():
    """The authors' code: `alpha = 1. - 0.8 * epoch / (args.num_train_epochs - 1)`, then
    `probs = [p ** alpha for p in sizes]` divided by their sum."""
    n, epochs = np.array(list(SIZES.values()), "float64"), 25
    for epoch in range(epochs):
        alpha = 1.0 - 0.8 * epoch / (epochs - 1)
        powers = np.exp(alpha * np.log(n))
        expected = powers / powers.sum()
        np.testing.assert_allclose(probabilities(n, "annealed", epoch, epochs), expected, 1e-12)
    assert (exponent("annealed", 0, 25), exponent("annealed", 24, 25)) == (1, pytest.approx(0.2))
    assert exponent("annealed", 0, 1) == 1
    assert exponent("annealed", 40, 25) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        ("proportional", [1 / 6, 1 / 2, 1 / 3]),
        ("square_root", np.sqrt([100, 300, 200]) / np.sqrt([100, 300, 200]).sum()),
        ("uniform", [1 / 3, 1 / 3, 1 / 3]),
    ],
)
def test_fixed_samplings(sampling, expected):
    for epoch in (0, 3):
        np.testing.assert_allclose(probabilities([100, 300, 200], sampling, epoch, 4), expected)


def order(**changes) -> TaskOrder:
    random = np.random.default_rng(3)
    lengths = {"small": random.integers(3, 20, 25), "large": random.integers(3, 20, 90)}
    given = {"batch_size": 8, "seed": 7, "sampling": "proportional", "epochs": 3}
    return TaskOrder(lengths, **given | changes)


def steps(found: list) -> list:
    return [(task, batch.tolist()) for task, batch in found]


def test_an_epoch_is_a_function_of_its_number():
    whole = order()
    forwards = [steps(whole.epoch(epoch)) for epoch in range(4)]
    assert [steps(order().epoch(epoch)) for epoch in (3, 1, 0, 2)] == [
        forwards[epoch] for epoch in (3, 1, 0, 2)
    ]
    assert forwards[0] != forwards[1]
    assert steps(order(seed=8).epoch(0)) != forwards[0]
    # 4 batches of the small task, 12 of the large one.
    assert [len(epoch) for epoch in forwards] == [16] * 4 == [whole.steps_of(e) for e in range(4)]


def test_tasks_are_drawn_as_often_as_the_formula_says():
    whole = order(sampling="annealed", epochs=2, steps=4000)
    for epoch, alpha in ((0, 1.0), (1, 0.2)):
        share = 25**alpha / (25**alpha + 90**alpha)
        counts = Counter(task for task, _ in whole.epoch(epoch))
        deviation = np.sqrt(share * (1 - share) / 4000)
        assert abs(counts["small"] / 4000 - share) < 4 * deviation
        assert whole.probabilities(epoch)["small"] == pytest.approx(share)


def test_a_task_sees_all_its_examples_before_one_comes_again():
    whole = order(sampling="uniform")
    seen = [batch for epoch in range(5) for task, batch in whole.epoch(epoch) if task == "small"]
    assert len(seen) > 12
    for start in range(0, len(seen) - 3, 4):
        one_pass = np.concatenate(seen[start : start + 4])
        assert sorted(one_pass) == list(range(25))


def test_the_last_epochs_are_passes_over_the_target():
    whole = order(target="small")
    for epoch in (3, 4):
        found = whole.epoch(epoch)
        assert {task for task, _ in found} == {"small"}
        assert sorted(np.concatenate([batch for _, batch in found])) == list(range(25))
        assert whole.steps_of(epoch) == len(found) == 4
        assert whole.probabilities(epoch) == {"small": 1.0, "large": 0.0}
    assert steps(whole.epoch(3)) != steps(whole.epoch(4))
    assert steps(whole.epoch(2)) == steps(order().epoch(2))


def test_the_batches_of_one_update_are_of_one_task():
    whole = order(accumulate_steps=3, sampling="uniform")
    assert whole.steps_of(0) == 16  # the last group has one
    for epoch in range(3):
        tasks = [task for task, _ in whole.epoch(epoch)]
        assert len(tasks) == 16
        assert all(len(set(tasks[start : start + 3])) == 1 for start in range(0, 16, 3))
        assert len(set(tasks)) == 2


TASKS = {
    "question": ta.Task("classification", labels=["who", "what"]),
    "name": ta.Task("tagging", labels=["O", "B-X"]),
}
RECORDS = {
    "question": [("who is the author ?", "who"), ("what is it ?", "what"), ("who ?", "who")],
    "name": [(["the", "author"], ["O", "B-X"]), (["what"], ["O"])],
}


@pytest.mark.slow
def test_a_batch_is_that_of_its_task_and_empty_elsewhere(tiny_bert):
    encoder = ta.HubEncoder(tiny_bert)
    found = list(ta.multi_task_batches(RECORDS, TASKS, encoder, batch_size=2, shuffle=False))
    assert [numbers.numpy().tolist() for numbers, _ in found] == [[0, 0], [0], [1, 1]]
    alone = list(ta.batches(RECORDS["name"][::-1], TASKS["name"], encoder, 2, shuffle=False))
    inputs, targets = found[2][1]["name"]
    assert inputs["a"].keys() == alone[0][0]["a"].keys()
    for name, tensor in alone[0][0]["a"].items():
        np.testing.assert_array_equal(inputs["a"][name], tensor)
    np.testing.assert_array_equal(targets, alone[0][1])
    others, _ = found[2][1]["question"]
    assert {tuple(tensor.shape) for tensor in others["a"].values()} == {(2, 0)}


@pytest.mark.slow
def test_every_pass_is_the_next_epoch(tiny_bert):
    encoder = ta.HubEncoder(tiny_bert)
    dataset = ta.multi_task_batches(
        RECORDS, TASKS, encoder, batch_size=1, sampling="annealed", epochs=3, steps_per_epoch=9
    )
    passes = [[int(numbers[0]) for numbers, _ in dataset] for _ in range(3)]
    lengths = {"question": np.array([7, 6, 4]), "name": np.array([4, 3])}
    whole = TaskOrder(lengths, 1, 0, "annealed", 3, 9)
    drawn = [[list(TASKS).index(task) for task, _ in whole.epoch(epoch)] for epoch in range(3)]
    assert passes == drawn
    assert len(dataset) == 9


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"sampling": "sorted"}, "sampling: expected one of annealed, proportional"),
        ({"sampling": "annealed"}, "epochs: expected their number with sampling='annealed'"),
        ({"batch_size": 0}, "batch_size: expected at least 1, got 0"),
        ({"records": {"questions": []}}, "expected examples of some of the tasks question, name"),
        ({"records": {}}, "got none"),
    ],
)
def test_wrong_arguments_are_refused(tiny_bert, changes, problem):
    given = {"records": RECORDS, "tasks": TASKS, "encoder": ta.HubEncoder(tiny_bert)} | changes
    with pytest.raises(ConfigError, match=problem):
        ta.multi_task_batches(**given)
