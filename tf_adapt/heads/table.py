"""The table of heads: names, kinds of task, and the paper's head for each task and encoder."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import keras

from hub_modules.families import FAMILIES
from tf_adapt.errors import ConfigError
from tf_adapt.heads.bcn import BCN
from tf_adapt.heads.bi_attention import BiAttentionHead
from tf_adapt.heads.concat_pooling import ConcatPoolingHead
from tf_adapt.heads.esim import ESIM
from tf_adapt.heads.linear import LinearHead
from tf_adapt.heads.max_pooling import MaxPoolingHead
from tf_adapt.heads.sentence_pair import SentencePairHead
from tf_adapt.heads.span_extractor import SpanExtractor
from tf_adapt.heads.tagger import Tagger
from tf_adapt.layers.pooling import POOLINGS
from tf_adapt.paper import HEADS as PAPER_HEADS
from tf_adapt.tasks.kinds import MULTILABEL, PAIRS, SPAN_EXTRACTION
from tf_adapt.tasks.span_search import check_reader
from tf_adapt.tasks.tag_constraints import tag_constraints
from tf_adapt.tasks.task import Task


@dataclass(frozen=True)
class Head:
    """A row of the table: the layer, its kinds of task, its arguments that depend on the task."""

    layer: type
    kinds: tuple[str, ...]
    arguments: Callable[[Task], dict] = lambda task: {}
    has_lstm: bool = False
    elmo_layer: type | None = None


def _crf(task: Task) -> dict:
    return {"crf": True, "constraints": tag_constraints(task.labels, task.scheme)}


def _bilstm(task: Task) -> dict:
    # Dropout as in AllenNLP's configuration for ELMo.
    return {"lstm_layers": 2, "dropout": 0.5}


TEXTS = ("classification", MULTILABEL, "regression")
TAGS = ("tagging",)

# The input of `linear` and of the heads for two vectors is the pooled vector, which ELMo and word
# vectors have not, unless a pooling is named. All other heads work on every encoder that has a
# state for each word.
HEADS = {
    "linear": Head(LinearHead, (*TEXTS, *PAIRS), elmo_layer=MaxPoolingHead),
    "max_pooling": Head(MaxPoolingHead, PAIRS, lambda task: {"compared": False}),
    "bi_attention": Head(BiAttentionHead, PAIRS),
    "skip_thoughts": Head(SentencePairHead, PAIRS, lambda task: {"features": "skip_thoughts"}),
    "infersent": Head(SentencePairHead, PAIRS, lambda task: {"features": "infersent"}),
    "bcn": Head(BCN, TEXTS, has_lstm=True),
    "concat_pooling": Head(ConcatPoolingHead, TEXTS),
    "esim": Head(ESIM, PAIRS, has_lstm=True),
    "linear_tagger": Head(Tagger, TAGS),
    "crf": Head(Tagger, TAGS, _crf),
    "bilstm": Head(Tagger, TAGS, _bilstm, has_lstm=True),
    "bilstm_crf": Head(Tagger, TAGS, lambda task: _bilstm(task) | _crf(task), has_lstm=True),
    "span_extractor": Head(SpanExtractor, (SPAN_EXTRACTION,)),
}
ON_VECTORS = ("linear", "skip_thoughts", "infersent")
# The paper has no other tasks on single texts: these get its heads for classification.
DEFAULT_HEADS = {
    (kind, family): heads
    for family in ("elmo", "bert")
    for kind, heads in {
        **dict.fromkeys(TEXTS, PAPER_HEADS["classification", family]),
        SPAN_EXTRACTION: ("span_extractor", "span_extractor"),
    }.items()
} | PAPER_HEADS


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
) -> keras.layers.Layer:
    """A new head by name.

    On a frozen encoder the head's input is a `ScalarMix` of all layers, on a fine-tuned one the top
    layer (Peters, Ruder, Smith 2019, section 3).

    Args:
        name: a key of `HEADS`, or "default": see `DEFAULT_HEADS`.
        family: of the encoder; it takes the heads of the paper's family that it is like.
        frozen: whether the encoder stays frozen for the whole run.
        dropout: dropout rate; by default the published one.
        units: width of each direction of the head's LSTMs; by default the published one.
        joint: whether a pair is encoded as one row.
        pooling: of the head's states to a vector, a key of `POOLINGS`; by default the published
            one. Not for taggers.
        word_pieces: a word's state from those of its pieces, a key of `POOLINGS`; by default
            that of the family, "first" or "last". For taggers only.

    Raises:
        ConfigError: no such head, family or pooling, the head is for other kinds of task or needs
            what the encoder has not, `units` for a head without LSTMs, or a pooling that the head
            does not take.
    """
    if task.is_language_model:
        raise ConfigError(
            "head: a language model has its module's own output layer; expected objective: "
            "language_model, or tf_adapt.models.language_model.build_language_model"
        )
    name = head_name(name, task, family, frozen)
    fitting = [other for other, head in HEADS.items() if task.kind in head.kinds]
    if name not in fitting:
        for_others = f", which is for {' and '.join(HEADS[name].kinds)}" if name in HEADS else ""
        raise ConfigError(
            f"head: expected one of {', '.join(('default', *fitting))} for {task.kind}, "
            f"got {name!r}{for_others}"
        )
    _check_inputs(name, task, family, joint, pooling)
    head = HEADS[name]
    if units is not None and not head.has_lstm:
        raise ConfigError(
            f"head_units: expected none for the head {name}, which has no LSTM, got {units}"
        )
    _check_poolings(name, task, pooling, word_pieces, FAMILIES[family].joins_pairs and joint)
    if name in ON_VECTORS and pooling is not None and not FAMILIES[family].has_words:
        raise ConfigError(
            f"head_pooling: expected none for the head {name} on an encoder of the family "
            f"{family}: it takes one vector for a text; got {pooling}"
        )
    layer = (head.elmo_layer if FAMILIES[family].like == "elmo" else None) or head.layer
    known = inspect.signature(layer).parameters
    implied = {
        "num_outputs": task.num_outputs,
        "mixed": frozen,
        "pair": task.is_pair,
        "regression": task.is_regression,
        "hidden_layer": FAMILIES[family].like == "elmo",
        "word_pieces": FAMILIES[family].word_piece,
    }
    given = {
        "dropout": dropout,
        "units": units,
        "pooling": pooling,
        "word_pieces": word_pieces,
    }
    given = {key: value for key, value in given.items() if value is not None}
    implied = {key: value for key, value in implied.items() if key in known}
    return layer(**implied | head.arguments(task) | given, name="head")


def _check_poolings(
    name: str, task: Task, pooling: str | None, word_pieces: str | None, joint: bool
) -> None:
    given = {"head_pooling": pooling, "head_word_pieces": word_pieces}
    for key, value in given.items():
        if value is not None and value not in POOLINGS:
            raise ConfigError(f"{key}: expected one of {', '.join(POOLINGS)}, got {value!r}")
    if pooling is not None and task.is_span_extraction:
        raise ConfigError(
            f"head_pooling: expected none for the head {name}, which reads each token, got "
            f"{pooling}"
        )
    if pooling is not None and name == "concat_pooling":
        raise ConfigError(
            f"head_pooling: expected none for the head {name}, which takes the last, the maximum "
            f"and the mean of the states together, got {pooling}"
        )
    if pooling is not None and task.is_tagging:
        raise ConfigError(
            f"head_pooling: expected none for the head {name}, which labels each word, got "
            f"{pooling}; a word's state from those of its pieces is head_word_pieces"
        )
    if word_pieces is not None and not task.is_tagging:
        raise ConfigError(
            f"head_word_pieces: expected none for {task.kind}, got {word_pieces}; it is for "
            "tagging, and head_pooling for the others"
        )
    if name == "max_pooling" and joint and pooling in ("first", "last"):
        raise ConfigError(
            f"head_pooling: {pooling} is the state at one end of a row, and both texts are one "
            "row; take head: linear, or encode the texts separately (encoder.pairs: separate)"
        )


def refuse_first_state(key: str, family: str) -> None:
    """Refuses the first state of encoders that have seen no word there.

    Args:
        key: that asks for it, for the message.

    Raises:
        ConfigError: the encoder is an AWD-LSTM.
    """
    if family == "lstm":
        raise ConfigError(
            f"{key}: expected last, mean or max for the family lstm, whose first state is that of "
            "xxbos and the same for every text, got first"
        )


def _check_inputs(name: str, task: Task, family: str, joint: bool, pooling: str | None) -> None:
    """Refuses a head that needs words where there is one vector, or vectors where there is none."""
    about, pairs_of_vectors = FAMILIES[family], name in ON_VECTORS and name != "linear"
    if pooling == "first":
        refuse_first_state("head_pooling", family)
    if not about.has_words and name not in ON_VECTORS:
        fitting = [one for one in ON_VECTORS if task.kind in HEADS[one].kinds]
        raise ConfigError(
            f"head: {name} needs a state for each word, and an encoder of the family {family} has "
            f"one vector for a text; expected one of {', '.join(('default', *fitting))}"
        )
    if pairs_of_vectors and about.like == "elmo" and pooling is None:
        raise ConfigError(
            f"head: {name} takes an encoder's pooled vectors, and one of the family {family} has "
            "none; set head_pooling (mean, max, first, last), or take one of esim, bi_attention, "
            "max_pooling, linear"
        )
    if pairs_of_vectors and joint:
        raise ConfigError(
            f"head: {name} takes the vectors of two texts that are encoded apart; set "
            "pairs='separate' (encoder.pairs)"
        )
    if task.is_span_extraction:
        check_reader(family)
        if about.joins_pairs and not joint:
            raise ConfigError(
                f"head: {name} takes a question and its context as one row, got pairs='separate' "
                "(encoder.pairs); leave it out"
            )
    if name == "linear" and about.joins_pairs and task.is_pair and not joint:
        raise ConfigError(
            "head: linear takes the pooled vector of a row with both texts; with pairs='separate' "
            "(encoder.pairs), and with encoder.long, expected one of esim, bi_attention, "
            "max_pooling, skip_thoughts, infersent"
        )


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
    if not FAMILIES[family].has_words:
        return _name_on_vectors(name, task, family)
    if name != "default":
        return name
    return DEFAULT_HEADS[task.kind, FAMILIES[family].like][0 if frozen else 1]


def _name_on_vectors(name: str, task: Task, family: str) -> str:
    """The name for an encoder with one vector for a text: a linear head, for pairs on
    Skip-thoughts' features."""
    if task.is_tagging or task.is_span_extraction:
        raise ConfigError(
            f"task: {task.kind} needs a state for each word, and an encoder of the family {family} "
            "has one vector for a text; take a BERT, an ELMo or word vectors"
        )
    if name not in ("default", "linear"):
        return name
    return "skip_thoughts" if task.is_pair else "linear"
