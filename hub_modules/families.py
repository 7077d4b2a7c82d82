"""The families of encoders, and what differs between them outside of the encoders themselves."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """What the encoders of a family have in common.

    Attributes:
        joins_pairs: they can read both texts of a pair as one row, and do so by default.
        like: "bert" or "elmo", the family of the paper whose heads and learning rates they take.
        has_words: they return a state for each word or piece; without, one vector for a text.
        reads_both_ways: a state is of all words of its row.
        is_transformer: they are transformers, natively.
        word_piece: which of a word's tokens stands for it by default: "first" or "last".
        takes: the kinds of weights that an adaptation can add to a native encoder: see
            `hub_modules.native.added.settings`.
    """

    joins_pairs: bool
    like: str
    has_words: bool = True
    reads_both_ways: bool = False
    is_transformer: bool = False
    word_piece: str = "first"
    takes: tuple[str, ...] = ()


FAMILIES = {
    "bert": Family(
        joins_pairs=True,
        like="bert",
        reads_both_ways=True,
        is_transformer=True,
        takes=("bottleneck", "projected_attention", "task_attention", "lora"),
    ),
    "elmo": Family(joins_pairs=False, like="elmo", reads_both_ways=True, takes=("bottleneck",)),
    # Bidirectional backbones of keras-hub: RoBERTa, ELECTRA, DeBERTa-v3, ….
    "keras": Family(
        joins_pairs=True, like="bert", reads_both_ways=True, is_transformer=True, takes=("lora",)
    ),
    "causal": Family(
        joins_pairs=True, like="bert", is_transformer=True, takes=("bottleneck", "lora")
    ),
    # AWD-LSTM. Before a word there may be a marker, whose state has not seen the word.
    "lstm": Family(joins_pairs=False, like="elmo", word_piece="last"),
    "sentence": Family(joins_pairs=False, like="bert", has_words=False),
    "words": Family(joins_pairs=False, like="elmo"),
}


def joins_pairs(family: str | None) -> bool:
    """Whether encoders of a family read both texts of a pair as one row by default; False for none
    or one that is not known."""
    return family in FAMILIES and FAMILIES[family].joins_pairs
