"""The heads of each kind of task. Imports no TensorFlow."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tf_adapt.heads.asked import Asked
from tf_adapt.heads.by_kind import classification, language_model, span_extraction, tagging
from tf_adapt.heads.names import SIMILARITY_HEADS
from tf_adapt.paper import HEADS as PAPER_HEADS


def of_paper(kind: str) -> dict[str, tuple[str, str]]:
    """The paper's heads of a kind, by family: on a frozen encoder and on a tuned one."""
    return {family: heads for (other, family), heads in PAPER_HEADS.items() if other == kind}


@dataclass(frozen=True)
class Row:
    """The heads of a kind of task.

    Args:
        heads: those that fit, keys of `tf_adapt.heads.table.HEADS`.
        defaults: by the paper's family that an encoder is like, on a frozen and on a tuned one.
        on_vectors: the default on encoders with one vector for a text, from kind and family.
        arguments: of the heads, where they take them.
        check: refuses what a head cannot read.
        check_kind: refuses kinds without a head.
        contrastive: the head of contrastive tuning; None: there is none.
    """

    heads: tuple[str, ...]
    defaults: Mapping[str, tuple[str, str]]
    on_vectors: Callable[[str, str], str] = lambda kind, family: "linear"
    arguments: Mapping[str, object] = field(default_factory=dict)
    check: Callable[[Asked], None] = classification.check_text
    check_kind: Callable[[], None] = lambda: None
    contrastive: str | None = None


def _pair(kind: str, contrastive: str | None = None, **arguments) -> Row:
    return Row(
        (
            "linear",
            "max_pooling",
            "bi_attention",
            "skip_thoughts",
            "infersent",
            *SIMILARITY_HEADS,
            "esim",
        ),
        of_paper(kind),
        lambda kind, family: "skip_thoughts",
        arguments={"pair": True, **arguments},
        check=classification.check_pair,
        contrastive=contrastive,
    )


# The paper has no other tasks on single texts: these get its heads for classification.
_OF_TEXTS = Row(("linear", "bcn", "concat_pooling"), of_paper("classification"))
KINDS = {
    "classification": replace(_OF_TEXTS, contrastive="linear"),
    "multilabel_classification": _OF_TEXTS,
    "regression": Row(_OF_TEXTS.heads, _OF_TEXTS.defaults, arguments={"regression": True}),
    "pair_classification": _pair("pair_classification"),
    "pair_regression": _pair("pair_regression", "cosine", regression=True),
    "tagging": Row(
        ("linear_tagger", "crf", "bilstm", "bilstm_crf"),
        of_paper("tagging"),
        on_vectors=tagging.refuse_vectors,
        check=tagging.check,
    ),
    "span_extraction": Row(
        ("span_extractor",),
        dict.fromkeys(("elmo", "bert"), ("span_extractor", "span_extractor")),
        on_vectors=tagging.refuse_vectors,
        arguments={"pair": True},
        check=span_extraction.check,
    ),
    "dialog": Row((), {}, check_kind=language_model.refuse_head_of_dialog),
    "text_generation": Row((), {}, check_kind=language_model.refuse_head_of_text_generation),
    "language_model": Row((), {}, check_kind=language_model.refuse_head),
}


def kinds_of(head: str) -> list[str]:
    """The kinds of task that a head fits."""
    return [kind for kind, row in KINDS.items() if head in row.heads]
