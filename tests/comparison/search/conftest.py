"""Comparisons with a search."""

import pytest
import yaml
from closed_form_search import SPACE

from tf_adapt.comparison.plan.settings import load_comparison


@pytest.fixture
def searching(tmp_path):
    """Loads a comparison of ❄ and 🔥 with a search, with changes to it and to `compare`."""

    def load(search=None, data=None, **changes):
        compare = {"encoders": ["elmo_small"], "adaptations": ["freeze", "tune"]}
        compare |= {"heads": ["default"], "seeds": 2}
        compare["search"] = {"trials": 6, "space": SPACE} | (search or {})
        data = data or {"dataset": "sample_classification", "source": "sample"}
        content = {"data": data, "compare": compare | changes}
        content["training"] = {"epochs": 4, "batch_size": 32}
        path = tmp_path / "config.yaml"
        path.write_text(yaml.safe_dump(content, sort_keys=False), "utf-8")
        return load_comparison(path)

    return load
