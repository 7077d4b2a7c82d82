"""Configs that are given in Python."""

from pathlib import Path

import numpy as np
import pytest

from tf_adapt.config.plain_values import plain_values
from tf_adapt.errors import ConfigError


def test_values_are_copied_as_yaml_would_have_them():
    given = {"a": (1, np.float64(0.5), np.int64(2)), "b": {"c": Path("x/y"), "d": None, "e": True}}
    found = plain_values(given, "config")
    assert found == {"a": [1, 0.5, 2], "b": {"c": "x/y", "d": None, "e": True}}
    assert [type(value) for value in found["a"]] == [int, float, int]
    found["b"]["e"] = False
    assert given["b"]["e"] is True


NO_VALUES = [
    ({"a": [0, {"b": {3}}]}, r"config: a\.1\.b: expected text, a number, .* got set \{3\}"),
    ({"a": np.zeros(2)}, "config: a: expected text, a number, .* got ndarray"),
    ({"a": {1: 2}}, "config: a: expected keys that are text, got 1"),
    ({"a": "\0"}, r"config: a: expected printable text, got character U\+0000"),
    ({"\ud800": 1}, r"config: expected printable text, got character U\+D800"),
]


def test_what_no_file_could_say():
    for value, message in NO_VALUES:
        with pytest.raises(ConfigError, match=message):
            plain_values(value, "config")


def test_a_dict_in_itself():
    value: dict = {}
    value["a"] = value
    with pytest.raises(ConfigError, match="config: expected at most 20 nested levels"):
        plain_values(value, "config")
