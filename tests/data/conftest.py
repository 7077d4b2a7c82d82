"""What `prepare` needs of an encoder, without one: preprocessors whose tokens can be counted."""

import string
from types import SimpleNamespace

import pytest

# Every lower-case word has as many pieces as letters, every digit is a word.
VOCABULARY = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]"),
    *string.ascii_lowercase,
    *(f"##{c}" for c in string.ascii_lowercase),
    *string.digits,
    *(f"##{c}" for c in string.digits),
    *"!.",
]


@pytest.fixture
def bert():
    """Makes a stand-in for a BERT encoder of so many positions."""
    from hub_modules.preprocess import BertPreprocessor

    preprocessor = BertPreprocessor(VOCABULARY, lower_case=True)
    return lambda max_length=64: SimpleNamespace(
        preprocessor=preprocessor,
        family="bert",
        most_positions=max_length,
        joint_pairs=True,
        max_length=max_length,
    )


@pytest.fixture
def elmo():
    """Makes a stand-in for an ELMo encoder."""
    from hub_modules.preprocess import ElmoPreprocessor

    return lambda max_length=1000: SimpleNamespace(
        preprocessor=ElmoPreprocessor(),
        family="elmo",
        most_positions=None,
        joint_pairs=False,
        max_length=max_length,
    )


@pytest.fixture
def texts_of():
    """Reads the texts back from packed BERT inputs: `ab c` is `ab c`, special tokens left out."""

    def read(inputs: dict) -> list[str]:
        rows = zip(inputs["input_word_ids"].numpy(), inputs["input_mask"].numpy(), strict=True)
        texts = (" ".join(VOCABULARY[i] for i in ids[mask == 1][1:-1]) for ids, mask in rows)
        return [text.replace(" ##", "") for text in texts]

    return read
