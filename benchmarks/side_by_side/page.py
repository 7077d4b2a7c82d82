"""Results as Markdown: one table a piece of work."""

from typing import Any

from benchmarks.side_by_side.summary import agrees, median, problems, ratios, spread, verdict

_INTRODUCTION = """# Benchmarks

Written by `python -m benchmarks`; do not edit. The times of all turns are in `benchmarks.json`.

How to read it:

- All lines of a table were measured in one run on one machine, in turns A B A B …, each in a
  process of its own (where it says *together*, in one) that was warmed up, with two threads on two
  cores.
- *time*: the median over the turns (the fastest to the slowest).
- *ratio*: this line's time / the first line's in the same turn, the median over the turns (the
  smallest to the largest); above 1 the first line is faster.
- *memory*: the most that the process held while it worked, weights and libraries included.
- *difference*: the largest absolute difference of the outputs from the first line's (what is
  allowed).
"""
_TITLES = ("", "time", "per second", "ratio", "memory", "difference (allowed)", "target")


def page(results: dict[str, dict[str, Any]]) -> str:
    """The page of all results, by benchmark: `{"machine": …, "measurements": […]}` each."""
    return "\n".join([_INTRODUCTION, *(_section(name, results[name]) for name in sorted(results))])


def _section(name: str, result: dict[str, Any]) -> str:
    lines = [f"## {name}", "", result["about"], ""]
    for note in result["notes"]:
        lines += [note, ""]
    for measurement in result["measurements"]:
        lines += [*measurement_lines(measurement), ""]
    return "\n".join([*lines, f"Measured on: {result['machine']}.", ""])


def measurement_lines(measurement: dict[str, Any]) -> list[str]:
    """The table of one measurement."""
    rows = [_row(measurement, contestant) for contestant in measurement["contestants"]]
    shown = [
        column for column in range(len(_TITLES)) if column < 2 or any(row[column] for row in rows)
    ]
    lines = [f"**{measurement['work']}**{_conditions(measurement)}", ""]
    for cells in (_TITLES, ["---"] * len(_TITLES), *rows):
        lines.append("| " + " | ".join(cells[column] for column in shown) + " |")
    lines += [f"\n{problem}" for problem in problems(measurement)]
    reasons = {one["why"]: one["name"] for one in measurement["contestants"] if one["why"]}
    return lines + [f"\n{name}: {why}." for why, name in reasons.items()]


def duration(seconds: float) -> str:
    """A time with three digits, in a unit that suits it."""
    return f"{_digits(seconds)} s" if seconds >= 1 else f"{_digits(1e3 * seconds)} ms"


def _row(measurement: dict, contestant: dict) -> list[str]:
    if contestant["failure"] is not None:
        return [contestant["name"], contestant["failure"].replace("|", "\\|"), *[""] * 5]
    seconds, ours = contestant["seconds"], measurement["contestants"][0]
    low, high = spread(seconds)
    compared = ratios(seconds, ours["seconds"]) if contestant is not ours else []
    notes = sorted(set(contestant["notes"]))
    together = " (together)" if contestant["shared"] else ""
    return [
        contestant["name"] + (f" ({'; '.join(notes)})" if notes else ""),
        f"{duration(median(seconds))} ({duration(low)} to {duration(high)})",
        _rate(measurement, median(seconds)),
        f"{median(compared):.2f} ({min(compared):.2f} to {max(compared):.2f})" if compared else "",
        f"{contestant['peak_mb']:.0f} MB{together}",
        _difference(contestant),
        verdict(measurement, contestant),
    ]


def _rate(measurement: dict, seconds: float) -> str:
    amounts = [one["amount"] for one in measurement["contestants"] if one["amount"]]
    return f"{_digits(amounts[0] / seconds)} {measurement['unit']}" if amounts else ""


def _difference(contestant: dict) -> str:
    if agrees(contestant) is None:
        return ""
    text = f"{contestant['difference']:.2g} ({contestant['tolerance']:g})"
    return text if agrees(contestant) else f"**{text}**"


def _conditions(measurement: dict) -> str:
    parts = [f"{measurement['rounds']} turns"]
    if measurement["calls"] > 1:
        which = "fastest" if measurement["fastest"] else "median"
        parts.append(f"the {which} of {measurement['calls']} calls in each")
    if measurement["compared"]:
        parts.append(f"compared: {measurement['compared']}")
    return f" ({'; '.join(parts)})"


def _digits(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
