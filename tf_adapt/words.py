"""Numbers and foreign texts as the words of reports and of what commands print."""

import unicodedata

NOTHING = "–"
METRICS = {
    "accuracy": "accuracy",
    "matthews": "Matthews correlation",
    "pearson": "Pearson correlation",
    "span_f1": "span F1",
    "spearman": "Spearman correlation",
    "strict_span_f1": "strict span F1",
}
# Controls that would turn the direction of everything after them.
DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def visible(text: str) -> str:
    """One line of text that can stand in any file: what cannot be seen is written as `\\uXXXX`.

    Line ends and tabs become spaces; control characters, halves of surrogate pairs, characters
    that are none, and controls of the direction of writing become their codes.
    """
    return "".join(_shown(character) for character in str(text))


def shortened(text: str, length: int) -> str:
    """The text, or its beginning and end with `…` between, at most `length` characters."""
    if len(text) <= length:
        return text
    end = length // 3
    return f"{text[: length - end - 1]}…{text[-end:]}"


def score(value: float | None) -> str:
    """0.874 → `87.4`."""
    return NOTHING if value is None else _signed(value * 100, ".1f")


def difference(value: float | None) -> str:
    """0.021 → `+2.1`; −0.021 → `−2.1`."""
    return NOTHING if value is None else _signed(value * 100, "+.1f")


def interval(bounds: list | None) -> str:
    """[−0.01, 0.05] → `−1.0 to +5.0`."""
    if not bounds or None in bounds:
        return NOTHING
    return f"{difference(bounds[0])} to {difference(bounds[1])}"


def mean_and_deviation(cell: dict) -> str:
    """`87.4 ± 0.3`; without a deviation `87.4`; `–` while there is no mean."""
    if cell["mean"] is None or cell["deviation"] is None:
        return score(cell["mean"])
    return f"{score(cell['mean'])} ± {score(cell['deviation'])}"


def probability(value: float | None) -> str:
    """0.0312 → `0.031`; anything below a thousandth → `< 0.001`."""
    if value is None:
        return NOTHING
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def amount(value: float | None) -> str:
    """A measured quantity with about three digits: 0.0312, 3.12, 31.2, 3,120."""
    if value is None:
        return NOTHING
    return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"


def parameters(value: float | None) -> str:
    """5,432,100 → `5.43 M`; 12,300 → `12.3 k`; 123 → `123`."""
    if value is None:
        return NOTHING
    # Limits at which the smaller unit would be rounded to 1,000.
    for limit, unit, name in ((999_500_000, 1e9, " G"), (999_500, 1e6, " M"), (10_000, 1e3, " k")):
        if value >= limit:
            return f"{value / unit:.3g}{name}"
    return f"{value:,.0f}"


def share(part: float, whole: float) -> str:
    """1 of 8 → `12 %`; of nothing `0 %`."""
    return f"{100 * part / whole if whole else 0:.0f} %"


def rate(value: float | None) -> str:
    """0.0003 → `0.0003`; 0.00002 → `2e-05`."""
    return NOTHING if value is None else f"{value:g}"


def metric_name(name: str) -> str:
    """The metric as a reader knows it."""
    return METRICS.get(name, name)


def counted(number: int, noun: str) -> str:
    """`1 seed`, `3 seeds`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _signed(value: float, form: str) -> str:
    text = format(value, form)
    if not float(text):
        text = text.lstrip("+-")
    return text.replace("-", "−")


def _shown(character: str) -> str:
    if character in "\n\r\t\v\f":
        return " "
    category = unicodedata.category(character)
    if category in ("Zl", "Zp"):
        return " "
    code = ord(character)
    no_character = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
    if category in ("Cc", "Cs") or no_character or character in DIRECTIONS:
        return f"\\u{code:04x}"
    return character
