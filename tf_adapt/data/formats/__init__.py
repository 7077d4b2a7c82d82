"""Bytes to records: one reader per file format. Imports no TensorFlow."""

from tf_adapt.data.formats.benchmarks import (
    MNLI_LABELS,
    SICK_LABELS,
    TREC_LABELS,
    read_cola,
    read_conll2003,
    read_mnli,
    read_mrpc,
    read_sick_entailment,
    read_sick_relatedness,
    read_sst2,
    read_stsb,
    read_trec,
)
from tf_adapt.data.formats.conll import read_conll
from tf_adapt.data.formats.label_sets import joined_labels, listed_labels
from tf_adapt.data.formats.records import (
    Answers,
    Record,
    TaggedSentence,
    check_answers,
    check_group,
    check_score,
    check_text,
)
from tf_adapt.data.formats.squad import read_squad
from tf_adapt.data.formats.tables import (
    named_label,
    number_label,
    read_csv,
    read_jsonl,
    read_tsv,
    text_label,
)

__all__ = [
    "MNLI_LABELS",
    "SICK_LABELS",
    "TREC_LABELS",
    "Answers",
    "Record",
    "TaggedSentence",
    "check_answers",
    "check_group",
    "check_score",
    "check_text",
    "joined_labels",
    "listed_labels",
    "named_label",
    "number_label",
    "read_cola",
    "read_conll",
    "read_conll2003",
    "read_csv",
    "read_jsonl",
    "read_mnli",
    "read_mrpc",
    "read_sick_entailment",
    "read_sick_relatedness",
    "read_squad",
    "read_sst2",
    "read_stsb",
    "read_trec",
    "read_tsv",
    "text_label",
]
