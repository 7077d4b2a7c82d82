"""An ensemble's answers to a student's texts, as logits, and its scores and costs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.packing.prepare import prepare
from tf_adapt.errors import ConfigError
from tf_adapt.runs.teachers import KEY
from tf_adapt.serving.prediction.ensemble import Ensemble, Member, scores
from tf_adapt.serving.prediction.predict import to_predictions
from tf_adapt.training.ensembles.load_ensemble import loaded_ensemble
from tf_adapt.training.kinds import KINDS
from tf_adapt.training.results.finish import costs_of


def ensemble_answers(
    folder: Path,
    texts: dict[str, list[Record | TaggedSentence]],
    scored: dict[str, list[Record | TaggedSentence]],
    truncate: bool,
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """As `tf_adapt.training.teachers.teacher.answers_of`; costs are sums over the members.

    Logits are those of the ensemble's probabilities p: `log p`, of sets of labels `log p/(1 − p)`.

    Raises:
        ConfigError: it decodes with a CRF.
        ArtifactError, DataError: as `load_ensemble` and `Ensemble.answer`.
    """
    ensemble = _cutting(loaded_ensemble(folder, trust=False)[0], truncate)
    if ensemble.combination.decodes:
        raise ConfigError(
            f"{KEY}: expected a teacher that scores each word on its own, got {folder} with the "
            "mean of CRFs, which scores whole sentences; make an ensemble of runs with head: "
            "linear_tagger or bilstm, or one of votes"
        )
    task = ensemble.task
    answers = {
        name: KINDS[task.kind].teacher_logits(ensemble.answer(examples, progress=True))
        for name, examples in texts.items()
        if examples
    }
    facts: dict[str, Any] = {
        split: scores(task, examples, to_predictions(task, examples, ensemble.answer(examples)))
        for split, examples in scored.items()
    }
    costs = [_costs(member, scored["dev"]) for member in ensemble.members]
    return answers, facts | {name: sum(cost[name] for cost in costs) for name in costs[0]}


def _cutting(ensemble: Ensemble, truncate: bool) -> Ensemble:
    """The ensemble, whose members cut texts that are too long if `truncate`, or as they did."""
    members = []
    for member in ensemble.members:
        max_length, cuts, document_context = member.limits
        limits = (max_length, truncate or cuts, document_context)
        members.append(replace(member, limits=limits))
    return replace(ensemble, members=members)


def _costs(member: Member, dev: list[Record | TaggedSentence]) -> dict[str, Any]:
    model = member.model
    return costs_of(model, prepare(dev, model.task, model.encoder, *member.limits))
