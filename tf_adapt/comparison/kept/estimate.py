"""What frozen states told of the labels, in a comparison's folder: `estimate.json`, the report.

Imports no TensorFlow.
"""

import json
from dataclasses import asdict, replace
from pathlib import Path

from pydantic import TypeAdapter

from hub_modules.storage.files import write_text
from tf_adapt.comparison.diagnosis.report_reading import read_content, read_finding
from tf_adapt.comparison.record import read_record
from tf_adapt.config.reading import load_config, one_task
from tf_adapt.config.sections import Config
from tf_adapt.report.estimate.measures import Estimate
from tf_adapt.report.write import write_report
from tf_adapt.runs import run_folder

FILE = "estimate.json"
_ESTIMATE = TypeAdapter(Estimate)


def configs_of(folder: Path, overrides: tuple[str, ...] = ()) -> list[Config]:
    """The configs of a comparison's cells of one task.

    Raises:
        ConfigError: an override is wrong; all cells have several tasks.
        ArtifactError: the folder's record is damaged.
    """
    names = list(read_record(folder)["together"])
    configs = [load_config(folder / f"cells/{name}.yaml", overrides) for name in names]
    alone = [config for config in configs if config.tasks is None]
    return alone or [one_task(configs[0], str(folder), "an analysis")]


def keep_estimate(estimate: Estimate, folder: Path) -> None:
    """Writes it into a comparison's folder, and the report anew; one that is not there yet will
    show the estimate.

    Raises:
        ConfigError: the folder is in use.
        ArtifactError: the report is damaged.
    """
    with run_folder.locked(folder):
        content = read_content(folder) if (folder / "report.json").is_file() else None
        text = json.dumps(asdict(estimate), indent=1, ensure_ascii=False)
        write_text(folder / FILE, text + "\n")
        if content is not None:
            write_report(replace(content, estimate=estimate), folder)


def kept_estimate(folder: Path) -> Estimate | None:
    """What `keep_estimate` wrote; None: nothing.

    Raises:
        ArtifactError: the file cannot be read.
    """
    return read_finding(folder / FILE, _ESTIMATE, "tf-adapt estimate")
