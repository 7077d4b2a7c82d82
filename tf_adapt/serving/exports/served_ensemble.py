"""An ensemble as one SavedModel: every member's text processing and weights, and one answer."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

import tensorflow as tf

from hub_modules.by_family.encoder_module import save_module
from hub_modules.manifest import module_hash
from hub_modules.native.added.lora import merged
from hub_modules.programs.trusted import remember
from hub_modules.storage.files import publish_folder
from tf_adapt.data.packing.prepare import check_document_context, checked_limit
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.combination import Combination
from tf_adapt.serving.exports.export import ServedModel, describe_and_seal
from tf_adapt.serving.exports.kinds import KINDS


def export_ensemble(
    models: Sequence[tuple[AdaptedModel, int | None, bool, bool]],
    combination: Combination,
    folder: Path,
    data: dict | None = None,
    card: str | None = None,
) -> Path:
    """Writes `folder` as `tf_adapt.export` does, with the answers of the combination.

    Args:
        models: each with its `max_length`, `truncate` and `document_context`.

    Raises:
        ArtifactError: the folder exists or cannot be written.
        ConfigError: a `max_length` is out of range, or the models write texts.
    """
    KINDS[combination.task.kind].check_other()
    with publish_folder(folder) as aside, contextlib.ExitStack() as stack:
        served = []
        for model, max_length, truncate, document_context in models:
            if document_context:
                check_document_context(model.task, model.encoder)
            stack.enter_context(merged(model.encoder))
            limit = checked_limit(max_length, model.encoder)
            served.append(ServedModel(model, limit, truncate, document_context))
        module = ServedEnsemble(served, combination)
        save_module(module, aside, {"serving_default": module.signature()})
        describe_and_seal(aside, combination.task, data, card)
    remember(module_hash(folder))
    return folder


class ServedEnsemble(ServedModel):
    """Raw text → labels and scores of an ensemble, with the signature of a `ServedModel`."""

    def __init__(self, members: list[ServedModel], combination: Combination):
        # Not those of one model: variables and tables are the members'.
        tf.__internal__.tracking.AutoTrackable.__init__(self)
        self.members = members
        chain = combination.chain
        self.variables = [] if chain is None else [chain.transitions.value]
        self.labels = members[0].labels
        self._predict = EnsembleFromText([member.from_text for member in members], combination)


class EnsembleFromText:
    """An ensemble's predictions for raw text, in the graph: see `ModelFromText`."""

    def __init__(self, members: list, combination: Combination):
        self.task = combination.task
        self._members = members
        self._combination = combination

    def predict(self, texts: list | tf.RaggedTensor) -> dict:
        """See `ModelFromText`."""
        answers = [member.predict(texts) for member in self._members]
        return KINDS[self.task.kind].combined(self._combination, answers, texts)
