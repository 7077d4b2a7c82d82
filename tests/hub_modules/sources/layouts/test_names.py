import numpy as np
import pytest

from hub_modules.sources.layouts.names import STEPS, Row, check, expand, to_foreign, to_ours
from tf_adapt.errors import ArtifactError


def row(step: str, shape: tuple[int, ...], heads: int = 1) -> Row:
    return Row("theirs", "ours", step, STEPS[step].foreign_shape(shape, heads), shape)


BY_HAND = [
    ("same", 1, [[1, 2], [3, 4]], [[1, 2], [3, 4]]),
    ("transpose", 1, [[1, 2, 3], [4, 5, 6]], [[1, 4], [2, 5], [3, 6]]),
    ("split_columns", 2, [[1, 2, 3, 4]], [[[1, 2], [3, 4]]]),
    ("split_columns", 2, [1, 2, 3, 4], [[1, 2], [3, 4]]),
    ("split_rows", 2, [[1], [2], [3], [4]], [[[1], [2]], [[3], [4]]]),
    ("leading_one", 1, [[1, 2]], [[[1, 2]]]),
    ("join_columns", 1, [[[1, 2], [3, 4]], [[5, 6], [7, 8]]], [[1, 5], [2, 6], [3, 7], [4, 8]]),
    ("join_bias", 1, [[1, 2], [3, 4]], [1, 2, 3, 4]),
    ("join_rows", 1, [[[1, 2], [3, 4]], [[5, 6], [7, 8]]], [[1, 3, 5, 7], [2, 4, 6, 8]]),
]


def test_steps_by_hand_in_both_directions():
    assert {step for step, *_ in BY_HAND} == set(STEPS)
    for step, heads, *pair in BY_HAND:
        ours, theirs = (np.array(one, np.float32) for one in pair)
        rows = [row(step, ours.shape, heads)]
        np.testing.assert_array_equal(to_foreign(rows, {"ours": ours})["theirs"], theirs)
        np.testing.assert_array_equal(to_ours(rows, {"theirs": theirs}.get, "file")["ours"], ours)


def test_expand_fills_fields_and_leaves_out_what_the_encoder_lacks():
    table = [
        ("a.{layer}.w", "layer_{layer}/kernel", "transpose"),
        ("b", "absent", "same"),
        ("c", "top", "same"),
    ]
    shapes = {"layer_0/kernel": (2, 3), "layer_1/kernel": (2, 3), "top": (4,)}
    assert expand(table, shapes, {"layer": 2}) == [
        Row("a.0.w", "layer_0/kernel", "transpose", (3, 2), (2, 3)),
        Row("a.1.w", "layer_1/kernel", "transpose", (3, 2), (2, 3)),
        Row("c", "top", "same", (4,), (4,)),
    ]


def test_check_names_what_does_not_fit():
    for found, message in [
        ({}, "file: expected 1 weights, 1 are missing: theirs"),
        ({"theirs": (3, 2), "more": (1,)}, "file: 1 weights are unknown: more"),
        ({"theirs": (2, 3)}, r"theirs: expected shape \(3, 2\), got \(2, 3\)"),
    ]:
        with pytest.raises(ArtifactError, match=message):
            check([row("transpose", (2, 3))], found, "file")


def test_to_ours_refuses_what_is_no_weight():
    for array, message in [
        (np.array([1, 2]), "theirs: expected floating-point numbers, got int64"),
        (np.array([1, np.nan], np.float32), "theirs: expected finite numbers, got NaN or infinity"),
        (np.array([1, 1e39]), "theirs: expected finite numbers"),
    ]:
        with pytest.raises(ArtifactError, match=message):
            to_ours([row("same", (2,))], {"theirs": array}.get, "file")
