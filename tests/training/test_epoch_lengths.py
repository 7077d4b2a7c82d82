"""Steps and epochs, against the written-out list of all steps."""

import pytest

from tf_adapt.training.epoch_lengths import EpochLengths


@pytest.mark.parametrize("lengths", [EpochLengths(4), EpochLengths(4, 3, 7), EpochLengths(5, 0, 2)])
def test_every_step_of_ten_epochs(lengths):
    steps = [
        lengths.last_steps if lengths.last_from is not None and epoch >= lengths.last_from
        else lengths.steps
        for epoch in range(10)
    ]  # fmt: skip
    epoch_of_step = [epoch for epoch in range(10) for _ in range(steps[epoch])]
    assert [lengths.of(epoch) for epoch in range(10)] == steps
    assert [lengths.epoch_of(step) for step in range(len(epoch_of_step))] == epoch_of_step
    for epoch in range(10):
        assert lengths.start(epoch) == epoch_of_step.index(epoch)
