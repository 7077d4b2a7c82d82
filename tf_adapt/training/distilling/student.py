"""Teacher and student of a distillation, from the teacher's module."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import keras
import numpy as np

from hub_modules.export import native_encoder
from hub_modules.families import FAMILIES
from hub_modules.find import find_module
from hub_modules.kept_layers import check_keep_layers, kept_config, kept_weights
from hub_modules.licence_notes import licence_notes
from hub_modules.load import load_module, module_text_settings
from hub_modules.sources import ModuleSource
from tf_adapt.errors import ConfigError

WORDS = "embeddings/word_embeddings"


@dataclass(frozen=True)
class Teacher:
    """A teacher's module as plain data.

    Attributes:
        name: of its folder.
        hash: of its files.
        licence: what the README of its module says of licences; None: nothing.
    """

    name: str
    hash: str
    config: dict
    weights: dict[str, np.ndarray]
    vocabulary: list[str]
    lower_case: bool
    licence: str | None


def read_teacher(handle: str | os.PathLike, keep_layers: Sequence[int], trust: bool) -> Teacher:
    """Reads the module of a teacher and checks that it has these layers.

    Raises:
        ArtifactError: as `load_module`.
        ConfigError: it is no BERT that runs natively with a vocabulary, or has not these layers.
    """
    loaded = load_module(handle, trust=trust)
    settings = module_text_settings(handle) if FAMILIES[loaded.family].distillable else None
    if loaded.execution != "native" or settings is None:
        raise ConfigError(
            f"teacher {handle}: expected a BERT that runs natively and brings its vocabulary, got "
            f"one of the family {loaded.family} (execution {loaded.execution}); convert a BERT's "
            "weights with `tf-adapt module convert`, or use encoder.keep_layers without "
            "distillation"
        )
    config = loaded.encoder.get_config()
    check_keep_layers(keep_layers, config["num_layers"], f"teacher {handle}")
    left_out = {"name", "trainable", "dtype"}
    return Teacher(
        name=Path(os.fspath(handle)).name,
        hash=loaded.hash,
        config={key: value for key, value in config.items() if key not in left_out},
        weights={n: weight.numpy() for n, weight in loaded.encoder.weights_by_name().items()},
        vocabulary=settings["vocabulary"],
        lower_case=settings["lower_case"],
        licence=licence_notes(find_module(handle)),
    )


def with_pieces(teacher: Teacher, kept: np.ndarray) -> tuple[dict, dict[str, np.ndarray]]:
    """Config and weights of the teacher with the word embeddings of `kept` pieces alone.

    It gives what the whole teacher gives on the same pieces, in the student's numbering.
    """
    config = teacher.config | {"vocabulary_size": len(kept)}
    return config, teacher.weights | {WORDS: teacher.weights[WORDS][kept]}


def build_encoders(
    teacher: Teacher, kept: np.ndarray, keep_layers: Sequence[int], precision: str | None
) -> tuple[keras.layers.Layer, keras.layers.Layer]:
    """The frozen teacher, and the student with the teacher's embeddings and kept layers.

    The student's position embeddings stay as they are, for rows may later be longer than those of
    the distillation, and so does its pooler, which the losses do not reach.
    """
    dtype = f"mixed_{precision}" if precision else "float32"
    config, weights = with_pieces(teacher, kept)
    whole = native_encoder("bert", config, dtype=dtype, name="teacher")
    whole.load_weights_by_name(weights)
    whole.trainable = False
    kept_layers = kept_config(config, keep_layers, f"teacher {teacher.name}")
    student = native_encoder("bert", kept_layers, dtype=dtype, name="student")
    student.load_weights_by_name(kept_weights(weights, keep_layers))
    student.embeddings.position_embeddings.trainable = False
    student.pooler.trainable = False
    return whole, student


def student_source(teacher: Teacher, kept: np.ndarray, student) -> ModuleSource:
    """The student as what a module is written from."""
    return ModuleSource(
        "bert",
        with_pieces(teacher, kept)[0] | {"num_layers": student.num_layers},
        {name: weight.numpy() for name, weight in student.weights_by_name().items()},
        vocabulary=[teacher.vocabulary[number] for number in kept],
        lower_case=teacher.lower_case,
    )
