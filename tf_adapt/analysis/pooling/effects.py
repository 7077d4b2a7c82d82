"""From the reports of comparisons to differences between adaptations. Imports no TensorFlow."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from hub_modules.families import FAMILIES as FAMILIES_OF_ENCODERS
from tf_adapt import paper
from tf_adapt.comparison.diagnosis.report_reading import read_content
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.heads.kinds import KINDS
from tf_adapt.report.content import Content
from tf_adapt.report.scored_cells import ScoredCell

# Scores that are pooled with each other, by metric.
FAMILIES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "accuracy",
    "matthews": "correlation",
    "pearson": "correlation",
    "span_f1": "F1",
    "strict_span_f1": "F1",
    "micro_f1": "F1",
    "macro_f1": "F1",
    "f1": "F1",
    "exact_match": "exact match",
    "log_probability": "log-probability",
    "hits_at_1_of_4": "accuracy",
    "rouge1": "ROUGE",
    "rouge2": "ROUGE",
    "rougeL": "ROUGE",
}
# How a cell may differ from another one beside encoder, adaptation and head.
_MORE = ("execution", "classification_token", "long")


@dataclass(frozen=True)
class Score:
    """The score of an adaptation in one comparison.

    Attributes:
        arm: the adaptation, with its settings, and its head where that is not the paper's.
        mean, deviation: over the seeds that trained.
    """

    dataset: str
    encoder: str
    family: str
    metric: str
    arm: str
    mean: float
    deviation: float | None
    seeds: int


@dataclass(frozen=True)
class Effect:
    """The difference of two adaptations in one comparison: score of `b` − score of `a`.

    Attributes:
        family: of metrics, a value of `FAMILIES`.
        error: its standard error; 0 where both give the same answers.
        interval: the comparison's own, at its level.
        p: two-sided, of this pair alone.
        decided: whether the comparison decides.
    """

    dataset: str
    encoder: str
    family: str
    a: str
    b: str
    difference: float
    error: float
    interval: list[float]
    p: float
    decided: bool


def read_effects(folders: Sequence[str | Path]) -> tuple[list[Score], list[Effect]]:
    """As `effects_of`, of the reports in folders.

    Raises:
        ConfigError: a folder is given twice.
        ArtifactError: a report is missing, damaged or of another version; as `effects_of`.
    """
    given: dict[Path, str | Path] = {}
    for folder in folders:
        place = Path(folder).resolve()
        if place in given:
            raise ConfigError(
                f"{folder}: expected each comparison once, got a folder that {given[place]} names "
                "too; leave one of them out"
            )
        given[place] = folder
    return effects_of({Path(folder): read_content(Path(folder)) for folder in folders})


def effects_of(contents: Mapping[Path, Content]) -> tuple[list[Score], list[Effect]]:
    """The scores and differences of comparisons, by folder; ❄ before 🔥 before the others.

    Raises:
        ArtifactError: two comparisons have the same data, encoder and adaptation.
    """
    scores: list[Score] = []
    effects: list[Effect] = []
    known: dict[tuple, Path] = {}
    names = _names(contents)
    for folder, content in contents.items():
        dataset = names[folder]
        by_encoder: dict[str, dict[str, ScoredCell]] = defaultdict(dict)
        for cell in content.cells:
            if cell.results.mean is None:
                continue
            encoder, arm = cell.encoder, arm_of(cell, content.kind)
            place = (dataset, encoder, arm)
            if place in known:
                raise ArtifactError(
                    f"{folder}: {arm} of {encoder} on {dataset} was read from {known[place]} "
                    "already; expected one comparison of each: leave one of them out"
                )
            known[place] = folder
            by_encoder[encoder][arm] = cell
            family = FAMILIES[content.metric]
            scores.append(
                Score(
                    dataset,
                    encoder,
                    family,
                    content.metric,
                    arm,
                    cell.results.mean,
                    cell.results.deviation,
                    cell.results.trained,
                )
            )
        for encoder, cells in by_encoder.items():
            effects += _of_encoder(dataset, encoder, cells, content, folder)
    return scores, effects


def _of_encoder(
    dataset: str, encoder: str, cells: dict[str, ScoredCell], content: Content, folder: Path
) -> list[Effect]:
    tests = {frozenset((pair.a, pair.b)): pair for pair in content.pairs}
    found = []
    for a, b in combinations(sorted(cells, key=order), 2):
        pair = tests.get(frozenset((cells[a].id, cells[b].id)))
        if pair is None or pair.interval is None:
            continue
        if pair.error is None:
            raise ArtifactError(
                f"{folder}: its report has no standard errors, for an earlier version wrote it; "
                "give the command of the comparison again, which writes it anew and trains nothing"
            )
        pair = pair.seen_from(cells[b].id)
        found.append(
            Effect(
                dataset,
                encoder,
                FAMILIES[content.metric],
                a,
                b,
                pair.difference,
                pair.error,
                pair.interval,
                pair.p,
                pair.decided,
            )
        )
    return found


def order(arm: str) -> tuple[int, str]:
    """Where an arm stands among others: ❄ first, then 🔥."""
    first = [name for name in (paper.FROZEN, paper.TUNED) if arm.split(" ")[0] == name]
    place = (paper.FROZEN, paper.TUNED).index(first[0]) if first else 2
    return place, arm


def arm_of(cell: ScoredCell, kind: str) -> str:
    """The adaptation of a cell, with all that tells it from others, and its head where it is not
    the default one."""
    about = [f"{key} {value}" for key, value in sorted(cell.settings.items())]
    about += [] if cell.pretrained else ["untrained"]
    about += [f"{name} {getattr(cell, name)}" for name in _MORE if getattr(cell, name)]
    joins = FAMILIES_OF_ENCODERS[cell.family].joins_pairs if cell.family else True
    about += [] if cell.pairs == ("joint" if joins else "separate") else [f"pairs {cell.pairs}"]
    name = f"{cell.adaptation} ({', '.join(about)})" if about else cell.adaptation
    return name if cell.head == _usual_head(cell, kind) else f"{name} under {cell.head}"


def _usual_head(cell: ScoredCell, kind: str) -> str:
    """The head of that name `default`; its own for a cell whose encoder is not known."""
    defaults = KINDS[kind].defaults
    like = FAMILIES_OF_ENCODERS[cell.family].like if cell.family else None
    if like not in defaults:
        return cell.head
    return defaults[like][0 if cell.adaptation == paper.FROZEN else 1]


def _names(contents: Mapping[Path, Content]) -> dict[Path, str]:
    """A name for the data of each comparison, with the genre that was chosen of them, and with the
    metric where several score the same."""
    names = {folder: _name(content) for folder, content in contents.items()}
    metrics: dict[str, set[str]] = defaultdict(set)
    of_name: dict[str, tuple[Path, str]] = {}
    for folder, content in contents.items():
        name = names[folder]
        metrics[name].add(content.metric)
        other, dataset = of_name.setdefault(name, (folder, content.dataset))
        if dataset != content.dataset:
            raise ArtifactError(
                f"{folder}: its data ({content.dataset}) and those of {other} ({dataset}) are both "
                f"called {name}; expected other names: rename a file or its folder, or leave one "
                "out"
            )
    return {
        folder: f"{name}, {contents[folder].metric}" if len(metrics[name]) > 1 else name
        for folder, name in names.items()
    }


def _name(content: Content) -> str:
    name = _name_of_data(content.dataset)
    return name if content.genre is None else f"{name}: {content.genre}"


def _name_of_data(dataset: str) -> str:
    if dataset == "sst2_sentences":
        return "SST-2 (sentences)"
    if dataset in paper.NAMED_DATASETS:
        return paper.NAMED_DATASETS[dataset]
    path = Path(dataset)
    return f"{path.parent.name}/{path.stem}" if path.parent.name else path.stem
