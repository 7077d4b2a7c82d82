"""A general small encoder from a large one: the whole distillation, from module to module."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from hub_modules.export import write_module
from tf_adapt.data.packing.piece_rows import PieceRows
from tf_adapt.data.running_text import RunningText, read_running_text
from tf_adapt.errors import ConfigError
from tf_adapt.runs import run_folder
from tf_adapt.training.distilling.card import distillation_card
from tf_adapt.training.distilling.display import DistillationDisplay
from tf_adapt.training.distilling.loop import DistillationState, held_out_losses, run_steps
from tf_adapt.training.distilling.pieces import read_pieces
from tf_adapt.training.distilling.settings import DistillationSettings
from tf_adapt.training.distilling.steps import DistillationSteps
from tf_adapt.training.distilling.student import (
    Teacher,
    build_encoders,
    read_teacher,
    student_source,
)
from tf_adapt.version import __version__

HISTORY = "history.csv"


def distill_module(
    teacher: str | os.PathLike,
    keep_layers: Sequence[int],
    texts: Sequence[str | os.PathLike],
    out: str | os.PathLike,
    trust: bool = False,
    progress: bool = False,
    **settings,
) -> Path:
    """Makes a small BERT of some of a large one's layers, and writes it as a module.

    The student begins with the teacher's embeddings and the layers `keep_layers`, and learns on
    running text to give the teacher's states: see `DistillationSteps` for the losses, and
    `matched_layers` for which layer gives which states. A smaller vocabulary is a subset of the
    teacher's; teacher and student read the same pieces, the student's.

    The folder `OUT.distilling` beside `out` holds checkpoints and `history.csv` (steps, minutes,
    losses) until the module is whole: the same call goes on there after a kill. With `steps` the
    result is then bitwise that of a call that was never interrupted (on one machine, with the same
    versions).

    Args:
        teacher: handle of a BERT that runs natively.
        keep_layers: numbers of its layers, from 0, bottom to top.
        texts: files of running text, one paragraph a line; `.gz` is unpacked.
        out: new folder of the module.
        trust: as in `HubEncoder`.
        progress: show a progress bar.
        settings: `steps` (updates) or `minutes` (time for training, over all parts), and of the
            others those that differ: `vocabulary=None` (number of word pieces; all),
            `batch_size=16` (rows of the whole length), `length=128` (pieces of the longest rows),
            `learning_rate=5e-4` (the highest), `warmup=0.05` (share of the training), `decay`
            ("linear" or "cosine"), `seed=0` (of the order of the text), `precision` (None or
            "bfloat16"), `stored_as` ("float32" or "float16"): see `DistillationSettings`.

    Returns:
        `out`.

    Raises:
        ArtifactError: `out` exists, the teacher is missing or damaged, or its checkpoints are of
            another distillation.
        ConfigError: a setting is out of range, or the teacher is no BERT with these layers.
        DataError: a text is missing, empty, too short, or in another script.
        TrainingError: the loss is not finite.

    Source: Sanh et al. 2019, "DistilBERT"; Wang et al. 2021, "MiniLMv2".
    """
    values = DistillationSettings(keep_layers=tuple(keep_layers), **settings)
    out = Path(out)
    work = out.with_name(f"{out.name}.distilling")
    if _is_published(out, work):  # killed between publishing and tidying up
        shutil.rmtree(work)
        return out
    run_folder.check_new(out)
    source = read_teacher(teacher, values.keep_layers, trust)
    if values.length > source.config["max_positions"]:
        raise ConfigError(
            f"length: expected at most the teacher's {source.config['max_positions']} positions, "
            f"got {values.length}"
        )
    text = read_running_text(texts)
    keras.utils.set_random_seed(values.seed)
    tf.config.experimental.enable_op_determinism()
    with run_folder.locked(work):
        _distill(source, text, values, out, work, DistillationDisplay(progress), progress)
    shutil.rmtree(work)
    return out


def _is_published(out: Path, work: Path) -> bool:
    histories = [folder / HISTORY for folder in (out, work)]
    return all(path.is_file() for path in histories) and (
        histories[0].read_bytes() == histories[1].read_bytes()
    )


def _distill(
    teacher: Teacher,
    text: RunningText,
    settings: DistillationSettings,
    out: Path,
    work: Path,
    display: DistillationDisplay,
    progress: bool,
) -> None:
    where = ", ".join(text.hashes)
    pieces = read_pieces(
        text.paragraphs, teacher.vocabulary, teacher.lower_case, settings, where, progress
    )
    whole, student = build_encoders(teacher, pieces.kept, settings.keep_layers, settings.precision)
    steps = DistillationSteps(whole, student, settings.keep_layers)
    special = [teacher.vocabulary.index(piece) for piece in ("[CLS]", "[SEP]")]
    ids = [int(np.searchsorted(pieces.kept, number)) for number in special]
    train, held_out = (
        PieceRows(part, settings.batch_size, settings.length, *ids, settings.seed)
        for part in (pieces.train, pieces.held_out)
    )
    state = DistillationState(_identity(teacher, text, settings))
    state = run_steps(work, steps, train, held_out, settings, state, display)
    module = student_source(teacher, pieces.kept, student)
    if settings.stored_as == "float16":
        for weight in student.weights:  # the losses in the card are those of what is stored
            weight.assign(weight.numpy().astype(np.float16).astype(np.float32))
    card = distillation_card(
        out.name,
        teacher,
        settings,
        text,
        pieces.held_out_paragraphs,
        state,
        held_out_losses(steps, held_out),
        len(pieces.kept),
    )
    history = (work / HISTORY).read_text("utf-8")
    write_module(module, out, {"README.md": card, HISTORY: history}, settings.stored_as)


def _identity(
    teacher: Teacher, text: RunningText, settings: DistillationSettings
) -> dict[str, Any]:
    values = asdict(settings) | {"keep_layers": list(settings.keep_layers)}
    values.pop("stored_as")  # decides nothing before the end
    return {
        "tf_adapt": __version__,
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "teacher": teacher.hash,
        "texts": text.hashes,
        **values,
    }
