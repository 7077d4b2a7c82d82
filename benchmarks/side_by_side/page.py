"""Results as Markdown: one table a piece of work, a column for each processor."""

from typing import Any

from benchmarks.side_by_side.summary import agrees, median, problems, ratios, reached, spread

# Processor → one measurement of the same work.
Columns = dict[str, dict[str, Any]]


def section(name: str, result: dict[str, Any]) -> str:
    """What was measured under one name.

    Args:
        result: `{"about": …, "processors": {processor: {"machine": …, "measurements": […],
            "notes": […]}}}`.
    """
    lines = [f"## {name}", "", result["about"], ""]
    for columns in _by_work(result["processors"]):
        lines += [*table(columns), ""]
    for processor, measured in result["processors"].items():
        lines.append(f"- {processor}: {' '.join([measured['machine'] + '.', *measured['notes']])}")
    return "\n".join([*lines, ""])


def _by_work(processors: dict[str, dict[str, Any]]) -> list[Columns]:
    """The measurements of the same work under the same conditions, together."""
    found: dict[str, Columns] = {}
    for processor, measured in processors.items():
        for measurement in measured["measurements"]:
            found.setdefault(_title(measurement), {})[processor] = measurement
    return list(found.values())


def table(columns: Columns) -> list[str]:
    """One measurement, a line for each contestant, a column for each processor."""
    measurements = list(columns.values())
    contestants = [one for measurement in measurements for one in measurement["contestants"]]
    names = dict.fromkeys(one["name"] for one in contestants)
    rows = [
        [
            name,
            *(_cell(measurement, name) for measurement in measurements),
            _difference(measurements, name),
            _target(measurements[0], name),
        ]
        for name in names
    ]
    titles = ["", *columns, "difference (allowed)", "target"]
    shown = [
        column
        for column in range(len(titles))
        if column <= len(columns) or any(row[column] for row in rows)
    ]
    lines = [_title(measurements[0]), ""]
    for cells in (titles, ["---"] * len(titles), *rows):
        lines.append("| " + " | ".join(cells[column] for column in shown) + " |")
    lines += [f"\n{problem}" for one in measurements for problem in problems(one)]
    reasons = {one["why"]: one["name"] for one in contestants if one["why"]}
    return lines + [f"\n{name}: {why}." for why, name in reasons.items()]


def duration(seconds: float) -> str:
    """A time with three digits, in a unit that suits it."""
    return f"{_digits(seconds)} s" if seconds >= 1 else f"{_digits(1e3 * seconds)} ms"


def _cell(measurement: dict, name: str) -> str:
    """What one contestant did on one processor; empty where it did not take part."""
    ours, found = measurement["contestants"][0], _contestant(measurement, name)
    if found is None:
        return ""
    if found["failure"] is not None:
        return found["failure"].replace("|", "\\|")
    seconds = found["seconds"]
    parts = [duration(median(seconds))]
    compared = ratios(seconds, ours["seconds"]) if found is not ours else []
    if compared:
        low, high = spread(compared)
        parts.append(f"ratio {median(compared):.2f} ({low:.2f} to {high:.2f})")
    else:
        parts[0] += f" ({' to '.join(map(duration, spread(seconds)))})"
    amounts = [one["amount"] for one in measurement["contestants"] if one["amount"]]
    if amounts:
        parts.append(f"{_digits(amounts[0] / median(seconds))} {measurement['unit']}/s")
    parts.append(f"{found['peak_mb']:.0f} MB")
    parts += sorted(set(found["notes"]))
    parts += ["**missed**"] if reached(measurement, found) is False else []
    return ", ".join(parts)


def _contestant(measurement: dict, name: str) -> dict | None:
    return next((one for one in measurement["contestants"] if one["name"] == name), None)


def _difference(measurements: list[dict], name: str) -> str:
    """The largest of one contestant's differences; in bold where it is more than allowed."""
    found = [
        _contestant(one, name) for one in measurements if one["contestants"][0]["name"] != name
    ]
    compared = [one for one in found if one is not None and agrees(one) is not None]
    if not compared:
        return ""
    worst = max(compared, key=lambda one: one["difference"])
    text = f"{worst['difference']:.2g} ({worst['tolerance']:g})"
    return text if agrees(worst) else f"**{text}**"


def _target(measurement: dict, name: str) -> str:
    if name in measurement["at_least"]:
        return f"≥ {measurement['at_least'][name]:g}"
    if name != measurement["contestants"][0]["name"]:
        return ""
    limits = (("<", measurement["at_most"], "s"), ("≤", measurement.get("at_most_mb"), "MB"))
    return ", ".join(
        f"{sign} {limit:g} {unit}" for sign, limit, unit in limits if limit is not None
    )


def _title(measurement: dict) -> str:
    """The work and its conditions."""
    parts = [f"{measurement['rounds']} turn{'s' if measurement['rounds'] > 1 else ''}"]
    if measurement["calls"] > 1:
        which = "fastest" if measurement["fastest"] else "median"
        if measurement.get("percentile") is not None:
            which = f"{measurement['percentile']}th percentile"
        parts.append(f"the {which} of {measurement['calls']} calls in each")
    if measurement["compared"]:
        parts.append(f"compared: {measurement['compared']}")
    return f"**{measurement['work']}** ({'; '.join(parts)})"


def _digits(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
