"""Fixtures for every test: where the shared data, models and recorded numbers are."""

import gc
import os
import sys
from pathlib import Path

import pytest


@pytest.fixture(autouse=True, scope="module")
def forgotten_graphs():
    """Frees what a module's models held: the graphs of all tests together fill the memory."""
    yield
    if "keras" in sys.modules:
        sys.modules["keras"].utils.clear_session()
        gc.collect()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real datasets and pretrained weights (TF_ADAPT_SHARED)."""
    folder = os.environ.get("TF_ADAPT_SHARED")
    if not folder:
        _not_at_hand("TF_ADAPT_SHARED is not set: real data and weights are not at hand")
    return Path(folder)


@pytest.fixture(scope="session")
def reference() -> Path:
    """What other implementations computed (TF_ADAPT_REFERENCE, TF_ADAPT_SHARED/reference)."""
    folder = os.environ.get("TF_ADAPT_REFERENCE")
    if folder:
        return Path(folder)
    shared_folder = os.environ.get("TF_ADAPT_SHARED")
    if not shared_folder:
        _not_at_hand("neither TF_ADAPT_REFERENCE nor TF_ADAPT_SHARED is set")
    return Path(shared_folder) / "reference"


def _not_at_hand(reason: str) -> None:
    """Skips, except in CI, where a skipped test would look like a passed one."""
    if os.environ.get("TF_ADAPT_REQUIRE_SHARED"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory) -> Path:
    """A module folder with a BERT of random weights, small enough to train in a second.

    Its SavedModel holds the weights only, so it runs natively, not as a black box.
    """
    from random_modules import write_random_module

    from hub_modules.bert import BertEncoder

    characters = "abcdefghijklmnopqrstuvwxyz0123456789"
    marks = [*"'?.,-!()&$%:;/"]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *characters, *marks]
    pieces += ["the", "what", "is", "who", "where", *(f"##{letter}" for letter in characters)]
    config = {
        "vocabulary_size": len(pieces),
        "width": 16,
        "num_layers": 2,
        "num_heads": 2,
        "intermediate_width": 32,
        "max_positions": 256,
    }
    folder = tmp_path_factory.mktemp("modules") / "tiny_bert"
    folder.mkdir()
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces), "utf-8")
    write_random_module(folder, "bert", BertEncoder(**config), config)
    return folder


@pytest.fixture(scope="session")
def tiny_elmo(tmp_path_factory) -> Path:
    """A module folder with an ELMo of random weights; as `tiny_bert`, it only runs natively."""
    from random_modules import write_random_module

    from hub_modules.elmo import ElmoEncoder

    config = {
        "filters": [[1, 4], [2, 8]],
        "character_width": 4,
        "num_highway": 1,
        "projection_width": 8,
        "lstm_width": 16,
    }
    folder = tmp_path_factory.mktemp("modules") / "tiny_elmo"
    folder.mkdir()
    write_random_module(folder, "elmo", ElmoEncoder(**config), config)
    return folder
