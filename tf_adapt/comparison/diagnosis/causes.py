"""The causes that a diagnosis knows: what makes each suspected, and the counter-run without it.

Imports no TensorFlow.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hub_modules.families import FAMILIES
from hub_modules.storage.files import write_text
from hub_modules.storage.strict_yaml import float_text
from tf_adapt.comparison.diagnosis import thresholds as limits
from tf_adapt.comparison.diagnosis.evidence import CHOSEN_ON, Evidence
from tf_adapt.comparison.plan.cells import HIGHER, LOWER
from tf_adapt.comparison.verdict.training_ended import CHANCE, at_an_edge, rises
from tf_adapt.config.default_training import LINEAR_HEADS, default_rates
from tf_adapt.data.formats import Record
from tf_adapt.data.in_memory.files import Form, file_columns, file_text
from tf_adapt.heads.kinds import KINDS
from tf_adapt.heads.names import LSTM_HEADS
from tf_adapt.heads.reading import reading
from tf_adapt.paper import FROZEN
from tf_adapt.printing.words import score

# Config keys → values.
Settings = dict[str, Any]
# How much a counter-run has of what may be too little.
TIMES_RATE, TIMES_EPOCHS, FROZEN_EPOCHS, WARMUP = 10.0, 4, 10, 0.1
MOST_EPOCHS = 50  # of few examples, each evaluated and saved
TIMES_UNITS, HEAD_UNITS = 4, 64


@dataclass(frozen=True)
class Row:
    """A cause.

    Attributes:
        title: as a phrase.
        symptom: a run → what makes the cause suspected, as a phrase; None: nothing does.
        settings: a run, a folder for files → the keys of the config that its counter-run has
            otherwise; None: the cause cannot be removed from this run. A cause without is named by
            its symptom alone.
        confirms: the gain of the counter-run in points, `[difference, low, high]` → whether it
            names the cause.
    """

    title: str
    symptom: Callable[[Evidence], str | None]
    settings: Callable[[Evidence, Path], Settings | None] | None
    confirms: Callable[[list[float]], bool] = lambda gain: gain[0] >= limits.GAIN and gain[1] > 0


def _first(*phrases: str | None) -> str | None:
    return next((phrase for phrase in phrases if phrase), None)


def _at_chance(run: Evidence) -> str | None:
    if run.one_answer:
        return "one answer to everything"
    if run.score <= run.baseline + CHANCE * run.point:
        return f"{score(run.score)} on dev, the baseline has {score(run.baseline)}"
    return None


def _change(run: Evidence) -> float | None:
    """The change of the training loss from the first to the last epoch, as a share of the first."""
    losses = run.losses
    return losses[-1] / losses[0] - 1 if len(losses) > 1 and losses[0] else None


def _from_to(run: Evidence) -> str:
    return f"the training loss goes from {run.losses[0]:.3f} to {run.losses[-1]:.3f}"


def _hardly_falls(run: Evidence) -> str | None:
    change = _change(run)
    if change is None or not -limits.LITTLE_FALL <= change <= limits.RISE:
        return None
    return f"{_from_to(run)} only"


def _rises(run: Evidence) -> str | None:
    change = _change(run)
    return _from_to(run) if change is not None and change > limits.RISE else None


def _edge(run: Evidence, end: str) -> str | None:
    shortfall = at_an_edge(run.tried, run.rate, run.point)
    return shortfall.why if shortfall and shortfall.adds == end else None


def _far_above(run: Evidence) -> str | None:
    highest = run.rates[-1]
    if run.rate <= limits.FAR_FROM_DEFAULT * highest:
        return None
    return f"{run.rate:g} is far above the default rates, at most {highest:g}"


def _far_below(run: Evidence) -> str | None:
    lowest = run.rates[0]
    if run.rate * limits.FAR_FROM_DEFAULT >= lowest:
        return None
    return f"{run.rate:g} is far below the default rates, at least {lowest:g}"


def _rate_too_high(run: Evidence) -> str | None:
    if _far_below(run):
        return None
    return _first(_at_chance(run), _far_above(run), _rises(run), _edge(run, LOWER))


def _rate_too_low(run: Evidence) -> str | None:
    if _far_above(run):
        return None
    return _first(_far_below(run), _hardly_falls(run), _edge(run, HIGHER))


def _too_few_steps(run: Evidence) -> str | None:
    few = f"{run.steps} steps" if run.steps < limits.FEW_STEPS else None
    still = "the score on dev still rises" if rises([run.curve], run.point) else None
    return _first(still, few)


def _collapsed(run: Evidence) -> str | None:
    if run.one_answer:
        return "one answer to everything"
    if run.is_frozen or run.encoder_gradient > limits.VANISHED:
        return None
    return f"the encoder's part of the gradient is {run.encoder_gradient:.1%} of it at the end"


def _forgetting(run: Evidence) -> str | None:
    distance = (run.metrics.get("distances") or {}).get("all", 0.0)
    if run.is_frozen or distance < limits.FAR_FROM_START:
        return None
    return f"the encoder's weights have moved by {distance:.0%} of their length"


def _unscaled_states(run: Evidence) -> str | None:
    head, reads = run.metrics.get("head"), run.metrics.get("reads") or "states"
    if not run.is_frozen or head is None or "standardised" in reads:
        return None
    takes_scale = reading(head, run.metrics["family"], frozen=True).scaled
    return f"the head reads {reads} as they are" if takes_scale else None


def _head_too_small(run: Evidence) -> str | None:
    """It learns, but does not fit; one that hardly learns, or at no such rate, says nothing of its
    head: the counter-run has another rate too."""
    losses = run.losses
    does_not_learn = _rate_too_low(run) or _far_above(run) or _rises(run)
    if not run.is_frozen or len(losses) < 2 or does_not_learn:
        return None
    if losses[-1] < limits.UNFIT_LOSS * losses[0]:
        return None
    return (
        f"the training loss stays at {losses[-1]:.3f}, {losses[-1] / losses[0]:.0%} of the first "
        "epoch's"
    )


def _noisy_labels(run: Evidence) -> str | None:
    examples = run.splits.examples["train"]
    # What is written has no set of labels.
    if run.splits.weak is not None or run.splits.labels is None:
        return None
    if not all(isinstance(one.target, str) for one in examples):
        return None
    check = run.labels
    if check.dev - check.train < limits.LABEL_GAP or check.z < limits.LABEL_GAP_Z:
        return None
    return (
        f"cross-validated answers agree with {check.train:.0%} of the labels of train and with "
        f"{check.dev:.0%} of those of dev"
    )


def _other_domain(run: Evidence) -> str | None:
    if "test" not in run.splits.examples:
        return None
    area, low, high = run.domain_auc
    if low < limits.OTHER_DOMAIN:
        return None
    return (
        f"TF-IDF tells texts of test from those of train with an area under the ROC curve of "
        f"{area:.2f} (95 % {low:.2f} to {high:.2f})"
    )


def _middle(rates: list[float]) -> float:
    return rates[len(rates) // 2]


def _lower_rate(run: Evidence, folder: Path) -> Settings:
    """The nearest default rate, of a run within the defaults a tenth."""
    rate = run.rates[-1] if _far_above(run) else run.rate / TIMES_RATE
    return {"training.learning_rate": rate}


def _higher_rate(run: Evidence, folder: Path) -> Settings:
    """The nearest default rate, of a run within the defaults ten times its own."""
    rate = run.rates[0] if _far_below(run) else run.rate * TIMES_RATE
    return {"training.learning_rate": rate}


def _more_epochs(run: Evidence, folder: Path) -> Settings:
    a_pass = run.steps / run.metrics["epochs"]
    wanted = min(MOST_EPOCHS, -(-2 * limits.FEW_STEPS // a_pass))
    epochs = max(TIMES_EPOCHS * run.config.training.epochs, wanted)
    return {"training.epochs": int(epochs)}


def _gentle_start(run: Evidence, folder: Path) -> Settings:
    """The recipe of Mosbach et al. 2021: a small rate, reached by warm-up, and more steps."""
    training = run.config.training
    return _lower_rate(run, folder) | {
        "training.warmup": max(WARMUP, training.warmup),
        "training.epochs": 2 * training.epochs,
    }


def _frozen(run: Evidence, folder: Path) -> Settings:
    """Without what needs an encoder that is trained."""
    config = run.config
    rates = sorted(default_rates(config.encoder.handle, FROZEN, config.head))
    given = [f"penalties.{name}" for name, penalty in config.penalties if penalty is not None]
    return {
        "adaptation": {"name": FROZEN},
        "training.learning_rate": _middle(rates),
        "training.epochs": max(FROZEN_EPOCHS, config.training.epochs),
        **dict.fromkeys(given),
        **_no_slice_heads(run),
    }


def _no_slice_heads(run: Evidence) -> Settings:
    return {"slice_heads": False} if run.config.slice_heads else {}


def _scaled(run: Evidence, folder: Path) -> Settings:
    return {"head_scaled": True}


def _larger_head(run: Evidence, folder: Path) -> Settings | None:
    config = run.config
    if config.head_units is not None:
        return {"head_units": max(HEAD_UNITS, TIMES_UNITS * config.head_units)}
    family = FAMILIES[run.metrics["family"]]
    larger = KINDS[run.splits.kind].defaults[family.like][0]
    if config.head not in LINEAR_HEADS or not family.has_words or larger not in LSTM_HEADS:
        return None
    rates = sorted(default_rates(config.encoder.handle, FROZEN, "default"))
    return {
        "head": "default",
        "head_units": HEAD_UNITS,
        "head_pooling": None,
        "head_scaled": None,
        "training.learning_rate": _middle(rates),
    }


def _without_suspicious(run: Evidence, folder: Path) -> Settings:
    """The data as files, train without the labels that are likely errors."""
    splits = run.splits
    train = [
        example
        for example, doubted in zip(splits.examples["train"], run.suspicious, strict=True)
        if not doubted
    ]
    form = Form(splits.kind, tuple(splits.labels))
    section: Settings = dict(form.section) | {"labels": splits.labels, "metric": splits.metric}
    for name, examples in (("train", train), (CHOSEN_ON, splits.examples[CHOSEN_ON])):
        text = file_text([_row(example) for example in examples], form, None, name)
        path = folder / f"{name}.{form.file_format}"
        write_text(path, text)
        section |= {name: str(path), "columns": file_columns(text, form)}
    return {"data": section, "slices": {}, **_no_slice_heads(run)}


def _row(example: Record) -> tuple:
    texts = example.texts
    return (texts[0] if len(texts) == 1 else texts, example.label)


CAUSES = {
    "rate_too_high": Row("the learning rate is too high", _rate_too_high, _lower_rate),
    "rate_too_low": Row("the learning rate is too low", _rate_too_low, _higher_rate),
    "too_few_steps": Row("too few steps", _too_few_steps, _more_epochs),
    "collapsed": Row("the training collapsed", _collapsed, _gentle_start),
    "forgetting": Row("tuning lost what was pretrained", _forgetting, _frozen),
    "unscaled_states": Row("the states are not scaled", _unscaled_states, _scaled),
    "head_too_small": Row("the head is too small", _head_too_small, _larger_head),
    "noisy_labels": Row(
        "labels of train are noisy",
        _noisy_labels,
        _without_suspicious,
        # What is left out are labels too: without noise there is a loss.
        lambda gain: gain[0] >= limits.NOTHING_LOST,
    ),
    "other_domain": Row("train and test are of other domains", _other_domain, None),
}


def overrides(settings: Settings) -> list[str]:
    """Settings as values of `--set`."""
    return [f"{key}={_yaml(value)}" for key, value in settings.items()]


def _yaml(value: Any) -> str:
    # YAML 1.1 reads the 1e-05 of JSON as a text.
    if isinstance(value, float):
        return float_text(value)
    return json.dumps(value, ensure_ascii=False)
