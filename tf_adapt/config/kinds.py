"""Kinds of task → what a config of such a task may not have. Imports no TensorFlow."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from hub_modules.storage.strict_yaml import KeyPath
from tf_adapt.config.signal_sections import AuxiliaryConfig
from tf_adapt.data.slices import words_of

# Key → the message about a value that is refused, with its `{got}` and the `{kind}`.
Refused = Mapping[KeyPath, str]
# The perturbations that keep the words of a sentence where they are.
IN_PLACE = ("dropout", "mask", "noise", "adversarial", "views")
_CONSISTENCY = ("auxiliary", "consistency")


@dataclass(frozen=True)
class Row:
    """What a config of a kind of task may not have.

    Args:
        refused: keys.
        refused_with_consistency: keys, where there is a section `auxiliary.consistency`.
        refused_among_tasks: keys, where there are several tasks.
        refused_rules: of slices.
        perturbations: those that fit; none: any, and a file of paraphrases.
        words: a word of a slice → the words that it is read as.
        required: keys that must have a value, with the message where they have none.
    """

    refused: Refused
    refused_with_consistency: Refused = field(default_factory=dict)
    refused_among_tasks: Refused = field(default_factory=dict)
    refused_rules: Mapping[str, str] = field(default_factory=dict)
    perturbations: tuple[str, ...] = ()
    words: Callable[[str], list[str]] = words_of
    required: Refused = field(default_factory=dict)


_NO_SPANS: Refused = {
    ("data", "spans"): "expected null for {kind}; it is for kind: span_extraction"
}
_WRITTEN = "expected null for {kind}; it is for kind: text_generation"
_NO_DECODER: Refused = {("encoder", "decoder"): _WRITTEN, ("generation",): _WRITTEN}
_NO_WORD_PIECES: Refused = {
    ("head_word_pieces",): "expected null for {kind}, got {got}; it is for tagging, and "
    "head_pooling for the others"
}
_NO_THRESHOLDS: Refused = {
    ("training", "choose_thresholds"): "expected false where an example has one label ({kind}), "
    "got true; it is for kind: multilabel_classification and kind: span_extraction"
}
_NO_CLASS_WEIGHT: Refused = {
    ("training", "class_weight"): "expected null for {kind}, which has no labels; remove the key"
}
_OF_ONE_LABEL: Refused = {
    ("weak",): "expected null for {kind}, got a section; votes are for classification and "
    "pair_classification, where an example has one label of several",
    ("slice_heads",): "expected false together with {kind}, got true: they are for classification "
    "and pair_classification",
}
_NO_OVERLAP = {
    "word_overlap_above": "expected null for {kind}, whose examples are no pairs; remove the key"
}
_NO_MISTAKES = {
    "wrong_in": "expected null for {kind}, where no prediction is simply wrong; remove the key"
}
_NOT_SUPPORTED = "not supported for kind: {kind}; remove it"

_NO_PROMPTS = {
    ("encoder", "prompts"): "expected null for {kind}, which reads words, not whole texts, got "
    "{got}"
}
_REINITIALISE = ("adaptation", "reinitialise")
_NO_NEW_LAYERS: Refused = {
    _REINITIALISE: "expected null for {kind}, whose pretrained output layer reads these layers, "
    "got {got}; remove the key"
}
_ALONE: Refused = {
    ("data",): "expected another kind than {kind}, which is trained alone; take it out"
}
_OF_NO_LABEL: Refused = (
    _NO_SPANS
    | _NO_WORD_PIECES
    | _NO_THRESHOLDS
    | _NO_CLASS_WEIGHT
    | _OF_ONE_LABEL
    | {
        ("teacher",): _NOT_SUPPORTED,
        ("encoder", "classification_token"): _NOT_SUPPORTED,
        ("training", "document_context"): _NOT_SUPPORTED,
        ("head_pooling",): _NOT_SUPPORTED,
        ("head_mixed",): _NOT_SUPPORTED,
        ("head_scaled",): _NOT_SUPPORTED,
        ("head_dropout",): _NOT_SUPPORTED,
        ("head_units",): _NOT_SUPPORTED,
    }
    | {("auxiliary", name): _NOT_SUPPORTED for name in AuxiliaryConfig.model_fields}
)


_CLASSIFICATION = Row(
    _NO_DECODER | _NO_SPANS | _NO_WORD_PIECES | _NO_THRESHOLDS,
    refused_rules=_NO_OVERLAP,
)
_REGRESSION = Row(
    _NO_DECODER | _NO_SPANS | _NO_WORD_PIECES | _NO_THRESHOLDS | _NO_CLASS_WEIGHT | _OF_ONE_LABEL,
    refused_with_consistency={
        _CONSISTENCY: "expected null for {kind}, whose predictions are no probabilities; remove "
        "the section"
    },
    refused_rules=_NO_OVERLAP | _NO_MISTAKES,
)
KINDS = {
    "classification": _CLASSIFICATION,
    "multilabel_classification": Row(
        _NO_DECODER | _NO_SPANS | _NO_WORD_PIECES | _OF_ONE_LABEL,
        refused_with_consistency={
            (*_CONSISTENCY, "signal_annealing"): "expected null for {kind}, got {got}; it is for "
            "one label of several"
        },
        refused_rules=_NO_OVERLAP,
    ),
    "regression": _REGRESSION,
    "pair_classification": replace(_CLASSIFICATION, refused_rules={}),
    "pair_regression": replace(_REGRESSION, refused_rules=_NO_MISTAKES),
    "tagging": Row(
        _NO_DECODER
        | _NO_SPANS
        | _NO_THRESHOLDS
        | _OF_ONE_LABEL
        | _NO_PROMPTS
        | {
            ("head_pooling",): "expected null for {kind}, whose heads label each word, got {got}; "
            "head_word_pieces says which pieces of a word stand for it",
            ("head_scaled",): "expected null for {kind}, whose heads label each word, got true",
        },
        refused_rules=_NO_OVERLAP,
        perturbations=IN_PLACE,
        words=lambda word: word.casefold().split(),
    ),
    "span_extraction": Row(
        _NO_DECODER
        | _NO_WORD_PIECES
        | _NO_CLASS_WEIGHT
        | _NO_PROMPTS
        | {
            ("training", "document_context"): "expected false for {kind}, whose contexts are read "
            "in windows, got true",
            ("encoder", "long"): "expected null for {kind}, which has windows of its own "
            "(data.spans), got a section",
            ("head_pooling",): "expected null for {kind}, whose head reads each token, got {got}",
            ("head_scaled",): "expected null for {kind}, whose head reads each token, got true",
            ("teacher",): _NOT_SUPPORTED,
            ("weak",): _NOT_SUPPORTED,
            ("slice_heads",): _NOT_SUPPORTED,
        }
        | {("auxiliary", name): _NOT_SUPPORTED for name in AuxiliaryConfig.model_fields},
        refused_among_tasks=_ALONE,
        refused_rules=_NO_OVERLAP,
    ),
    "dialog": Row(
        _NO_DECODER
        | _NO_PROMPTS
        | _NO_NEW_LAYERS
        | _OF_NO_LABEL
        | {("encoder", "long"): _NOT_SUPPORTED},
        refused_among_tasks=_ALONE,
        refused_rules=_NO_OVERLAP | _NO_MISTAKES,
    ),
    "text_generation": Row(
        _OF_NO_LABEL | {_REINITIALISE: _NOT_SUPPORTED},
        refused_among_tasks=_ALONE,
        refused_rules=_NO_OVERLAP | _NO_MISTAKES,
        required={
            ("encoder", "decoder"): "expected a causal module, which writes the text, but the key "
            "is missing; take lm_small or a GPT-2"
        },
    ),
    "language_model": Row(
        _NO_DECODER
        | _NO_THRESHOLDS
        | _NO_CLASS_WEIGHT
        | _OF_ONE_LABEL
        | _NO_PROMPTS
        | _NO_NEW_LAYERS,
        refused_among_tasks={
            ("data", "format"): "expected labelled data, got text; a language model is trained "
            "alone, with data and objective: language_model"
        },
    ),
}
