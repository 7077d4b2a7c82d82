"""The families of encoders, and what differs between them outside of the encoders themselves: the
one place that names what a family is. What is done with modules of ours is in `own_families.py`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """What the encoders of a family have in common.

    Attributes:
        joins_pairs: they can read both texts of a pair as one row, and do so by default.
        like: "bert" or "elmo", the family of the paper whose heads and learning rates they take.
        has_words: they return a state for each word or piece; without, one vector for a text.
        reads_both_ways: a state is of all words of its row.
        has_directions: the first half of a state is of the words up to its own, the second half of
            those from it on.
        is_transformer: they are transformers, natively.
        word_piece: which of a word's tokens stands for it by default: "first" or "last".
        takes: the kinds of weights that an adaptation can add to a native encoder, or find in it:
            see `hub_modules.native.added.settings`.
        takes_token: each row can end in a classification token.
        generates: they can continue a text, natively, with `step`.
        reads_characters: they read the characters of words, and have no vocabulary.
        program_takes_texts: the program of a module takes texts, and gives not every layer.
        first_state: what the first state is of, if it is the same for every text; else empty.
        some_layers: not all of their layers are among the outputs.
        rates_by_task: their dropout rates are others in a language model.
        allows_xla: XLA can compile them.
        distillable: they can be the teacher of a smaller one.
        no_engine: why another engine than TensorFlow does not compute them, for a message.
    """

    joins_pairs: bool
    like: str
    has_words: bool = True
    reads_both_ways: bool = False
    has_directions: bool = False
    is_transformer: bool = False
    word_piece: str = "first"
    takes: tuple[str, ...] = ()
    takes_token: bool = False
    generates: bool = False
    reads_characters: bool = False
    program_takes_texts: bool = False
    first_state: str = ""
    some_layers: bool = False
    rates_by_task: bool = False
    allows_xla: bool = False
    distillable: bool = False
    no_engine: str = ""

    @property
    def is_like_elmo(self) -> bool:
        """Whether they take the heads of ELMo, and have no pooled vector."""
        return self.like == "elmo"


FAMILIES = {
    "bert": Family(
        joins_pairs=True,
        like="bert",
        reads_both_ways=True,
        is_transformer=True,
        takes=("bottleneck", "projected_attention", "task_attention", "lora", "biases"),
        allows_xla=True,
        distillable=True,
    ),
    "elmo": Family(
        joins_pairs=False,
        like="elmo",
        reads_both_ways=True,
        has_directions=True,
        takes=("bottleneck", "biases"),
        reads_characters=True,
        no_engine="whose loops over the words are slower there than in TensorFlow",
    ),
    # Bidirectional backbones of keras-hub: RoBERTa, ELECTRA, DeBERTa-v3, ….
    "keras": Family(
        joins_pairs=True,
        like="bert",
        reads_both_ways=True,
        is_transformer=True,
        takes=("lora", "biases"),
    ),
    "causal": Family(
        joins_pairs=True,
        like="bert",
        is_transformer=True,
        takes=("bottleneck", "lora", "biases"),
        takes_token=True,
        generates=True,
    ),
    "modern_bert": Family(
        joins_pairs=True,
        like="bert",
        reads_both_ways=True,
        is_transformer=True,
        takes=("bottleneck", "lora"),
    ),
    "mpnet": Family(
        joins_pairs=True,
        like="bert",
        reads_both_ways=True,
        is_transformer=True,
        takes=("bottleneck", "lora", "biases"),
    ),
    # AWD-LSTM. Before a word there may be a marker, whose state has not seen the word.
    "lstm": Family(
        joins_pairs=False,
        like="elmo",
        word_piece="last",
        program_takes_texts=True,
        takes=("biases",),
        first_state="xxbos",
        some_layers=True,
        rates_by_task=True,
    ),
    "sentence": Family(joins_pairs=False, like="bert", has_words=False),
    "words": Family(joins_pairs=False, like="elmo"),
}


def joins_pairs(family: str | None) -> bool:
    """Whether encoders of a family read both texts of a pair as one row by default; False for none
    or one that is not known."""
    return family in FAMILIES and FAMILIES[family].joins_pairs


def has_words(family: str | None) -> bool:
    """Whether encoders of a family return a state for each word; True for none or one that is not
    known."""
    return family not in FAMILIES or FAMILIES[family].has_words
