"""What a comparison's folder allows to go on."""

import pytest
import yaml

from hub_modules.storage import records
from tf_adapt.comparison.execution.runs import config_name
from tf_adapt.comparison.plan.settings import comparison_from
from tf_adapt.comparison.record import as_begun, begin
from tf_adapt.errors import ConfigError


def planned(handle, **changes):
    section = {"encoders": [str(handle)], "adaptations": ["freeze"], "folds": 0} | changes
    data = {"dataset": "sample_classification", "source": "sample"}
    return comparison_from({"data": data, "compare": section}, "test")


def test_a_folder_from_before_heads_were_scaled_goes_on(tiny_bert, tmp_path):
    begin(planned(tiny_bert), {}, {}, tmp_path)
    for cell in planned(tiny_bert).cells:
        name = config_name(cell)
        content = yaml.safe_load(records.read(tmp_path, name))
        del content["head_scaled"]
        records.write(tmp_path, name, yaml.safe_dump(content))
    scaled = planned(tiny_bert, heads=["linear"], settings={"freeze": {"head_scaled": True}})
    with pytest.raises(ConfigError, match=r"head_scaled \(was False, now True\)"):
        begin(as_begun(scaled, tmp_path), {}, {}, tmp_path)
    for _ in range(2):  # the first time writes the configs anew
        found = as_begun(planned(tiny_bert), tmp_path)
        begin(found, {}, {}, tmp_path)
        heads = {cell.config.head: cell.config.head_scaled for cell in found.cells}
        assert heads == {"default": None, "linear": False}


def test_another_end_of_bad_runs_is_another_comparison(tiny_bert, tmp_path):
    stopping = {"settings": {"freeze": {"training": {"stop_below": [0.5]}}}}
    begin(planned(tiny_bert, **stopping), {}, {}, tmp_path)
    begin(planned(tiny_bert, seeds=3, **stopping), {}, {}, tmp_path)
    with pytest.raises(ConfigError, match=r"training\.stop_below \(was \[0\.5\], now None\)"):
        begin(planned(tiny_bert), {}, {}, tmp_path)
