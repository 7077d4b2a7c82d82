"""What a light export is on disk: `tf-adapt export RUN --out DIR --format openvino`. No TensorFlow.

A version folder holds no code:

| file | content |
| --- | --- |
| `manifest.json`, `manifest.sha256` | kind `light_export`, the SHA-256 of each file; the seal |
| `task.json`; of several tasks `tasks.json` | task and data, the same as in a SavedModel's export |
| `light.json` | how texts become a graph's inputs, and its output an answer: `LightFile` |
| `graphs/0.xml`, … | encoder and head of each model, from ids to logits, as OpenVINO's IR |
| `graphs/weights.bin` | the weights of all graphs, each once |
| `tokenizers/0.json`, … | HuggingFace's format; none for ELMo, which reads bytes |
| `tokenizers/lower.json`, … | how single characters are read: `CharactersFile` |
| `README.md` | the model card |

A graph takes `a_NAME`, and for pairs that are read separately `b_NAME`, with the inputs of the
encoder as NAME: `input_word_ids`, `input_mask`, `input_type_ids` `[batch, time] int32`, or
`character_ids` `[batch, time, 50] int32`; in tagging and span extraction `first_piece` and
`last_piece` `[batch, words] int32` too, −1 at padding. Those that it does not read are no inputs.
Its output `logits` is what the head computes, float32: classification and multilabel
`[batch, labels]`, regression `[batch]`, tagging `[batch, words, tags]` (the scores of a CRF too),
span extraction `[rows, 1 + words, 2]`. Temperature, thresholds and the search for spans are the
task's, in `task.json`.
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from hub_modules.storage.json_files import Schema

FORMAT = 1
LIGHT = "light.json"
GRAPHS, TOKENIZERS = "graphs", "tokenizers"
WEIGHTS = f"{GRAPHS}/weights.bin"
LOGITS = "logits"

_Id = Annotated[int, Field(ge=0, lt=2**31)]
_Graph = Annotated[str, Field(pattern=r"^graphs/[0-9]+\.xml$")]
_Tokenizer = Annotated[str, Field(pattern=r"^tokenizers/[0-9]+\.json$")]
_Characters = Annotated[str, Field(pattern=r"^tokenizers/[a-z]+\.json$")]


class CharactersFile(Schema):
    """How single characters are read, of all of Unicode: in each version of a library by other
    tables, so that an export has its own.

    Attributes:
        changed: what a character becomes; "" for one that is taken out.
        blanks, alone: first and last of ranges: what lies between words, and what is a word by
            itself, both after the change.
    """

    changed: dict[str, str]
    blanks: list[tuple[int, int]]
    alone: list[tuple[int, int]]

    _tuples = field_validator("blanks", "alone", mode="before")(
        lambda given: [tuple(pair) for pair in given]  # JSON has no tuples
    )


class Pieces(Schema):
    """How texts become rows of pieces.

    Attributes:
        tokenizer: a file in HuggingFace's format.
        characters: a `CharactersFile`, whose words are what the tokenizer reads; None: texts.
        padding, start, end: the ids of padding, of a row's first token, and of each text's end.
        unknown: the id of a word that has no pieces.
        doubled: `<s> a </s></s> b </s>`, else `[CLS] a [SEP] b [SEP]`.
        last: the id of the last token of a row, in place of `end`; None: `end`.
        blank: what is put before each word of a sentence or context.
        longest: most bytes of a word: one of `characters` that is longer is `unknown`, another is
            read in parts.
    """

    kind: Literal["pieces"] = "pieces"
    tokenizer: _Tokenizer
    characters: _Characters | None = None
    padding: _Id
    start: _Id
    end: _Id
    unknown: _Id
    doubled: bool = False
    last: _Id | None = None
    blank: str = ""
    longest: int = Field(ge=1)


class Characters(Schema):
    """How texts become rows of words of bytes, as ELMo's.

    Attributes:
        width: ids of a word: `begin`, one more than each byte, `end`, then `padding`.
    """

    kind: Literal["characters"] = "characters"
    width: _Id
    begin: _Id
    end: _Id
    padding: _Id


class Chain(Schema):
    """A linear-chain CRF over tags.

    Attributes:
        transitions: `[tags, tags]`, the score from row to column.
        allowed: `[tags + 2, tags + 2]`, whether the tag of a column may follow that of a row, with
            the start and the end of a sentence as the last two; None: any.
    """

    transitions: list[list[float]]
    allowed: list[list[bool]] | None = None

    @model_validator(mode="after")
    def _check_sizes(self):
        tags = len(self.transitions)
        for name, rows, size in (
            ("transitions", self.transitions, tags),
            ("allowed", self.allowed, tags + 2),
        ):
            if rows is not None and [size] * size != list(map(len, rows)):
                raise ValueError(f"{name} should have {size} rows of {size}")
        return self


class Model(Schema):
    """An encoder with a head.

    Attributes:
        graph: a file.
        precision: float32, bfloat16 (products), or int8 (weights).
        reader: how it reads texts.
        joint: whether it reads the two texts of a pair as one row.
        prompts: what is put before each text, or before each of a pair.
        max_length: most tokens of a row, special tokens included.
        truncate: whether longer texts are cut, else refused.
        answer_words: in span extraction, the `CharactersFile` of the words of answers.
        document_context: whether parts of a sentence are read with the words around them.
        chain: of a tagger with a CRF.
    """

    graph: _Graph
    precision: Literal["float32", "bfloat16", "int8"]
    reader: Annotated[Pieces | Characters, Field(discriminator="kind")]
    joint: bool
    prompts: list[str] = []
    max_length: int = Field(ge=1)
    truncate: bool
    document_context: bool = False
    answer_words: _Characters | None = None
    chain: Chain | None = None


class Answers(Schema):
    """Whose answers a task has: those of one model, or of several together.

    Attributes:
        models: their numbers in `LightFile.models`.
        weights: of each, above 0, with the sum 1.
        votes: shares of votes instead of the mean.
        chain: the mean CRF of several taggers; None: there is none.
    """

    models: list[int] = Field(min_length=1)
    weights: list[float]
    votes: bool = False
    chain: Chain | None = None


class LightKeys(Schema):
    """The key that selects the schema of the rest."""

    model_config = ConfigDict(extra="ignore")
    format: int


class LightFile(Schema):
    """Content of `light.json`; `tasks` has the names of `tasks.json`, or `serving_default`."""

    format: int
    models: list[Model] = Field(min_length=1)
    tasks: dict[str, Answers]

    @model_validator(mode="after")
    def _check_numbers(self):
        for name, answers in self.tasks.items():
            known = all(0 <= number < len(self.models) for number in answers.models)
            counts = {len(set(answers.models)), len(answers.models), len(answers.weights)}
            if not known or len(counts) > 1:
                raise ValueError(f"tasks.{name} should name models that there are, each once")
            if min(answers.weights) <= 0 or abs(sum(answers.weights) - 1) > 1e-3:
                raise ValueError(f"tasks.{name}.weights should be above 0, with the sum 1")
        return self
