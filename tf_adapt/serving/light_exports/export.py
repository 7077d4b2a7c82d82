"""Writes trained models as a folder that needs no TensorFlow: see `tf_adapt.light.layout`."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hub_modules.engines.compiled_graph import in_8_bits
from hub_modules.manifest import write_manifest
from hub_modules.manifest_schemas import LIGHT_EXPORT
from hub_modules.storage.files import publish_folder
from tf_adapt.data.packing.prepare import check_document_context, checked_limit
from tf_adapt.data.packing.span_extraction import check_stride
from tf_adapt.errors import ConfigError
from tf_adapt.light.layout import FORMAT, LIGHT, TOKENIZERS, Answers, Chain, LightFile, Model
from tf_adapt.light.packages import check_installed
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.combination import Combination
from tf_adapt.models.kinds import refuse_language_model
from tf_adapt.runs.export_files import DEFAULT, TASKS
from tf_adapt.runs.run_folder import TASK
from tf_adapt.serving.exports.kinds import KINDS as EXPORTS
from tf_adapt.serving.exports.model_card import CARD, light_card
from tf_adapt.serving.exports.shared_export import ServedTask, check_shared
from tf_adapt.serving.light_exports.graphs import check_convertible, graph_of
from tf_adapt.serving.light_exports.readers import ReaderFiles, reader_of
from tf_adapt.serving.light_exports.weights import write_graphs

INT8 = "int8"


def export_light(
    tasks: Mapping[str, ServedTask], folder: Path, card: str, precision: str | None = None
) -> Path:
    """Writes `folder` with the models of tasks; weights that several have are stored once.

    Args:
        tasks: by name; `serving_default` of one.
        folder: where no folder is yet.
        card: of a SavedModel with the same tasks.
        precision: "int8" for weights in 8 bits; else the models' own, float32 or bfloat16.

    Raises:
        ArtifactError: the folder exists or cannot be written.
        ConfigError: a model is one that OpenVINO or the reader cannot hold; a package is missing.
    """
    if tasks.keys() != {DEFAULT}:
        check_shared(tasks)
    answers = {name: Answers(models=[number], weights=[1.0]) for number, name in enumerate(tasks)}
    described = {
        name: {"task": task.model.task.get_config(), "data": task.data}
        for name, task in tasks.items()
    }
    return _write(list(tasks.values()), answers, described, folder, card, precision)


def export_light_ensemble(
    members: Sequence[ServedTask], combination: Combination, folder: Path, data: Any, card: str
) -> Path:
    """As `export_light`, of an ensemble; `members` in the order of the combination."""
    used = [number for number, weight in enumerate(combination.weights) if weight]
    chain = None
    if combination.decodes:
        chain = _chain(combination.chain)
    answers = Answers(
        models=list(range(len(used))),
        weights=[float(combination.weights[number]) for number in used],
        votes=combination.votes,
        chain=chain,
    )
    described = {DEFAULT: {"task": combination.task.get_config(), "data": data}}
    served = [members[number] for number in used]
    return _write(served, {DEFAULT: answers}, described, folder, card, None)


def _write(
    members: Sequence[ServedTask],
    answers: dict[str, Answers],
    described: dict[str, dict],
    folder: Path,
    card: str,
    precision: str | None,
) -> Path:
    for member in members:
        EXPORTS[member.model.task.kind].check_other()
    check_installed("openvino", *(["nncf"] if precision == INT8 else []))
    files = ReaderFiles()
    settings = [_settings(member, precision, files) for member in members]
    with publish_folder(folder) as aside:
        graphs = (_graph(member.model, precision) for member in members)
        paths = write_graphs(graphs, aside)
        models = [
            Model(graph=path, **of_model) for path, of_model in zip(paths, settings, strict=True)
        ]
        content = LightFile(format=FORMAT, models=models, tasks=answers)
        (aside / LIGHT).write_text(content.model_dump_json(), "utf-8")
        (aside / TOKENIZERS).mkdir()
        for path, text in files.content.items():
            (aside / path).write_text(text, "utf-8")
        alone = described.get(DEFAULT)
        name, of_tasks = (TASKS, {"tasks": described}) if alone is None else (TASK, alone)
        (aside / name).write_text(json.dumps(of_tasks, ensure_ascii=False), "utf-8")
        kinds = {name: about["task"]["kind"] for name, about in described.items()}
        # What a model computes in is on the card already.
        rounded = precision if precision == INT8 else None
        (aside / CARD).write_text(light_card(card, kinds, rounded), "utf-8")
        write_manifest(aside, {"kind": LIGHT_EXPORT})
    return folder


def _settings(member: ServedTask, precision: str | None, files: ReaderFiles) -> dict[str, Any]:
    """What `light.json` says of a model, but its graph."""
    model, encoder = member.model, member.model.encoder
    refuse_language_model(model.task)
    if member.document_context:
        check_document_context(model.task, encoder)
    check_convertible(encoder)
    reader = reader_of(encoder, files)
    limit = checked_limit(member.max_length, encoder)
    search = model.task.spans
    if search is not None:
        check_stride(search, limit - encoder.preprocessor.special_tokens(2), limit)
    return {
        "precision": precision or _computed(model),
        "reader": reader,
        "joint": encoder.joint_pairs,
        "prompts": list(encoder.prompts),
        "max_length": limit,
        "truncate": member.truncate,
        "answer_words": None if search is None else files.answer_words(),
        "document_context": member.document_context,
        "chain": _chain(model.head.chain) if model.decodes else None,
    }


def _graph(model: AdaptedModel, precision: str | None) -> Any:
    graph = graph_of(model)
    return in_8_bits(graph) if precision == INT8 else graph


def _computed(model: AdaptedModel) -> str:
    """The precision that a model computes in.

    Raises:
        ConfigError: it is another than float32 and bfloat16.
    """
    computed = model.encoder.compute_dtype
    if computed not in ("float32", "bfloat16"):
        raise ConfigError(
            f"format openvino: expected a model in float32 or bfloat16, got {computed}; load its "
            "run with tf_adapt.load_run, or leave --format out"
        )
    return computed


def _chain(layer: Any) -> Chain:
    transitions = layer.transitions.numpy().astype("float64").tolist()
    allowed = layer.constraints and [list(map(bool, row)) for row in layer.constraints]
    return Chain(transitions=transitions, allowed=allowed)
