"""Numbers and texts of users, formatted for reports and for the output of commands."""

import difflib
import unicodedata
from collections.abc import Iterable, Sequence

NOTHING = "–"
METRICS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "exact_match": "exact match",
    "f1": "F1",
    "hits_at_1_of_4": "hits@1 of 4",
    "log_probability": "log-probability of a word",
    "macro_f1": "macro F1",
    "matthews": "Matthews correlation",
    "micro_f1": "micro F1",
    "pearson": "Pearson correlation",
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "rougeL": "ROUGE-L",
    "span_f1": "span F1",
    "spearman": "Spearman correlation",
    "strict_span_f1": "strict span F1",
}
# Names in papers and other libraries, without case and punctuation → ours, of adaptations and keys.
CALLED_ELSEWHERE = {
    "lpft": "two_stage",
    "setfit": "contrastive",
    "layerwise": "decay",
    "layerwisedecay": "decay",
    "layerwiselrdecay": "decay",
    "llrd": "decay",
}
# What a score of a metric, times 100, says besides.
READ_AS = {"log_probability": "A score of s is a perplexity of exp(−s / 100) for each word"}
# Control characters that change the direction of all text after them.
DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def visible(text: str) -> str:
    """One line of text, safe in any file: invisible characters are escaped as `\\uXXXX`.

    Line ends and tabs become spaces; control characters, lone surrogates, noncharacters and
    controls of text direction are escaped.
    """
    return "".join(_shown(character) for character in str(text))


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def alternatives(names: Sequence[str]) -> str:
    """Names in a line: `tsv, csv or jsonl`."""
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def shortened(text: str, length: int) -> str:
    """The text, or its beginning and end with `…` between, at most `length` characters."""
    if len(text) <= length:
        return text
    end = length // 3
    return f"{text[: length - end - 1]}…{text[-end:]}"


def score(value: float | None) -> str:
    """0.874 → `87.4`."""
    return NOTHING if value is None else _signed(value * 100, ".1f")


def signed_points(value: float | None) -> str:
    """0.021 → `+2.1`; −0.021 → `−2.1`."""
    return NOTHING if value is None else _signed(value * 100, "+.1f")


def interval(bounds: list | None) -> str:
    """[−0.01, 0.05] → `−1.0 to +5.0`."""
    if not bounds or None in bounds:
        return NOTHING
    return f"{signed_points(bounds[0])} to {signed_points(bounds[1])}"


def mean_and_deviation(mean: float | None, deviation: float | None) -> str:
    """0.874, 0.003 → `87.4 ± 0.3`; without a deviation `87.4`; `–` without a mean."""
    if mean is None or deviation is None:
        return score(mean)
    return f"{score(mean)} ± {score(deviation)}"


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
    """1 of 8 → `12 %`; with `whole` 0, `0 %`."""
    return f"{100 * part / whole if whole else 0:.0f} %"


def rate(value: float | None) -> str:
    """0.0003 → `0.0003`; 0.00002 → `2e-05`."""
    return NOTHING if value is None else f"{value:g}"


def metric_name(name: str) -> str:
    """The metric's usual name."""
    return METRICS.get(name, name)


def counted(number: int, noun: str) -> str:
    """`1 seed`, `3 seeds`, `2 processes`."""
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def rise(before: float, after: float) -> str:
    """The rise of a loss: 5.18, 5.2 → `+0.0200`."""
    return _signed(after - before, "+.4f")


def forgetting_in_words(forgetting: dict) -> str:
    """The `forgetting` of a run's `metrics.json` as a phrase."""
    task = forgetting["task"].replace("_", " ")
    before, after = forgetting["before"], forgetting["after"]
    return (
        f"{task} loss {before:.4f} before adaptation, {after:.4f} after ({rise(before, after)}) "
        f"on {counted(forgetting['texts'], 'line')} of held-out text; distance from the pretrained "
        f"weights {forgetting['distances']['all']:.4f} of their length"
    )


def our_name(name: str) -> str:
    """The name here of what is called so elsewhere (`CALLED_ELSEWHERE`), else the name itself."""
    return CALLED_ELSEWHERE.get("".join(filter(str.isalnum, name.lower())), name)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """`; did you mean X?` for the nearest of the names, or nothing."""
    nearest = difflib.get_close_matches(our_name(name), list(names), 1)
    return f"; did you mean {nearest[0]}?" if nearest else ""


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
