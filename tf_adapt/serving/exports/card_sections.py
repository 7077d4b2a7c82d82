"""The sections of a model card that say how a model came about: data, scores, adaptation, costs."""

from dataclasses import dataclass
from typing import Any

from tf_adapt.printing import words
from tf_adapt.printing.weak_labels import weak_in_words
from tf_adapt.runs.finished_run import chain_in_words


@dataclass(frozen=True)
class Origin:
    """How a model came about.

    Attributes:
        data: the name of its data; of several tasks those of the target.
        file_format: of files of the user's own.
        encoder: the handle of its module.
        max_length, truncate: how long texts are read.
        other_tasks: which it learned beside the target.
        prompts: what is put before each text, or before the two of a pair.
    """

    data: str
    file_format: str | None
    encoder: str
    adaptation: str
    learning_rate: float
    batch_size: int
    max_length: int | None
    truncate: bool
    other_tasks: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()


@dataclass(frozen=True)
class OverSeeds:
    """The score of a comparison's cell: mean and standard deviation over the seeds that trained.

    Attributes:
        seeds: that trained; 0: all failed, and the score is that of the failed ones.
        folds: of a cross-validation, of which the seeds are repeats; 0: there is none.
    """

    seeds: int
    mean: float | None
    deviation: float | None
    folds: int = 0


def data_text(origin: Origin, metrics: dict[str, Any] | None) -> str:
    """What the model was trained and scored on."""
    lines = []
    if origin.file_format is not None:
        lines.append(f"- {origin.file_format} files of the user's own")
    for split, description in (metrics or {}).get("splits", {}).items():
        cut = (metrics or {}).get("truncated", {}).get(split, 0)
        note = f"; {cut:,} texts were cut at the limit" if cut else ""
        lines.append(f"- {split}: {words.visible(description)}{note}")
    return "\n".join(lines) or "- not recorded: the run was not finished"


# Scores that are not shares, from 0 to 1.
_NO_SHARES = ("loss", "perplexity", "log_probability", "bleu")


def scores_text(metrics: dict[str, Any] | None, over_seeds: OverSeeds | None) -> str:
    """A table of the scores on dev and test."""
    if metrics is None:
        return "The run was not finished: no score."
    lines, unscaled = ["| split | metric | score |", "| --- | --- | --- |"], ["loss"]
    for split in ("dev", "test"):
        for name, value in (metrics.get(split) or {}).items():
            shown = words.score(value)
            if name in _NO_SHARES and value is not None:
                shown = f"{value:.4f}"
                unscaled.append(words.metric_name(name))
            lines.append(f"| {split} | {words.metric_name(name)} | {shown} |")
    but = ", ".join(dict.fromkeys(unscaled))
    text = "\n".join(lines) + f"\n\nScores × 100 (but the {but}), of one seed ({metrics['seed']})"
    text += ". The epoch was chosen on dev, so its scores are a little too good."
    if over_seeds is not None:
        text += _of_comparison(over_seeds, words.metric_name(metrics["metric"]))
    return text


def _of_comparison(over: OverSeeds, metric: str) -> str:
    reached = f"{metric} {words.mean_and_deviation(over.mean, over.deviation)}"
    name = "repeat" if over.folds else "seed"
    seeds = words.counted(over.seeds, name) if over.seeds else f"all {name}s"
    failed = "" if over.seeds else ", each of which failed"
    if not over.folds:
        return f" Over {seeds} of the comparison that it comes from{failed}: {reached} on test."
    return (
        f" The model is trained on all examples but those of dev. In the comparison that it comes "
        f"from the same procedure has {reached} on examples that a model did not see "
        f"({seeds} of {over.folds} folds{failed})."
    )


def label_scores_text(metrics: dict[str, Any] | None) -> str:
    """A table of the scores of each label on test, or on dev where there is no test."""
    qualities = (metrics or {}).get("quality") or {}
    split = next((name for name in ("test", "dev") if name in qualities), None)
    labels = qualities[split].get("labels") if split else None
    if not labels:
        return ""
    lines = ["| label | precision | recall | F1 | true in |", "| --- | --- | --- | --- | --- |"]
    for name, of in labels.items():
        ratios = " | ".join(words.score(of[ratio]) for ratio in ("precision", "recall", "f1"))
        lines.append(f"| {words.visible(name)} | {ratios} | {of['support']:,} |")
    text = "\n".join(lines) + f"\n\nScores × 100 on {split}."
    measured = qualities[split].get("calibration")
    if measured is None:
        return text
    return (
        f"{text} Expected calibration error of the probabilities: {words.score(measured['ece'])}."
    )


def adaptation_text(origin: Origin, metrics: dict[str, Any] | None) -> str:
    """How the model was trained, a line each."""
    lines = [
        f"- encoder: {words.visible(origin.encoder)}"
        + (f" (SHA-256 {metrics['module'][:12]}…)" if metrics else ""),
        f"- {origin.adaptation}, learning rate {origin.learning_rate:g}, batches of "
        f"{origin.batch_size}",
    ]
    if metrics:
        of = metrics["parameters"]
        if metrics.get("start"):
            lines.append(f"- starts from {chain_in_words(metrics['start'])}")
        if metrics.get("taught"):
            taught = metrics["taught"]
            lines.append(
                f"- learned from the answers of {words.visible(taught['run'])} "
                f"({taught['teacher']['parameters']:,} parameters; weight {taught['weight']:g})"
            )
        if metrics.get("weak"):
            lines.append(f"- {weak_in_words(metrics['weak'])}")
        lines += [
            f"- best of {metrics['epochs']} epochs: {metrics['best_epoch']}; head: "
            f"{metrics.get('head') or 'none'}{_reads(metrics)}",
            f"- {of['trainable']:,} of {of['total']:,} parameters were trained",
        ]
        if metrics.get("forgetting"):
            lines.append(f"- {words.forgetting_in_words(metrics['forgetting'])}")
    return "\n".join(lines)


def _reads(metrics: dict[str, Any]) -> str:
    return f", which reads {metrics['reads']}" if metrics.get("reads") else ""


def costs_text(metrics: dict[str, Any] | None) -> str:
    """Time and memory."""
    if metrics is None:
        return ""
    seconds = metrics["seconds"]
    lines = [f"- training: {seconds.get('training', 0):,.0f} s, on the machine that trained it"]
    if "serving_per_1000" in seconds:
        lines.append(f"- 1,000 texts of dev: {seconds['serving_per_1000']:g} s, in batches of 32")
    lines.append(f"- most memory while training: {metrics['peak_memory_mb']:,.0f} MB")
    return "\n".join(lines)
