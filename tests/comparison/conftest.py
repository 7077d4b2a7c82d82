"""A small comparison on a tiny module and sample data."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml


@pytest.fixture
def write_config(config_writer, tmp_path):
    """Writes the config of a comparison of ❄ and 🔥, with changes to its compare section."""
    return config_writer(tmp_path)


@pytest.fixture(scope="session")
def config_writer(tiny_bert) -> Callable[[Path], Callable]:
    """Folder → what writes configs into it."""
    return lambda folder: _writer(tiny_bert, folder)


def _writer(tiny_bert: Path, folder: Path) -> Callable:
    def write(name="config.yaml", training=None, data=None, **changes):
        content = {
            "data": {"dataset": "sample_classification", "source": "sample", "train_examples": 32}
            | (data or {}),
            "compare": {
                "encoders": [str(tiny_bert)],
                "adaptations": ["feature_extraction", "fine_tuning"],
                "heads": ["linear"],
                "learning_rates": [1.0e-2],
                "seeds": 2,
            }
            | changes,
            "training": {"epochs": 2, "batch_size": 16} | (training or {}),
        }
        path = folder / name
        path.write_text(yaml.safe_dump(content), "utf-8")
        return path

    return write
