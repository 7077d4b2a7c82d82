"""Differences of adaptations, pooled over the data sets of several comparisons."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hub_modules.storage.files import write_text
from tf_adapt.analysis.output import check_folder, write_analysis
from tf_adapt.analysis.pooling.effects import Effect, order, read_effects
from tf_adapt.analysis.pooling.forest import forest
from tf_adapt.analysis.pooling.layouts import LAYOUTS, paper_rows
from tf_adapt.errors import ConfigError
from tf_adapt.printing.words import counted, interval, signed_points
from tf_adapt.statistics.random_effects import found_in_at_least, random_effects

NAME, TABLE = "pooled", "table"
LEVEL = 0.05


def pool_comparisons(folders: Sequence[str | Path], out: str | Path) -> dict[str, Any]:
    """Pools the differences of adaptations of several comparisons and writes them into a folder:
    `pooled.json`, `.csv`, `.svg`, `.png`, and the scores in the paper's layout as `table.md`,
    `.html`, `.tex`; returns the content of the first.

    Raises:
        ArtifactError: as `read_effects`; the folder cannot be written.
        ConfigError: no two adaptations of one encoder were compared, or statsmodels is missing.
    """
    path = check_folder(str(out), NAME)
    scores, effects = read_effects(folders)
    if not effects:
        raise ConfigError(
            "pool: expected comparisons of two adaptations of one encoder with a test, got none; "
            "give the folders of finished comparisons"
        )
    result = {
        "comparisons": len(folders),
        "level": 1 - LEVEL,
        "pooled": pooled(effects),
        "effects": [asdict(effect) for effect in effects],
        "scores": [asdict(score) for score in scores],
    }
    rows = [asdict(effect) for effect in effects]
    written = write_analysis(path, NAME, result, rows, lambda: forest(result))
    table = paper_rows(scores, effects)
    for suffix, layout in LAYOUTS.items():
        write_text(path / f"{TABLE}.{suffix}", layout(table))
    return written


def pooled(effects: Sequence[Effect]) -> list[dict[str, Any]]:
    """Each pair of adaptations of each encoder: pooled by family of metrics, and in at least how
    many data sets of the family, and of all, either is ahead."""
    by_pair: dict[tuple[str, str, str], list[Effect]] = defaultdict(list)
    for effect in effects:
        by_pair[effect.encoder, effect.a, effect.b].append(effect)
    found = []
    for (encoder, a, b), of_pair in sorted(by_pair.items(), key=_place):
        by_family: dict[str, list[Effect]] = defaultdict(list)
        for effect in of_pair:
            by_family[effect.family].append(effect)
        found.append(
            {
                "encoder": encoder,
                "a": a,
                "b": b,
                "datasets": len(of_pair),
                **_counts(of_pair),
                "families": {family: _pooled(some) for family, some in by_family.items()},
            }
        )
    return found


def _place(item) -> tuple:
    (encoder, a, b), _ = item
    return encoder, order(a), order(b)


def _pooled(effects: Sequence[Effect]) -> dict[str, Any] | None:
    """None where fewer than two data sets have a standard error. `identical`: of how many data sets
    both gave the same answers, which no estimate can weigh."""
    uncertain = [effect for effect in effects if effect.error > 0]
    if len(uncertain) < 2:
        return None
    found = random_effects([e.difference for e in uncertain], [e.error for e in uncertain])
    identical = len(effects) - len(uncertain)
    counts = {"datasets": len(uncertain), "identical": identical}
    return asdict(found) | counts | _counts(effects)


def _counts(effects: Sequence[Effect]) -> dict[str, int]:
    """For how many data sets either is decided ahead, and in at least how many it is ahead."""
    return {
        "decided_for_b": sum(one.decided and one.difference > 0 for one in effects),
        "decided_for_a": sum(one.decided and one.difference < 0 for one in effects),
        "b_ahead_in_at_least": found_in_at_least([_one_sided(one, 1) for one in effects]),
        "a_ahead_in_at_least": found_in_at_least([_one_sided(one, -1) for one in effects]),
    }


def _one_sided(effect: Effect, sign: int) -> float:
    """The p-value of no difference or one in the other direction."""
    return effect.p / 2 if effect.difference * sign > 0 else 1 - effect.p / 2


def _counted(datasets: int) -> str:
    return counted(datasets, "data set")


def lines_of(result: dict[str, Any]) -> list[str]:
    """The result for the terminal, a few lines a pair."""
    lines = []
    for row in result["pooled"]:
        lines.append(f"{row['encoder']}: {row['b']} − {row['a']}, {_counted(row['datasets'])}")
        for family, some in row["families"].items():
            if some is None:
                lines.append(f"  {family}: fewer than two data sets that differ, not pooled")
                continue
            estimate = f"{signed_points(some['estimate'])} points"
            line = f"  {family}: {estimate} ({interval(some['interval'])}"
            line += f", {_counted(some['datasets'])}, τ {100 * some['tau']:.1f}"
            if some["identical"]:
                line += f", {some['identical']} more with equal answers"
            if some["prediction"] is not None:
                line += f"; one more: {interval(some['prediction'])}"
            lines.append(f"{line})")
        lines.append(
            f"  ahead in at least {row['b_ahead_in_at_least']} of {row['datasets']} ({row['b']}), "
            f"{row['a_ahead_in_at_least']} ({row['a']}); decided {row['decided_for_b']} and "
            f"{row['decided_for_a']}"
        )
    return lines
