"""A teacher's answers to a student's texts: computed once, kept in the run folder, and its scores.

What is known of a teacher is in two functions that take its folder: `answers_of` and
`tf_adapt.runs.teachers.identity_of`.
"""

import functools
import gc
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from hub_modules.native.inference_graph import InferenceGraph
from tf_adapt.config.signal_sections import TeacherConfig
from tf_adapt.data.formats import Record, TaggedSentence
from tf_adapt.data.packing.prepare import prepare
from tf_adapt.data.packing.prepared import PreparedData
from tf_adapt.data.splits.fingerprints import fingerprint
from tf_adapt.data.splits.read_splits import Splits
from tf_adapt.encoder.feature_lock import locked_entry
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.models.adapted_model import AdaptedModel
from tf_adapt.models.signals.teaching import Teaching
from tf_adapt.runs.ensemble_folder import is_ensemble
from tf_adapt.runs.teacher_answers import Answers, read_answers, shared_folder
from tf_adapt.runs.teachers import KEY, Identity, identity_of
from tf_adapt.serving.prediction.predict import batch_predictions
from tf_adapt.tasks.task import Task
from tf_adapt.training.finished.load_run import loaded_run
from tf_adapt.training.kinds import KINDS
from tf_adapt.training.resolving.build import Parts
from tf_adapt.training.resolving.input_hashes import UNLABELLED
from tf_adapt.training.results.finish import costs_of
from tf_adapt.training.results.model_scores import scores_on
from tf_adapt.training.teachers.ensemble_teacher import ensemble_answers
from tf_adapt.training.teachers.unlabelled import read_unlabelled, with_placeholders


def answers_of(
    folder: Path,
    texts: dict[str, list[Record | TaggedSentence]],
    scored: dict[str, list[Record | TaggedSentence]],
    truncate: bool,
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The answers of the teacher in a folder, and its scores and costs; in float32.

    Args:
        texts: lists of examples by name; those without entries are left out.
        scored: examples with labels, by split.
        truncate: whether texts that are too long for it are cut.

    Returns:
        By name logits `[examples, labels]`, of a regression scores `[examples]`, in tagging
        `[words, labels]`; and `facts`, as in `metrics.json` (`run_schemas.Side`).

    Raises:
        ConfigError: its head has a CRF.
        ArtifactError, DataError: it cannot be loaded, or a text is too long for it.
    """
    if is_ensemble(folder):
        return ensemble_answers(folder, texts, scored, truncate)
    model, reading = loaded_run(folder, trust=False)
    if model.decodes:
        raise ConfigError(
            f"{KEY}: expected a teacher whose head scores each word on its own, got {folder} with "
            "a CRF, which scores whole sentences; train one with head: linear_tagger or bilstm"
        )
    outputs = InferenceGraph(model, lambda inputs: {"answers": model(inputs, training=False)})
    size, (max_length, cuts, context) = reading.batch_size, reading.limits
    limits = max_length, truncate or cuts, context
    answers = {
        name: batch_predictions(
            model, prepare(examples, model.task, model.encoder, *limits), size, True, outputs
        )["answers"]
        for name, examples in texts.items()
        if examples
    }
    prepared = {
        split: prepare(examples, model.task, model.encoder, *limits)
        for split, examples in scored.items()
    }
    facts = {
        split: scores_on(model, examples, prepared[split], size)
        for split, examples in scored.items()
    }
    return answers, facts | costs_of(model, prepared["dev"])


@dataclass(frozen=True)
class Lesson:
    """How a student is taught.

    Attributes:
        section: the section `teacher` of its config.
        data: the section of its texts.
        limits: its own, of texts in tokens: see `tf_adapt.data.packing.prepare`.
        cache: the folder of features that several runs share, or None.
    """

    section: TeacherConfig
    data: Any
    limits: tuple[int | None, bool, bool]
    cache: Path | None

    @property
    def teacher(self) -> Path:
        """The folder of the teacher."""
        return Path(self.section.run)

    @property
    def truncate(self) -> bool:
        """Whether texts that are too long for the teacher are cut."""
        return self.limits[1]


def taught(lesson: Lesson, parts: Parts, folder: Path) -> tuple[Parts, Answers]:
    """The parts of a run with the teacher's answers for train and for the unlabelled texts.

    Answers that the run folder or the cache of features holds are used again, if they are of the
    same texts and teacher.

    Args:
        folder: the run folder.

    Raises:
        ConfigError: the teacher is for another task; it, or the student, has a CRF.
        DataError: the unlabelled texts have labels or another form, or a text is too long.
        ArtifactError: the teacher is damaged, or has gone and its answers too.
    """
    section, task = lesson.section, parts.model.task
    check_student(parts.model)
    unlabelled = read_unlabelled(section.unlabelled, UNLABELLED, lesson.data, task)
    splits = replace(parts.splits, unlabelled=unlabelled)
    answers = _kept_answers(lesson, splits, task, folder)
    texts = with_placeholders(splits.examples["train"], unlabelled, task)
    train = parts.data["train"]
    if unlabelled:
        step = train.length_step
        train = prepare(texts, task, parts.model.encoder, *lesson.limits)
        train = replace(train, length_step=step)
    parts.model.teaching = Teaching(task, section.temperature, section.weight)
    data = parts.data | {"train": _with_answers(train, answers, splits, task)}
    return replace(parts, splits=splits, data=data), answers


def in_metrics(section: TeacherConfig, splits: Splits, answers: Answers) -> dict[str, Any]:
    """How a run is taught, as `metrics.json` shows it; its own side is missing yet."""
    return {
        "run": section.run,
        "hash": answers.teacher,
        "temperature": section.temperature,
        "weight": section.weight,
        "unlabelled": len(splits.unlabelled),
        "teacher": answers.facts,
    }


def check_student(model: AdaptedModel) -> None:
    """Refuses a student with a CRF.

    Raises:
        ConfigError: it has one.
    """
    if model.decodes:
        raise ConfigError(
            "head: expected one without a CRF together with teacher, whose answers are compared "
            "word by word, got the default one, which has a CRF; take linear_tagger or bilstm"
        )


def check_teacher(folder: str, student: AdaptedModel) -> None:
    """Checks the teacher in a folder, and a student, without asking the teacher.

    Raises:
        ConfigError, ArtifactError: as `check_student`, `identity_of` and `check_task`.
    """
    check_student(student)
    check_task(student.task, Task(**identity_of(Path(folder)).task), folder)


def check_task(task: Task, teacher: Task, folder: str) -> None:
    """Checks that a teacher is for the student's task.

    Raises:
        ConfigError: its kind or its labels are others.
    """
    expected, got = task.get_config(), teacher.get_config()
    for what in ("kind", "labels"):
        wanted, other = expected[what], got[what]
        if wanted != other:
            raise ConfigError(
                f"{KEY}: expected a teacher with the {what} of the data, {_listed(wanted)}, got "
                f"{folder} with {_listed(other)}; train it on data with the same labels, in the "
                "same order"
            )


def _kept_answers(lesson: Lesson, splits: Splits, task: Task, folder: Path) -> Answers:
    """The answers in the run folder, else those that other runs keep in the cache of features, else
    new ones."""
    teacher = lesson.teacher
    texts = {"train": splits.examples["train"], "unlabelled": splits.unlabelled}
    scored = {name: splits.examples[name] for name in ("dev", "test") if name in splits.examples}
    of_texts = {name: fingerprint(examples) for name, examples in (texts | scored).items()}
    of_texts["truncate"] = str(lesson.truncate)
    kept = read_answers(folder)
    gone = kept is not None and not teacher.exists()
    if not gone:
        identity = identity_of(teacher)
        check_task(task, Task(**identity.task), str(teacher))
        if kept is None or kept.teacher != identity.hash:
            kept = None
    if kept is not None and kept.texts == of_texts:
        return kept
    if gone:
        identity_of(teacher)  # says what is missing
    asked = functools.partial(_asked, lesson, identity, of_texts, texts, scored)
    if lesson.cache is None:
        return asked()
    shared = shared_folder(lesson.cache, identity.hash, of_texts)
    with locked_entry(shared):  # other runs wait for the answers
        kept = read_answers(shared)
        if kept is None:
            kept = asked()
            kept.keep(shared)
    return kept


def _asked(
    lesson: Lesson, identity: Identity, of_texts: dict[str, str], texts: dict, scored: dict
) -> Answers:
    """The teacher's answers, computed now."""
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("float32")
    try:
        arrays, facts = answers_of(lesson.teacher, texts, scored, lesson.truncate)
    finally:
        keras.config.set_dtype_policy(policy)
        gc.collect()  # a model has reference cycles
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise DataError(
                f"{KEY}: expected finite answers, got some of {lesson.teacher} to {name} that are "
                "not; train the teacher again with a lower training.learning_rate"
            )
    return Answers(identity.hash, of_texts, arrays, facts)


def _with_answers(
    train: PreparedData, answers: Answers, splits: Splits, task: Task
) -> PreparedData:
    arrays = [answers.arrays[name] for name in ("train", "unlabelled") if name in answers.arrays]
    values, known = KINDS[task.kind].teacher_rows(
        np.concatenate(arrays).astype("float32"), train, splits.examples["train"]
    )
    labelled = tf.constant(known.astype("float32")) if splits.unlabelled else None
    return replace(train, teacher=values, labelled=labelled)


def _listed(value: Any) -> str:
    return value if isinstance(value, str) else ", ".join(value or ()) or "none"
