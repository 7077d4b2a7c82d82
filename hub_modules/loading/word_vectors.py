"""A file of word vectors as an encoder without layers."""

from pathlib import Path

from hub_modules.loading.loaded_module import LoadedModule
from hub_modules.native.word_vectors import WordVectorsEncoder
from hub_modules.preprocess import WordsPreprocessor
from hub_modules.sources.glove import read_word_vectors


def load_word_vectors(path: Path, dtype=None, pretrained: bool = True) -> LoadedModule:
    """Word vectors in GloVe's text format: see `read_word_vectors`.

    Args:
        dtype: dtype policy of the encoder.
        pretrained: whether the encoder gets the file's vectors; False: random ones.

    Raises:
        ArtifactError: the file is missing, damaged or too large.
    """
    source = read_word_vectors(path)
    width = source.vectors.shape[1]
    encoder = WordVectorsEncoder(len(source.words), width, name="word_vectors", dtype=dtype)
    encoder.build()
    if pretrained:
        encoder.load_weights_by_name({"embeddings/vectors": source.vectors})
    return LoadedModule(
        family="words",
        encoder=encoder,
        preprocessor=WordsPreprocessor(source.words, source.lower_case),
        hash=source.sha256,
        execution="native",
        max_length=None,
    )
