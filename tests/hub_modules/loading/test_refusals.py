"""The table of handles that are refused is what is said."""

import json

import pytest
from huggingface_folders import keras_hub_is_new

from tests.hub_modules.loading.refusals import FILE, refusals

if not keras_hub_is_new():
    pytest.skip("needs keras-hub 0.32", allow_module_level=True)


def test_every_message_is_the_one_in_the_table():
    pytest.importorskip("huggingface_hub")
    pytest.importorskip("kagglehub")
    found, told = refusals(), json.loads(FILE.read_text("utf-8"))
    assert found == told, "run `python -m tests.hub_modules.loading.refusals`"
    for row in found:
        where = row["handle"].removeprefix("keras:")
        message = row["message"]
        assert where in message, row["wrong"]
        assert "; " in message or "did you mean" in message, row["wrong"]  # what to do
