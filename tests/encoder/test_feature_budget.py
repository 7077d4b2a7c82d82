"""Where kept outputs are, and what to set where they are nowhere."""

import pytest

from tf_adapt.encoder.feature_budget import Budget


@pytest.mark.parametrize(
    ("has_folder", "cached", "homes"),
    [
        (True, False, ["memory", "disk", None]),
        (True, True, ["disk", "disk", None]),
        (False, False, ["memory", None, None]),
    ],
)
def test_homes(has_folder, cached, homes):
    budget = Budget(100, 1000, has_folder)
    assert [budget.home(needed, cached) for needed in (100, 1000, 1001)] == homes
    assert budget.most == (1000 if has_folder else 100)


def test_what_to_set():
    for has_folder, needed, reason, advice in (
        (True, 1500.7, "disk_limit_mb: 1000 (disk)", "set features.disk_limit_mb: 1501 to"),
        (False, 500, "several processes (training.strategy) keep", "set features.cache to"),
        (False, 1500, "none on disk", "set features.cache and features.disk_limit_mb: 1501 to"),
    ):
        sentence = Budget(100, 1000, has_folder).too_large("features of 9 texts", needed)
        assert sentence.startswith(f"features of 9 texts need {needed:.0f} MB, over features.limit")
        assert reason in sentence and sentence.endswith(f"{advice} keep them")
        assert ("disk_limit_mb: 1000" in sentence) == has_folder
