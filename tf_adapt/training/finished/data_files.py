"""Reads a file in the form of a run's data. Imports no TensorFlow."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tf_adapt.config.data_sections import Columns, FilesConfig, TfdsConfig
from tf_adapt.config.reading import data_section
from tf_adapt.data.datasets import in_format, read_file, rows_to_predict
from tf_adapt.data.formats.suffixes import SUFFIXES, suffix_of
from tf_adapt.data.formats.text import named_input
from tf_adapt.data.kinds import KINDS
from tf_adapt.data.own_files import labelled_only, recognised
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.serving.prediction.prediction_forms import check_texts, form_of
from tf_adapt.tasks.task import Task


def labelled_examples(path: str | os.PathLike, task: Task, data: Any) -> Sequence:
    """The examples of a labelled file."""
    section = of_file(path, data)
    if hasattr(section, "train"):
        section = recognised(section.model_copy(update={"train": str(path)}))
    records, _ = labelled_only(section, read_file(named_input(path), section), str(path))
    return KINDS[task.kind].as_in_task(records, data, task, str(path))


def examples_to_predict(
    path: str | os.PathLike, output: str | os.PathLike, with_input: bool, task: Task, data: Any
) -> Sequence:
    """The examples of a file; checks first that their predictions can be written."""
    form = form_of(output, task)
    records = rows_to_predict(named_input(path), of_file(path, data))
    check_texts(form, task, records, with_input)
    return records


def section_of_export(plain: dict | None, kind: str, where: Path, labelled: bool = False) -> Any:
    """The `data` section of an export, of its plain values, for files with or without labels.

    Raises:
        ArtifactError: they are others than of such a section (`where` has them).
    """
    try:
        return data_section(plain, kind, labelled)
    except (ValidationError, TypeError, ConfigError) as error:
        problem = " ".join(str(error).split())[:200]
        raise ArtifactError(
            f"{where}: data: expected how files are read, got other values "
            f"({problem}); export the run again"
        ) from None


def of_file(path: str | os.PathLike, data: Any) -> Any:
    """The `data` section for reading one file.

    The suffix selects the format among those of the kind, also for training data from TensorFlow
    Datasets. The group column is left out: only tests between cells use it.
    """
    if isinstance(data, TfdsConfig):
        columns = data.columns.model_dump()
        data = FilesConfig(format="tsv", kind=data.kind, train="", columns=Columns(**columns))
    if not isinstance(data, FilesConfig):
        return data
    ungrouped = {"columns": data.columns.model_copy(update={"group": None})}
    return in_format(data.model_copy(update=ungrouped), SUFFIXES.get(suffix_of(path), data.format))
