"""Several tasks in one SavedModel: a signature each, and the encoder's weights once."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from hub_modules.by_family.encoder_module import save_module
from hub_modules.manifest import module_hash, write_manifest
from hub_modules.native.kernels.half_kernels import half_layers
from hub_modules.programs.trusted import remember
from hub_modules.storage.files import publish_folder
from tf_adapt.data.packing.prepare import check_document_context, checked_limit
from tf_adapt.encoder.hub_encoder import HubEncoder
from tf_adapt.errors import ConfigError
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.kinds import refuse_language_model
from tf_adapt.runs.export_files import DEFAULT, TASKS
from tf_adapt.serving.exports.export import EXPORT, ServedModel
from tf_adapt.serving.exports.kinds import KINDS
from tf_adapt.serving.exports.model_card import CARD, shared_card

NAME = re.compile(r"[A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class ServedTask:
    """A model that becomes a signature; the other arguments are those of `tf_adapt.export`."""

    model: AdaptedModel
    max_length: int | None = None
    truncate: bool = False
    data: dict | None = None
    document_context: bool = False


def export_shared(tasks: dict[str, ServedTask], folder: str | os.PathLike) -> Path:
    """Writes `folder` as a SavedModel with a signature for each task, named by the keys of `tasks`.

    A signature has the inputs and outputs of the task's own `tf_adapt.export`, and its answers. A
    weight of the encoder that is the same to the bit in several models is stored, and in memory,
    once: all of a frozen encoder; all but the adapters, or biases, of encoders that differ by them
    alone; the lower layers where only upper ones were trained.

    Args:
        tasks: two or more, by name: letters, digits and the characters _ . -; not
            `serving_default`, which is the task of an export of one.
        folder: where no folder is yet.

    Raises:
        ConfigError: fewer than two tasks, a name that no signature can have, a language model, a
            model that writes texts, a model in half precision, encoders of different modules, or a
            model whose encoder has no weight in common with the others.
        ArtifactError: the folder exists or cannot be written.
    """
    folder = Path(folder)
    check_shared(tasks)
    served = _served(tasks)
    with publish_folder(folder) as aside:
        module = tf.__internal__.tracking.AutoTrackable()
        for model in served.values():
            model.add_parts()
        module.tasks = served
        save_module(module, aside, {name: model.signature() for name, model in served.items()})
        described = {
            name: {"task": task.model.task.get_config(), "data": task.data}
            for name, task in tasks.items()
        }
        content = json.dumps({"tasks": described}, ensure_ascii=False)
        (aside / TASKS).write_text(content, "utf-8")
        kinds = {name: task.model.task.kind for name, task in tasks.items()}
        (aside / CARD).write_text(shared_card(kinds), "utf-8")
        write_manifest(aside, {"kind": EXPORT})
    remember(module_hash(folder))
    return folder


def check_shared(tasks: Mapping[str, ServedTask]) -> None:
    """Checks that tasks can share an encoder.

    Raises:
        ConfigError: see `export_shared`.
    """
    if len(tasks) < 2:
        raise ConfigError(
            f"shared encoder: expected at least two tasks, got {len(tasks)}; one is exported "
            "without --shared-encoder (tf_adapt.export)"
        )
    first_name, first = next(iter(tasks.items()))
    for name, task in tasks.items():
        model, encoder = task.model, task.model.encoder
        if not NAME.fullmatch(name) or name == DEFAULT:
            raise ConfigError(
                f"task {name!r}: expected letters, digits and the characters _ . - for the name of "
                f"a signature, and not {DEFAULT}; give it another one, as NAME=RUN"
            )
        refuse_language_model(model.task)
        KINDS[model.task.kind].check_other()
        if encoder.module_hash != first.model.encoder.module_hash:
            raise ConfigError(
                f"task {name}: expected an encoder of the module of {first_name} "
                f"({first.model.encoder.handle}), got one of {encoder.handle}; only tasks on one "
                "module can share an encoder"
            )
        if encoder.prompts != first.model.encoder.prompts:
            raise ConfigError(
                f"task {name}: expected the prompts of {first_name} "
                f"({list(first.model.encoder.prompts)}), which are put before each text, got "
                f"{list(encoder.prompts)}; export it alone"
            )
        if half_layers(model):
            raise ConfigError(
                f"task {name}: expected a model in float32, got one that computes in "
                f"{encoder.compute_dtype}; load its run with tf_adapt.load_run"
            )
        if task.document_context:
            check_document_context(model.task, encoder)


def _served(tasks: dict[str, ServedTask]) -> dict[str, ServedModel]:
    """The tasks' signatures, in which equal weights of their encoders are one variable."""
    first = next(iter(tasks.values())).model.encoder
    weights = {name: _weights(task.model.encoder) for name, task in tasks.items()}
    stored = {}
    served = {}
    for name, task in tasks.items():
        others = set().union(*(weights[other] for other in tasks if other != name))
        if not weights[name].keys() & others:
            raise ConfigError(
                f"task {name}: expected an encoder with weights in common with another task's, got "
                "one in which every weight differs, as after fine-tuning; export it alone, or "
                "train with feature_extraction, adapters, lora, bitfit or top_layers"
            )
        model, given = task.model, []
        if first.execution == "saved_model":
            # A program reads its own variables: it can be shared as a whole only.
            if weights[name].keys() != weights[next(iter(tasks))].keys():
                raise ConfigError(
                    f"task {name}: expected the very weights of the first task's encoder, which "
                    "runs as its module's own program, got others; train with execution: native, "
                    "or with feature_extraction"
                )
            model = AdaptedModel(model.task, first, model.head)
        else:
            for key, weight in weights[name].items():
                variable = stored.setdefault(key, weight.value)
                given += [] if variable is weight.value else [(weight, variable)]
        served[name] = ServedModel(
            model,
            checked_limit(task.max_length, model.encoder),
            task.truncate,
            task.document_context,
            given,
            # The tables of the vocabulary are in it.
            first.preprocessor,
        )
    return served


def _weights(encoder: HubEncoder) -> dict[tuple[str, str], keras.Variable]:
    """The weights of an encoder by name and content."""
    if encoder.execution == "saved_model":
        named = {weight.name: weight for weight in encoder.native.module_weights}
    else:
        named = encoder.native.weights_by_name()
    return {(name, _digest(weight)): weight for name, weight in named.items()}


def _digest(weight: keras.Variable) -> str:
    array = np.ascontiguousarray(weight.numpy())
    kind = f"{array.dtype.str} {array.shape} ".encode()
    return hashlib.sha256(kind + array.tobytes()).hexdigest()
