"""The table of heads: their layers, and how one is built by name."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras

from hub_modules.families import FAMILIES
from hub_modules.pooling_names import refuse_first_state
from tf_adapt.errors import ConfigError
from tf_adapt.heads.asked import Asked
from tf_adapt.heads.bcn import BCN
from tf_adapt.heads.bi_attention import BiAttentionHead
from tf_adapt.heads.concat_pooling import ConcatPoolingHead
from tf_adapt.heads.esim import ESIM
from tf_adapt.heads.kinds import KINDS, kinds_of
from tf_adapt.heads.linear import LinearHead
from tf_adapt.heads.max_pooling import MaxPoolingHead
from tf_adapt.heads.names import LSTM_HEADS, ON_VECTORS, SIMILARITY_HEADS
from tf_adapt.heads.reading import reading
from tf_adapt.heads.sentence_pair import SentencePairHead
from tf_adapt.heads.similarity import SimilarityHead, of_scores
from tf_adapt.heads.span_extractor import SpanExtractor
from tf_adapt.heads.tagger import Tagger
from tf_adapt.layers.pooling import POOLINGS
from tf_adapt.tasks.tag_constraints import tag_constraints
from tf_adapt.tasks.task import Task


@dataclass(frozen=True)
class Head:
    """A row of the table: the layer, and its arguments that depend on the task.

    Which kinds of task it fits is in `tf_adapt.heads.kinds`.
    """

    layer: type
    arguments: Callable[[Task], dict] = lambda task: {}
    elmo_layer: type | None = None


def _crf(task: Task) -> dict:
    return {"crf": True, "constraints": tag_constraints(task.labels, task.scheme)}


def _bilstm(task: Task) -> dict:
    # Dropout as in AllenNLP's configuration for ELMo.
    return {"lstm_layers": 2, "dropout": 0.5}


HEADS = {
    "linear": Head(LinearHead, elmo_layer=MaxPoolingHead),
    "max_pooling": Head(MaxPoolingHead, lambda task: {"compared": False}),
    "bi_attention": Head(BiAttentionHead),
    "skip_thoughts": Head(SentencePairHead, lambda task: {"features": "skip_thoughts"}),
    "infersent": Head(SentencePairHead, lambda task: {"features": "infersent"}),
    "cosine": Head(SimilarityHead, functools.partial(of_scores, "cosine")),
    "euclidean": Head(SimilarityHead, functools.partial(of_scores, "euclidean")),
    "bcn": Head(BCN),
    "concat_pooling": Head(ConcatPoolingHead),
    "esim": Head(ESIM),
    "linear_tagger": Head(Tagger),
    "crf": Head(Tagger, _crf),
    "bilstm": Head(Tagger, _bilstm),
    "bilstm_crf": Head(Tagger, lambda task: _bilstm(task) | _crf(task)),
    "span_extractor": Head(SpanExtractor),
}


def build_head(
    name: str,
    task: Task,
    family: str,
    frozen: bool,
    dropout: float | None = None,
    units: int | None = None,
    joint: bool = True,
    pooling: str | None = None,
    word_pieces: str | None = None,
    mixed: bool | None = None,
    scaled: bool | None = None,
) -> keras.layers.Layer:
    """A new head by name; what it reads by default is in `tf_adapt.heads.reading`.

    Args:
        name: a key of `HEADS`, or "default": see `tf_adapt.heads.kinds.KINDS`.
        family: of the encoder; it takes the heads of the paper's family that it is like.
        frozen: whether the encoder stays frozen for the whole run.
        dropout: dropout rate; by default the published one.
        units: width of each direction of the head's LSTMs; by default the published one.
        joint: whether a pair is encoded as one row.
        pooling: of the head's states to a vector, a key of `POOLINGS`; by default the published
            one. Not for taggers.
        word_pieces: a word's state from those of its pieces, a key of `POOLINGS`; by default
            that of the family, "first" or "last". For taggers only.
        mixed, scaled: as for `reading`.

    Raises:
        ConfigError: no such head, family or pooling, the head is for other kinds of task or needs
            what the encoder has not, `units` for a head without LSTMs, or a pooling that the head
            does not take; as `reading`.
    """
    row = KINDS[task.kind]
    row.check_kind()
    name = head_name(name, task, family, frozen)
    if name not in row.heads:
        for_others = f", which is for {' and '.join(kinds_of(name))}" if name in HEADS else ""
        raise ConfigError(
            f"head: expected one of {', '.join(('default', *row.heads))} for {task.kind}, "
            f"got {name!r}{for_others}"
        )
    asked = Asked(name, task.kind, family, joint, pooling, word_pieces)
    _check_inputs(asked, row.heads)
    head = HEADS[name]
    if units is not None and name not in LSTM_HEADS:
        raise ConfigError(
            f"head_units: expected none for the head {name}, which has no LSTM, got {units}"
        )
    _check_poolings(asked)
    row.check(asked)
    if name in ON_VECTORS and pooling is not None and not FAMILIES[family].has_words:
        raise ConfigError(
            f"head_pooling: expected none for the head {name} on an encoder of the family "
            f"{family}: it takes one vector for a text; got {pooling}"
        )
    reads = reading(name, family, frozen, pooling, mixed, scaled)
    layer = (head.elmo_layer if FAMILIES[family].is_like_elmo else None) or head.layer
    known = inspect.signature(layer).parameters
    implied = {
        "num_outputs": task.num_outputs,
        "mixed": reads.mixed,
        "scaled": reads.scaled,
        **row.arguments,
        "hidden_layer": FAMILIES[family].is_like_elmo,
        "word_pieces": FAMILIES[family].word_piece,
    }
    given = {
        "dropout": dropout,
        "units": units,
        "pooling": reads.pooling,
        "word_pieces": word_pieces,
    }
    given = {key: value for key, value in given.items() if value is not None}
    implied = {key: value for key, value in implied.items() if key in known}
    return layer(**implied | head.arguments(task) | given, name="head")


def _check_poolings(asked: Asked) -> None:
    given = {"head_pooling": asked.pooling, "head_word_pieces": asked.word_pieces}
    for key, value in given.items():
        if value is not None and value not in POOLINGS:
            raise ConfigError(f"{key}: expected one of {', '.join(POOLINGS)}, got {value!r}")
    if asked.pooling is not None and asked.name == "concat_pooling":
        raise ConfigError(
            f"head_pooling: expected none for the head {asked.name}, which takes the last, the "
            f"maximum and the mean of the states together, got {asked.pooling}"
        )
    is_one_row = FAMILIES[asked.family].joins_pairs and asked.joint
    if asked.name == "max_pooling" and is_one_row and asked.pooling in ("first", "last"):
        raise ConfigError(
            f"head_pooling: {asked.pooling} is the state at one end of a row, and both texts are "
            "one row; take head: linear, or encode the texts separately (encoder.pairs: separate)"
        )


def _check_inputs(asked: Asked, fitting: tuple[str, ...]) -> None:
    """Refuses a head that needs words where there is one vector, or vectors where there is none."""
    name, family, about = asked.name, asked.family, FAMILIES[asked.family]
    pairs_of_vectors = name in ON_VECTORS and name != "linear"
    if asked.pooling == "first":
        refuse_first_state("head_pooling", family)
    if not about.has_words and name not in ON_VECTORS:
        on_vectors = [kind for kind in ON_VECTORS if kind in fitting]
        raise ConfigError(
            f"head: {name} needs a state for each word, and an encoder of the family {family} has "
            f"one vector for a text; expected one of {', '.join(('default', *on_vectors))}"
        )
    has_pooling = asked.pooling is not None or name in SIMILARITY_HEADS
    if pairs_of_vectors and about.is_like_elmo and not has_pooling:
        raise ConfigError(
            f"head: {name} takes an encoder's pooled vectors, and one of the family {family} has "
            "none; set head_pooling (mean, max, first, last), or take one of esim, bi_attention, "
            "max_pooling, linear, cosine"
        )
    if pairs_of_vectors and asked.joint:
        raise ConfigError(
            f"head: {name} takes the vectors of two texts that are encoded apart; set "
            "pairs='separate' (encoder.pairs)"
        )


def head_reads(given: dict[str, Any], task: Task, family: str, frozen: bool) -> str:
    """What a head by name reads, as a phrase.

    Args:
        given: `name`, `pooling`, `mixed`, `scaled`, as of `reading`.
    """
    name = head_name(given["name"], task, family, frozen)
    return reading(**given | {"name": name}, family=family, frozen=frozen).words


def head_name(name: str, task: Task, family: str, frozen: bool) -> str:
    """The name of a head with "default" resolved: see `build_head`.

    Raises:
        ConfigError: there is no default for this family of encoders, or it can do no tagging.
    """
    if family not in FAMILIES:
        raise ConfigError(
            f"encoder family: expected one of {', '.join(FAMILIES)}, got {family!r}; "
            "pass a head of your own to build_model"
        )
    row, has_words = KINDS[task.kind], FAMILIES[family].has_words
    if has_words and name == "default":
        return row.defaults[FAMILIES[family].like][0 if frozen else 1]
    if has_words:
        return name
    # One vector for a text: a linear head, for pairs on Skip-thoughts' features.
    default = row.on_vectors(task.kind, family)
    return default if name in ("default", "linear") else name
