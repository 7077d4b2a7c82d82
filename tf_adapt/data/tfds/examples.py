"""Examples of the named datasets in TensorFlow Datasets → records."""

from collections.abc import Iterator
from typing import Any

from tf_adapt.data.formats import Answers, Record, TaggedSentence
from tf_adapt.data.tfds.features import class_name, decoded_text


def records(examples: list[dict], features: dict, tfds_info: Any, name: str) -> Iterator[Record]:
    """Texts, or pairs of texts, with a class or a score."""
    for index, example in enumerate(examples):
        where = f"{name}[{index}]"
        text_b = tfds_info.text_b
        yield Record(
            text_a=decoded_text(example[tfds_info.text_a], where, tfds_info.text_a),
            text_b=None if text_b is None else decoded_text(example[text_b], where, text_b),
            label=_label(example[tfds_info.label], features[tfds_info.label], where),
            where=where,
        )


def questions(examples: list[dict], features: dict, tfds_info: Any, name: str) -> Iterator[Record]:
    """Questions, contexts and the answers in them."""
    for index, example in enumerate(examples):
        where, given = f"{name}[{index}]", example[tfds_info.label]
        yield Record(
            decoded_text(example[tfds_info.text_a], where, tfds_info.text_a),
            decoded_text(example[tfds_info.text_b], where, tfds_info.text_b),
            Answers(
                tuple(decoded_text(text, where, "answers") for text in given["text"]),
                tuple(map(int, given["answer_start"])),
            ),
            where,
        )


def sentences(
    examples: list[dict], features: dict, tfds_info: Any, name: str
) -> Iterator[TaggedSentence]:
    """Sentences with a tag for each word; those without words are skipped."""
    tag_feature = features[tfds_info.label].feature
    for index, example in enumerate(examples):
        where = f"{name}[{index}]"
        words = tuple(
            decoded_text(word, where, tfds_info.text_a) for word in example[tfds_info.text_a]
        )
        tags = tuple(_label(tag, tag_feature, where) for tag in example[tfds_info.label])
        if words:
            yield TaggedSentence(words, tags, where)


def _label(value: object, feature: object, where: str) -> str | float:
    """A class's name, or a score."""
    if getattr(feature, "names", None) is None:
        return float(value)
    return class_name(value, where, "", feature)
