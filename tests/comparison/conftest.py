"""A small comparison on a tiny module and sample data."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tf_adapt.comparison.plan.cells import Comparison
from tf_adapt.comparison.plan.settings import load_comparison


@pytest.fixture
def unmeasured(monkeypatch):
    """A dry run takes `COSTS` for those of a step."""
    from step_costs import COSTS

    from tf_adapt.comparison.plan import dry_run

    monkeypatch.setattr(dry_run, "measured_costs", lambda *arguments: COSTS)


@pytest.fixture
def sketched(monkeypatch):
    """Reports have a sketch in place of each figure."""
    from sketch import SKETCH

    from tf_adapt.report import write

    monkeypatch.setattr(write, "draw", lambda *given: SKETCH)


@pytest.fixture
def workers_here(monkeypatch):
    """The runs of a comparison are trained in this process."""
    from worker_here import WorkerHere

    from tf_adapt.comparison.execution import local

    monkeypatch.setattr(local, "_start", WorkerHere)


@pytest.fixture
def write_config(config_writer, tmp_path):
    """Writes the config of a comparison of ❄ and 🔥, with changes to its compare section."""
    return config_writer(tmp_path)


@pytest.fixture
def comparison_of(tmp_path) -> Callable[..., Comparison]:
    """Loads a comparison of ❄ and 🔥 on a shipped ELMo, with changes to its compare section."""

    def load(data=None, penalties=None, **changes):
        compare = {
            "encoders": ["elmo_small"],
            "adaptations": ["feature_extraction", "fine_tuning"],
            "heads": ["default"],
            "learning_rates": [1.0e-3],
            "extend": False,
            "seeds": 2,
        }
        if "format" not in (data or {}):
            data = {"dataset": "sample_classification", "source": "sample"} | (data or {})
        content = {"data": data, "compare": compare | changes, "penalties": penalties or {}}
        content["training"] = {"epochs": 2, "batch_size": 32}
        path = tmp_path / "config.yaml"
        path.write_text(yaml.safe_dump(content), "utf-8")
        return load_comparison(path)

    return load


@pytest.fixture(scope="session")
def config_writer(shallow_bert) -> Callable[[Path], Callable]:
    """Folder → what writes configs into it."""
    return lambda folder: _writer(shallow_bert, folder)


def _writer(shallow_bert: Path, folder: Path) -> Callable:
    def write(name="config.yaml", training=None, data=None, **changes):
        content = {
            "data": {"dataset": "sample_classification", "source": "sample", "train_examples": 32}
            | (data or {}),
            "compare": {
                "encoders": [str(shallow_bert)],
                "adaptations": ["feature_extraction", "fine_tuning"],
                "heads": ["linear"],
                "learning_rates": [1.0e-2],
                "extend": False,
                "seeds": 2,
            }
            | changes,
            "training": {"epochs": 2, "batch_size": 16} | (training or {}),
        }
        path = folder / name
        path.write_text(yaml.safe_dump(content), "utf-8")
        return path

    return write
