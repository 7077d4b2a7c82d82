import pytest

from tf_adapt.errors import ConfigError
from tf_adapt.generation.decoding import Decoding


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"beams": 0}, "beams: expected a whole number from 1, got 0"),
        ({"beams": True}, "beams: expected a whole number from 1, got True"),
        ({"max_new_tokens": 0}, "max_new_tokens: expected a whole number from 1"),
        ({"temperature": -0.1}, "temperature: expected a number from 0 to 100"),
        ({"temperature": float("nan")}, "temperature: expected a number from 0"),
        ({"temperature": 1.0, "top_p": 0.0}, "top_p: expected a number above 0, at most 1"),
        ({"temperature": 1.0, "top_k": -1}, "top_k: expected a whole number from 0"),
        ({"beams": 2, "temperature": 0.7}, "temperature: expected 0 with beams: 2, got 0.7"),
        ({"top_k": 5}, "top_k: expected a temperature above 0 with it"),
        ({"top_p": 0.5}, "top_p: expected a temperature above 0 with it"),
        ({"beams": 2, "length_penalty": float("inf")}, "length_penalty: expected a number from"),
    ],
)
def test_values_out_of_range(values, message):
    with pytest.raises(ConfigError, match=f"decoding.{message}"):
        Decoding(**values)
