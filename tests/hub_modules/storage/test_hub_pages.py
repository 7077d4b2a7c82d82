"""Which handle names the model of a hub's page."""

import pytest

from hub_modules.errors import ConfigError
from hub_modules.find import find_module
from hub_modules.storage.hub_pages import page_hint


@pytest.mark.parametrize(
    ("address", "handle"),
    [
        ("https://huggingface.co/org/all-MiniLM-L6-v2", "hf://org/all-MiniLM-L6-v2"),
        ("HTTPS://www.HuggingFace.co/Org/Name/?library=x#files", "hf://Org/Name"),
        ("https://hf.co/org/name/tree/main", "hf://org/name"),
        ("https://huggingface.co/org/name/tree/v1.0/onnx", "hf://org/name@v1.0"),
        ("https://huggingface.co/org/name/tree/refs%2Fpr%2F12", "hf://org/name@refs/pr/12"),
        ("huggingface.co/bert-base-uncased", "hf://bert-base-uncased"),
        ("http://huggingface.co/bert/blob/main/config.json", "hf://bert"),
        ("https://huggingface.co/datasets/org/name", "hf://ORG/NAME"),
        ("https://huggingface.co", "hf://ORG/NAME"),
        ("https://www.kaggle.com/models/a/bert/keras/en/2", "kaggle://a/bert/keras/en/2"),
        (
            "https://www.kaggle.com/models/a/bert/frameworks/TensorFlow2/variations/en/versions/1",
            "kaggle://a/bert/TensorFlow2/en/1",
        ),
        (
            "https://www.kaggle.com/models/a/bert",
            "kaggle://OWNER/MODEL/FRAMEWORK/VARIATION",
        ),
    ],
)
def test_a_page_is_told_the_handle(address, handle):
    assert page_hint(address) == f"that is a page, not a module; give {handle}"
    if "://" in address:
        with pytest.raises(ConfigError, match=f"a page, not a module; give {handle}$"):
            find_module(address)


@pytest.mark.parametrize(
    "address",
    [
        "https://tfhub.dev/google/elmo/3",
        "https://huggingface.co/org/name/resolve/main/module.tar.gz",
        "https://www.kaggle.com/models/a/b/c/d/1?tf-hub-format=compressed",
        "https://huggingface.com.example.org/org/name",
        "hf://org/name",
        "huggingface.com",
        "bert_small",
    ],
)
def test_other_addresses_are_no_pages(address):
    assert page_hint(address) is None
