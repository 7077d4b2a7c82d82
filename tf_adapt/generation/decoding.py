"""How the next tokens are chosen. Imports no TensorFlow."""

from dataclasses import dataclass

from tf_adapt.errors import ConfigError

# The highest temperature.
HOTTEST = 100


@dataclass(frozen=True)
class Decoding:
    """How a text is continued.

    By default greedy, always with the most probable token. With a temperature T > 0 the next token
    is drawn from `softmax(logits / T)`, of which top-k keeps the k most probable tokens, and top-p
    then the fewest tokens whose probabilities sum to at least p. With several beams the
    continuations with the best `log p(tokens) / number ** length_penalty` are searched.

    Args:
        max_new_tokens: most tokens of a continuation; it ends earlier at an end token.
        temperature: 0: no draw.
        top_k: 0: all tokens.
        top_p: from above 0 to 1 (all tokens).
        beams: 1: no search. Several: without temperature, top-k and top-p.
        length_penalty: above 0 favours long continuations, below 0 short ones.

    Raises:
        ConfigError: a value is out of range, or values do not go together.

    Source: Fan et al. 2018 (top-k); Holtzman et al. 2020, "The Curious Case of Neural Text
    Degeneration" (top-p); beam search ends as in transformers (`early_stopping=False`): as soon as
    the best open beam is no better than the worst of as many finished ones.
    """

    max_new_tokens: int = 40
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    beams: int = 1
    length_penalty: float = 1.0

    def __post_init__(self):
        for name, lowest in (("max_new_tokens", 1), ("top_k", 0), ("beams", 1)):
            value = getattr(self, name)
            if type(value) is not int or value < lowest:
                raise _wrong(name, f"a whole number from {lowest}", value)
        for name, fits, expected in (
            ("temperature", lambda value: 0 <= value <= HOTTEST, f"a number from 0 to {HOTTEST}"),
            ("top_p", lambda value: 0 < value <= 1, "a number above 0, at most 1"),
            ("length_penalty", lambda value: -10 <= value <= 10, "a number from -10 to 10"),
        ):
            value = getattr(self, name)
            if type(value) not in (int, float) or not fits(value):
                raise _wrong(name, expected, value)
        self._check_together()

    def _check_together(self) -> None:
        if self.beams > 1 and self.temperature:
            raise _wrong("temperature", f"0 with beams: {self.beams}", self.temperature)
        if not self.temperature and (self.top_k or self.top_p < 1):
            name = "top_k" if self.top_k else "top_p"
            raise ConfigError(
                f"decoding.{name}: expected a temperature above 0 with it, got temperature 0, "
                "which takes the most probable token; set temperature: 1.0"
            )


def _wrong(name: str, expected: str, got) -> ConfigError:
    return ConfigError(f"decoding.{name}: expected {expected}, got {got!r}")
