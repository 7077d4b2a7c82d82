"""TF Hub's contract for text preprocessing: to export ours, and to use other modules'."""

import tensorflow as tf

from hub_modules.errors import ArtifactError
from hub_modules.preprocess.bert import (
    BertPreprocessor,
    fill_empty,
    pack_segments,
    pack_word_pieces,
)
from hub_modules.preprocess.causal import CausalPreprocessor
from hub_modules.preprocess.segments import truncate
from hub_modules.preprocess.whole_texts import pack_texts

DEFAULT_LENGTH = 128
_TEXTS = tf.TensorSpec([None], tf.string, name="sentences")
_LENGTH = tf.TensorSpec([], tf.int32, name="seq_length")
_SPECIAL_NAMES = ("padding_id", "start_of_sequence_id", "end_of_segment_id")
# Longer than any tokenizer's longest word: it can only become the unknown token.
_NO_WORD = "x" * 5000


def hub_preprocessor(preprocessor: BertPreprocessor | CausalPreprocessor):
    """The preprocessor as an object for `tf.saved_model.save`, in TF Hub's contract.

    Callable: texts `[batch] string`, seq_length = 128 → `input_word_ids`, `input_mask`,
    `input_type_ids` `[batch, seq_length] int32`. `.tokenize(texts)` → `[batch, (words), (pieces)]`;
    `.bert_pack_inputs([segment] or [segment, segment], seq_length=128)`, cut to fit;
    `.tokenize.get_special_tokens_dict()`. It depends on TensorFlow and tensorflow-text only.
    """
    return _HubPreprocessor(preprocessor)


class _HubPreprocessor(tf.__internal__.tracking.AutoTrackable):
    def __init__(self, preprocessor: BertPreprocessor | CausalPreprocessor):
        self.tokenize = _HubTokenizer(preprocessor)
        self.bert_pack_inputs = _HubPacker(preprocessor)
        self.variables, self.trainable_variables, self.regularization_losses = [], [], []
        self.__call__.get_concrete_function(_TEXTS)
        self.__call__.get_concrete_function(_TEXTS, _LENGTH)

    @tf.function(autograph=False)
    def __call__(self, inputs, seq_length=DEFAULT_LENGTH):
        return self.bert_pack_inputs([self.tokenize(inputs)], seq_length)


class _HubTokenizer(tf.__internal__.tracking.AutoTrackable):
    def __init__(self, preprocessor: BertPreprocessor | CausalPreprocessor):
        self.preprocessor = preprocessor
        self.get_special_tokens_dict.get_concrete_function()

    @tf.function(input_signature=[_TEXTS], autograph=False)
    def __call__(self, inputs):
        return self.preprocessor.group_words(self.preprocessor.tokenize(inputs))

    @tf.function(input_signature=[], autograph=False)
    def get_special_tokens_dict(self):
        ids = self.preprocessor.special_token_ids
        return {name: tf.constant(number) for name, number in ids.items()}


class _HubPacker(tf.__internal__.tracking.AutoTrackable):
    def __init__(self, preprocessor: BertPreprocessor | CausalPreprocessor):
        self.preprocessor = preprocessor
        for rank in (2, 3):
            segment = tf.RaggedTensorSpec([None] * rank, tf.int32)
            for segments in ([segment], [segment, segment]):
                self.__call__.get_concrete_function(segments)
                self.__call__.get_concrete_function(segments, _LENGTH)

    @tf.function(autograph=False)
    def __call__(self, inputs, seq_length=DEFAULT_LENGTH):
        segments = [
            segment.merge_dims(1, 2) if segment.ragged_rank > 1 else segment for segment in inputs
        ]
        room = seq_length - self.preprocessor.special_tokens(len(segments))
        return self.preprocessor.pack(truncate(segments, room)[0], seq_length)


class SavedModelPreprocessor(tf.Module):
    """A BERT preprocessing module, loaded with `tf.saved_model.load`, as a `BertPreprocessor`.

    It uses the module's tokenizer; packing and truncation are ours. It keeps the loaded module, so
    that its tables and files are exported too.

    Raises:
        ArtifactError: the module has no tokenizer with `get_special_tokens_dict`.
    """

    splits_at_punctuation = True

    def __init__(self, module):
        super().__init__(name="saved_model_preprocessor")
        self.module = module
        self.special_token_ids = _special_token_ids(module)
        unknown = self.tokenize(tf.constant([_NO_WORD])).values
        if unknown.shape != (1,):
            raise ArtifactError(
                "preprocessing module: expected one unknown token for a word of "
                f"{len(_NO_WORD)} letters, got {unknown.shape[0]} tokens; it is not a WordPiece "
                "tokenizer"
            )
        self.unknown_id = int(unknown[0])

    def __call__(self, texts, max_length: int | None = None, truncate: bool = False) -> dict:
        """Texts → the encoder's inputs, tokenized and packed: see `pack_texts`."""
        return pack_texts(self, texts, max_length, truncate)

    def special_tokens(self, num_segments: int) -> int:
        """Number of special tokens in a row of `num_segments` segments."""
        return num_segments + 1

    def tokenize(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """`[batch] string` → piece ids `[batch, (pieces)] int32`, without special tokens."""
        pieces = self.module.tokenize(texts)
        return pieces.merge_dims(1, 2) if pieces.ragged_rank > 1 else pieces

    def tokenize_words(self, words: tf.RaggedTensor) -> tf.RaggedTensor:
        """`[batch, (words)] string` → `[batch, (words), (pieces)] int32`, no word empty."""
        return words.with_values(fill_empty(self.tokenize(words.values), self.unknown_id))

    def pack(self, segments: list[tf.RaggedTensor], length: int | None = None) -> dict:
        """See `hub_modules.preprocess.bert.pack_segments`."""
        return pack_segments(segments, self.special_token_ids, length)

    def pack_words(self, word_pieces: tf.RaggedTensor) -> dict:
        """See `hub_modules.preprocess.bert.pack_word_pieces`."""
        return pack_word_pieces(word_pieces, self.special_token_ids)


def _special_token_ids(module) -> dict[str, int]:
    described = getattr(getattr(module, "tokenize", None), "get_special_tokens_dict", None)
    ids = {} if described is None else {name: int(value) for name, value in described().items()}
    missing = [name for name in _SPECIAL_NAMES if name not in ids]
    if missing:
        raise ArtifactError(
            "preprocessing module: expected .tokenize with get_special_tokens_dict() (TF Hub's "
            f"contract for text), got none of {', '.join(missing)}; "
            "name a preprocessing module for BERT"
        )
    return ids
