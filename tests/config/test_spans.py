"""Configs of span extraction: what is read, and what is refused with the key that is wrong."""

import pytest

from tf_adapt.config.reading import config_from
from tf_adapt.errors import ConfigError

OWN = {"format": "squad", "kind": "span_extraction", "train": "train.json"}
SQUAD = {"dataset": "squad", "data_dir": "squad"}


def make(data=None, **changes):
    content = {
        "data": SQUAD if data is None else data,
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
REFUSED = {
    "stride": ({"data": SQUAD | {"spans": {"stride": 0}}}, "data.spans.stride: expected a whole"),
    "fold": (
        {"data": SQUAD | {"fold": {"of": 3, "leave_out": 3}}},
        "data.fold.leave_out: expected the number of one of 3 parts, from 0 to 2, got 3",
    ),
    "key": ({"data": SQUAD | {"spans": {"strid": 9}}}, "data.spans.strid"),
    "columns": ({"data": OWN | {"columns": {"text": "t"}}}, "not a column of kind: span_extract"),
    "format": ({"data": OWN | {"format": "jsonl"}}, "data.format: expected conll .* squad for"),
    "kind": (
        {"data": OWN | {"kind": "classification"}},
        "data.format: expected .* got squad with kind: classification",
    ),
    "other kind": (
        {"data": {"dataset": "mrpc", "data_dir": "d", "spans": {}}},
        "data.spans: expected null for pair_classification; it is for kind: span_extraction",
    ),
    "context": (
        {"training": TRAINING | {"document_context": True}},
        "training.document_context: expected false for span_extraction",
    ),
    "teacher": ({"teacher": {"run": "r"}}, "teacher: not supported for kind: span_extraction"),
    "weak": ({"weak": {"votes": "v"}}, "weak: not supported for kind: span_extraction"),
    "auxiliary": (
        {"auxiliary": {"language_model": {"weight": 0.5}}},
        "auxiliary.language_model: not supported for kind: span_extraction",
    ),
    "slice heads": (
        {"slices": {"long": {"longer_than": 9}}, "slice_heads": True},
        "slice_heads: not supported for kind: span_extraction",
    ),
    "tasks": (
        {
            "data": None,
            "tasks": {"a": {"data": SQUAD}, "b": {"data": {"dataset": "mrpc", "data_dir": "d"}}},
            "target": "b",
        },
        "tasks.a.data: expected another kind than span_extraction, which is trained alone",
    ),
    "pooling": (
        {"head_pooling": "mean"},
        "head_pooling: expected null for span_extraction",
    ),
    "word pieces": ({"head_word_pieces": "mean"}, "head_word_pieces: expected null for span_extr"),
}


def test_what_is_refused():
    for case in REFUSED:
        changes, message = REFUSED[case]
        changes = dict(changes)
        data = changes.pop("data", SQUAD)
        with pytest.raises(ConfigError, match=message):
            if data is None:
                content = {"encoder": {"handle": "bert_small"}, "adaptation": "fine_tuning"}
                config_from(content | {"training": TRAINING} | changes, "test")
            else:
                make(data, **changes)
