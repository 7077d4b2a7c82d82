"""Members of an ensemble that differ in more than their seeds, as a signal of a comparison.

    compare:
      signals:
        mixed: {members: [{}, {training: {learning_rate: 5.0e-5}}, {encoder: {handle: cased}}]}

Imports no TensorFlow.
"""

import json
from typing import Any

from hub_modules.storage.strict_yaml import KeyPath
from tf_adapt.comparison.plan.sections import MemberSettings, SignalSettings
from tf_adapt.comparison.plan.signals import KEY, laid_over
from tf_adapt.config.messages import Problems
from tf_adapt.config.paths import resolve_paths
from tf_adapt.config.reading import checked_config
from tf_adapt.runs.ensemble_folder import WEIGHTS

Values = tuple[tuple[str, Any], ...]
# Keys of heads that change their weights.
_OF_HEAD_WEIGHTS = ("head_pooling", "head_word_pieces", "head_mixed", "head_scaled")
# Sections that a run's config always has; of others the whole value is set.
_ALWAYS = ("encoder", "optimizer", "schedule", "auxiliary", "penalties", "training")


def check_members(signals: dict[str, SignalSettings], problems: Problems) -> None:
    """Checks what goes together with `members`, and `combine`, in each signal."""
    for name, signal in signals.items():
        _check(signal, (*KEY, name), problems)


def _check(signal: SignalSettings, path: KeyPath, problems: Problems) -> None:
    if signal.members and (signal.ensemble or signal.leave_out_parts):
        problems.add(
            (*path, "members"),
            "expected null together with ensemble or leave_out_parts, got a list: each entry is "
            "one member; remove one of them",
        )
    if signal.combine and not signal.together:
        problems.add(
            (*path, "combine"),
            f"expected null without ensemble, leave_out_parts or members, got {signal.combine}",
        )
    for number, member in enumerate(signal.members or ()):
        if signal.combine == WEIGHTS:
            _check_weights(signal, number, (*path, "members", number), problems)
        if member.training.strategy is not None:
            problems.add(
                (*path, "members", number, "training", "strategy"),
                "expected null in a comparison, whose runs are processes of one machine, got "
                f"{member.training.strategy}",
            )
        if member.start is not None and member.start.config is not None:
            problems.add(
                (*path, "members", number, "start", "config"),
                "expected null, and the folder of a finished run in start.run: a member's first "
                "task is trained before the comparison",
            )


def _check_weights(signal: SignalSettings, number: int, path: KeyPath, problems: Problems) -> None:
    """Checks that a member's weights correspond to those of the others, as far as keys tell."""
    member = signal.members[number]
    starts = [
        one.start if "start" in one.model_fields_set else signal.start
        for one in (signal.members[0], member)
    ]
    others = {
        "encoder": bool(member.encoder.model_fields_set - {"trust"}),
        "start": starts[0] != starts[1],
        **{key: key in member.model_fields_set for key in _OF_HEAD_WEIGHTS},
    }
    for key, is_another in others.items():
        if is_another:
            problems.add(
                (*path, key),
                f"expected the {key} of the cell together with combine: weights, whose means "
                "are of the same weights, got another; take probabilities or votes",
            )


def values_of_members(
    content: dict[str, Any], signal: SignalSettings, problems: Problems
) -> tuple[Values, ...]:
    """What each member sets in its cell's config, by key; every member is checked as a run.

    Args:
        content: of the cell.
    """
    return tuple(
        _values(content, member, problems.within(f"{problems.where} (member {number})"))
        for number, member in enumerate(signal.members or ())
    )


def _values(content: dict[str, Any], member: MemberSettings, problems: Problems) -> Values:
    given = member.model_dump(exclude_unset=True)
    config = checked_config(laid_over(content, given), problems)
    if config is None:
        return ()
    resolved = resolve_paths(config).model_dump()  # with whole paths
    values: dict[str, Any] = {}
    for key, value in given.items():
        if key in _ALWAYS:
            values |= {f"{key}.{inner}": resolved[key][inner] for inner in value}
        else:
            values[key] = resolved[key]
    return tuple(values.items())


def arguments_of(values: Values) -> list[str]:
    """A member's keys, for `tf-adapt train`."""
    texts = (f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in values)
    return [part for text in texts for part in ("--set", text)]


def in_words(members: tuple[Values, ...]) -> str:
    """`{}, {training.learning_rate: 5e-05}`."""
    shown = (", ".join(f"{key}: {json.dumps(value)}" for key, value in one) for one in members)
    return ", ".join(f"{{{one}}}" for one in shown)
