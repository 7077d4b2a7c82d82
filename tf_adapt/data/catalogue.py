"""The table of the project's named datasets.

Task kind, labels (in TensorFlow Datasets' spelling where it has them), metric, files, reader. Tag
labels are listed in the scheme IOB2; `tf_adapt.data.datasets.dataset_labels` gives them in others.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tf_adapt.data import formats
from tf_adapt.data.formats.dialogues import read_dialogue_objects
from tf_adapt.data.labels import scheme_tags
from tf_adapt.printing.words import did_you_mean

SAMPLE_FOLDER = Path(__file__).parent / "sample"


@dataclass(frozen=True)
class TfdsInfo:
    """A dataset in TensorFlow Datasets: its name, splits and features.

    Splits whose labels are not public are left out. `scheme` is the tag scheme of its copy.
    """

    name: str
    splits: Mapping[str, str]
    text_a: str = ""
    text_b: str | None = None
    label: str = "label"
    scheme: str | None = None


@dataclass(frozen=True)
class DatasetInfo:
    """Metadata of a dataset.

    `files` maps a split to its file name, or to several, of which the first that exists is read; a
    name with `*` is that of the folder's one file like it.
    `scheme` is the tag scheme on disk, `entity_types` the types of a tagging dataset; `notes` maps
    "source/split" to a remark on that split, `mistaken` a file that might be taken for train's to
    what it has. `folder` is set for data that ship with the project.
    """

    kind: str
    metric: str
    files: Mapping[str, tuple[str, ...]]
    read: Callable[..., list]
    labels: tuple[str, ...] | None = None
    label_range: tuple[float, float] | None = None
    tfds: TfdsInfo | None = None
    scheme: str | None = None
    entity_types: tuple[str, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    mistaken: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None


_VALIDATION = {"train": "train", "dev": "validation"}
_PAIR = {"text_a": "sentence1", "text_b": "sentence2"}
_ENTITY_TYPES = ("PER", "ORG", "LOC", "MISC")
_SICK_FILES = {
    "train": ("SICK_train.txt",),
    "dev": ("SICK_trial.txt",),
    "test": ("SICK_test_annotated.txt",),
}
_SICK_SPLITS = _VALIDATION | {"test": "test"}
_SQUAD_FILES = {"train": ("train-*.json",), "dev": ("dev-*.json",)}
_SAMPLE_TABLES = {"train": ("train.tsv",), "dev": ("dev.tsv",)}
_SAMPLE_PAIR = {"text_a": "text_a", "text_b": "text_b"}
_PHRASES = "the labelled phrases of the train sentences (GLUE's train file)"

DATASETS: dict[str, DatasetInfo] = {
    "conll2003": DatasetInfo(
        kind="tagging",
        metric="span_f1",
        files={"train": ("eng.train",), "dev": ("eng.testa",), "test": ("eng.testb",)},
        read=formats.read_conll2003,
        labels=tuple(scheme_tags(_ENTITY_TYPES, "IOB2")),
        tfds=TfdsInfo(
            "conll2003",
            {"train": "train", "dev": "dev", "test": "test"},
            text_a="tokens",
            label="ner",
            scheme="IOB2",
        ),
        scheme="IOB1",
        entity_types=_ENTITY_TYPES,
    ),
    "sst2_sentences": DatasetInfo(
        kind="classification",
        metric="accuracy",
        files={"train": ("train.tsv",), "dev": ("dev.tsv",), "test": ("test.tsv",)},
        read=formats.read_sst2,
        labels=("negative", "positive"),
    ),
    "sst2": DatasetInfo(
        kind="classification",
        metric="accuracy",
        files={"train": ("train_phrases.tsv",), "dev": ("dev.tsv",), "test": ("test.tsv",)},
        read=formats.read_sst2,
        labels=("negative", "positive"),
        tfds=TfdsInfo("glue/sst2", _VALIDATION, text_a="sentence"),
        notes={"tfds/train": _PHRASES, "files/train": _PHRASES},
        mistaken={
            "train.tsv": "whole sentences, which are the dataset sst2_sentences (sst2 before "
            "version 0.3)"
        },
    ),
    "sick_e": DatasetInfo(
        kind="pair_classification",
        metric="accuracy",
        files=_SICK_FILES,
        read=formats.read_sick_entailment,
        labels=formats.SICK_LABELS,
        tfds=TfdsInfo("sick", _SICK_SPLITS, "sentence_a", "sentence_b", "entailment_judgment"),
    ),
    "sick_r": DatasetInfo(
        kind="pair_regression",
        metric="pearson",
        files=_SICK_FILES,
        read=formats.read_sick_relatedness,
        label_range=(1.0, 5.0),
        tfds=TfdsInfo("sick", _SICK_SPLITS, "sentence_a", "sentence_b", "relatedness_score"),
    ),
    "mrpc": DatasetInfo(
        kind="pair_classification",
        metric="accuracy",
        files={
            "train": ("train.tsv",),
            "dev": ("dev.tsv",),
            "test": ("test.tsv", "msr_paraphrase_test.txt"),
        },
        read=formats.read_mrpc,
        labels=("not_equivalent", "equivalent"),
        tfds=TfdsInfo("glue/mrpc", _VALIDATION | {"test": "test"}, **_PAIR),
    ),
    "stsb": DatasetInfo(
        kind="pair_regression",
        metric="pearson",
        files={"train": ("sts-train.csv",), "dev": ("sts-dev.csv",), "test": ("sts-test.csv",)},
        read=formats.read_stsb,
        label_range=(0.0, 5.0),
        tfds=TfdsInfo("glue/stsb", _VALIDATION, **_PAIR),
    ),
    "mnli": DatasetInfo(
        kind="pair_classification",
        metric="accuracy",
        files={"train": ("train.tsv", "train_subset.tsv"), "dev": ("dev_matched.tsv",)},
        read=formats.read_mnli,
        labels=formats.MNLI_LABELS,
        tfds=TfdsInfo(
            "glue/mnli",
            {"train": "train", "dev": "validation_matched"},
            "premise",
            "hypothesis",
        ),
        notes={
            "files/train": "all pairs, or those of a subset where only that file is there",
            "files/dev": "matched genres",
            "tfds/dev": "matched genres",
        },
    ),
    "cola": DatasetInfo(
        kind="classification",
        metric="matthews",
        files={"train": ("train.tsv",), "dev": ("dev.tsv",), "test": ("test.tsv",)},
        read=formats.read_cola,
        labels=("unacceptable", "acceptable"),
        tfds=TfdsInfo("glue/cola", _VALIDATION, text_a="sentence"),
    ),
    "trec": DatasetInfo(
        kind="classification",
        metric="accuracy",
        files={"train": ("train_5500.label",), "test": ("TREC_10.label",)},
        read=formats.read_trec,
        labels=formats.TREC_LABELS,
        tfds=TfdsInfo(
            "trec", {"train": "train", "test": "test"}, text_a="text", label="label-coarse"
        ),
    ),
    "squad": DatasetInfo(
        kind="span_extraction",
        metric="f1",
        files=_SQUAD_FILES,
        read=formats.read_squad,
        tfds=TfdsInfo("squad/v1.1", _VALIDATION, "question", "context", "answers"),
        notes={"files/train": "of version 1.1 or 2.0", "files/dev": "of version 1.1 or 2.0"},
    ),
    "squad_v2": DatasetInfo(
        kind="span_extraction",
        metric="f1",
        files=_SQUAD_FILES,
        read=formats.read_squad,
        tfds=TfdsInfo("squad/v2.0", _VALIDATION, "question", "context", "answers"),
    ),
    "sample_classification": DatasetInfo(
        kind="classification",
        metric="accuracy",
        files=_SAMPLE_TABLES,
        read=partial(formats.read_tsv, columns={"text_a": "text", "label": "label"}),
        labels=("number", "person", "place", "time"),
        folder=SAMPLE_FOLDER / "classification",
    ),
    "sample_multilabel_classification": DatasetInfo(
        kind="multilabel_classification",
        metric="micro_f1",
        files=_SAMPLE_TABLES,
        read=partial(
            formats.read_tsv,
            columns={"text_a": "text", "label": "labels"},
            parse_label=formats.joined_labels,
        ),
        labels=_ENTITY_TYPES,
        folder=SAMPLE_FOLDER / "multilabel_classification",
    ),
    "sample_regression": DatasetInfo(
        kind="regression",
        metric="pearson",
        files=_SAMPLE_TABLES,
        read=partial(
            formats.read_tsv,
            columns={"text_a": "text", "label": "percent"},
            parse_label=formats.number_label,
        ),
        label_range=(0.0, 100.0),
        folder=SAMPLE_FOLDER / "regression",
    ),
    "sample_pair_classification": DatasetInfo(
        kind="pair_classification",
        metric="accuracy",
        files=_SAMPLE_TABLES,
        read=partial(formats.read_tsv, columns=_SAMPLE_PAIR | {"label": "label"}),
        labels=("contradiction", "entailment", "neutral"),
        folder=SAMPLE_FOLDER / "pair_classification",
    ),
    "sample_pair_regression": DatasetInfo(
        kind="pair_regression",
        metric="pearson",
        files=_SAMPLE_TABLES,
        read=partial(
            formats.read_tsv,
            columns=_SAMPLE_PAIR | {"label": "score"},
            parse_label=formats.number_label,
        ),
        label_range=(0.0, 5.0),
        folder=SAMPLE_FOLDER / "pair_regression",
    ),
    "sample_span_extraction": DatasetInfo(
        kind="span_extraction",
        metric="f1",
        files={"train": ("train.json",), "dev": ("dev.json",)},
        read=formats.read_squad,
        folder=SAMPLE_FOLDER / "span_extraction",
    ),
    "sample_dialog": DatasetInfo(
        kind="dialog",
        metric="log_probability",
        files={"train": ("train.jsonl",), "dev": ("dev.jsonl",)},
        read=read_dialogue_objects,
        folder=SAMPLE_FOLDER / "dialog",
    ),
    "sample_tagging": DatasetInfo(
        kind="tagging",
        metric="span_f1",
        files={"train": ("train.txt",), "dev": ("dev.txt",)},
        read=partial(formats.read_conll, num_columns=2),
        labels=tuple(scheme_tags(_ENTITY_TYPES, "IOB2")),
        scheme="IOB2",
        entity_types=_ENTITY_TYPES,
        folder=SAMPLE_FOLDER / "tagging",
    ),
}
# Names of earlier versions.
RENAMED = {"sst2_phrases": "sst2"}


def no_such_dataset(name: str) -> str:
    """What was expected in place of a name that `DATASETS` lacks."""
    if name in RENAMED:
        return f"expected {RENAMED[name]!r}, as {name!r} is called now"
    return f"expected one of {', '.join(DATASETS)}, got {name!r}{did_you_mean(str(name), DATASETS)}"
