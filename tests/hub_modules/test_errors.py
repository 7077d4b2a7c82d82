"""Messages of errors: what they quote is bounded."""

from hub_modules.errors import LONGEST_MESSAGE, DataError


def test_a_long_quote_is_left_out_in_the_middle():
    short = "f.csv:7: expected a label, got 'x'; correct it"
    assert str(DataError(short)) == short
    error = DataError(f"f.csv:7: expected a label, got {'x' * 500_000!r}; correct it")
    message = str(error)
    assert len(message) < LONGEST_MESSAGE
    assert message.startswith("f.csv:7: expected a label, got 'xxx")
    assert message.endswith("xxx'; correct it")
    assert f" … [{500_045 - 2666 - 1000:,} characters] … " in message
    assert str(DataError(*error.args)) == message
