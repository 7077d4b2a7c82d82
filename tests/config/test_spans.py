"""Configs of span extraction: what is read, and what is refused with the key that is wrong."""

import pytest

from tf_adapt.config.reading import config_from
from tf_adapt.errors import ConfigError

OWN = {"format": "squad", "kind": "span_extraction", "train": "train.json"}
SQUAD = {"dataset": "squad", "data_dir": "squad"}


def make(data=SQUAD, **changes):
    content = {
        "data": data,
        "encoder": {"handle": "bert_small"},
        "adaptation": "fine_tuning",
        "training": {"epochs": 1, "batch_size": 8, "learning_rate": 1e-3},
    } | changes
    return config_from(content, "test")


def test_defaults_and_values():
    assert make().data.spans is None
    spans = make(SQUAD | {"spans": {"stride": 64, "no_answer_threshold": -1.5}}).data.spans
    assert (spans.stride, spans.longest_answer, spans.n_best) == (64, 30, 5)
    assert spans.no_answer_threshold == -1.5
    assert make(OWN | {"spans": {"n_best": 1}}).data.spans.n_best == 1
    training = {"epochs": 1, "batch_size": 8, "learning_rate": 1e-3, "choose_thresholds": True}
    assert make(training=training).training.choose_thresholds


TRAINING = {"epochs": 1, "batch_size": 8, "learning_rate": 1e-3}
MRPC = {"dataset": "mrpc", "data_dir": "d"}
NO_SPANS = "not supported for kind: span_extraction"
REFUSED = [
    ({"data": SQUAD | {"spans": {"stride": 0}}}, "data.spans.stride: expected a whole"),
    ({"data": SQUAD | {"fold": {"of": 3, "leave_out": 3}}}, "one of 3 parts, from 0 to 2, got 3"),
    ({"data": SQUAD | {"spans": {"strid": 9}}}, "data.spans.strid"),
    ({"data": OWN | {"columns": {"text": "t"}}}, "not a column of kind: span_extract"),
    ({"data": OWN | {"format": "jsonl"}}, "data.format: expected conll .* squad for"),
    ({"data": OWN | {"kind": "classification"}}, "data.format: .* squad with kind: classification"),
    ({"data": MRPC | {"spans": {}}}, "spans: expected null for pair_class.*kind: span_extraction"),
    (
        {"training": TRAINING | {"document_context": True}},
        "training.document_context: expected false for span_extraction",
    ),
    ({"teacher": {"run": "r"}}, f"teacher: {NO_SPANS}"),
    ({"weak": {"votes": "v"}}, f"weak: {NO_SPANS}"),
    ({"auxiliary": {"language_model": {"weight": 0.5}}}, f"auxiliary.language_model: {NO_SPANS}"),
    ({"slices": {"a": {"longer_than": 9}}, "slice_heads": True}, f"slice_heads: {NO_SPANS}"),
    (
        {"data": None, "tasks": {"a": {"data": SQUAD}, "b": {"data": MRPC}}, "target": "b"},
        "tasks.a.data: expected another kind than span_extraction, which is trained alone",
    ),
    ({"head_pooling": "mean"}, "head_pooling: expected null for span_extraction"),
    ({"head_word_pieces": "mean"}, "head_word_pieces: expected null for span_extr"),
]


def test_what_is_refused():
    for changes, message in REFUSED:
        with pytest.raises(ConfigError, match=message):
            make(**changes)
