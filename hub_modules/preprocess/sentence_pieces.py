"""SentencePiece in the graph, with the ids of the models that were trained with it."""

import hashlib

import tensorflow as tf
import tensorflow_text
from tensorflow_text.python.ops.sentencepiece_tokenizer import gen_sentencepiece_tokenizer

from hub_modules.errors import ArtifactError
from hub_modules.preprocess.lower_case import lower_case_utf8


class _Model(tf.saved_model.experimental.TrackableResource):
    """A SentencePiece model as a named resource, shared by all tokenizers of the same model.

    tensorflow-text's lies with the kernel that made it, and `tf.random.set_seed` drops every
    kernel: each later call would end in NotFoundError.
    """

    def __init__(self, content: bytes):
        super().__init__()
        self._content = content
        _ = self.resource_handle  # makes it

    def _create_resource(self) -> tf.Tensor:
        name = f"sentence_pieces_{hashlib.sha256(self._content).hexdigest()}"
        return gen_sentencepiece_tokenizer.sentencepiece_op(self._content, shared_name=name)


class SentencePieceTokenizer(tf.Module):
    """A SentencePiece model: texts → ids of pieces.

    Args:
        model: content of the `.spm` or `.model` file.
        shifted: XLM-RoBERTa's ids: one more than the model's, its unknown piece 3.
        lower_case: text is lower-cased before, as original ALBERTs ask for.
        keep_accents: False: accents are taken off before.

    Raises:
        ArtifactError: the model cannot be read.

    Source: Kudo and Richardson 2018, "SentencePiece"; for ALBERT google-research/albert,
    `tokenization.py`; for the shift fairseq's XLM-R.
    """

    def __init__(
        self,
        model: bytes,
        shifted: bool = False,
        lower_case: bool = False,
        keep_accents: bool = True,
    ):
        super().__init__(name="sentence_pieces")
        self.shifted = shifted
        self.lower_case = lower_case
        self.keep_accents = keep_accents
        try:
            with tf.device("CPU:0"):
                self._model = tensorflow_text.SentencepieceTokenizer(model=model)
                self._model._model_resource = _Model(model)
                self._size = int(self._model.vocab_size())
        except (tf.errors.OpError, RuntimeError, ValueError) as error:
            raise ArtifactError(
                f"the SentencePiece model of {len(model)} bytes cannot be read "
                f"({str(error)[:200]}); copy it again"
            ) from error
        if self._size == 0:
            raise ArtifactError(
                f"the SentencePiece model of {len(model)} bytes has no pieces; copy it again"
            )

    def pieces(self) -> list[str]:
        """The pieces of the model in the order of its own ids."""
        names = self._model.id_to_string(tf.range(self._size)).numpy()
        return [name.decode("utf-8", "replace") for name in names]

    def tokenize(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """`[batch] string` → ids of pieces `[batch, (pieces)] int32`."""
        return self.tokenize_normalized(self.normalize(texts))

    def normalize(self, texts: tf.Tensor) -> tf.Tensor:
        """`[batch] string` → the same as `lower_case` and `keep_accents` ask for."""
        if not self.keep_accents:
            texts = tensorflow_text.normalize_utf8(texts, "NFKD")
            texts = tf.strings.regex_replace(texts, r"\p{Mn}", "")
        return lower_case_utf8(texts) if self.lower_case else texts

    def tokenize_normalized(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """As `tokenize`, of texts that are normalized."""
        pieces = self._model.tokenize(texts)
        if not self.shifted:
            return pieces
        return pieces.with_values(tf.where(pieces.values == 0, 3, pieces.values + 1))
