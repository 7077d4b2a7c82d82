"""Folders of HuggingFace's format and names of model hubs as handles."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from small_data import TEXTS

import tf_adapt as ta
from hub_modules.find import find_module
from hub_modules.load import load_module, module_text_settings, runs_natively
from hub_modules.manifest import module_hash
from hub_modules.sources import huggingface
from hub_modules.storage.fetching import fetching
from hub_modules.storage.model_hubs import local_handle
from tf_adapt.errors import ArtifactError, ConfigError

RECORDED = Path(__file__).parents[2] / "parity" / "recorded"
FAMILIES = {"gpt2": "causal", "modern_bert": "modern_bert", "mpnet": "mpnet"}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_folder_is_read_as_it_is(name):
    folder = RECORDED / f"huggingface_{name}" / "model"
    source = huggingface.read(folder)
    loaded = load_module(folder)
    assert (loaded.family, loaded.execution) == (FAMILIES[name], "native")
    assert loaded.max_length == source.config["max_positions"]
    assert find_module(folder) == folder and runs_natively(folder, None)
    for weight, value in loaded.encoder.weights_by_name().items():
        np.testing.assert_array_equal(value, source.weights[weight])
    settings = module_text_settings(folder)
    assert settings["vocabulary"] == source.vocabulary
    untrained = load_module(folder, pretrained=False).encoder.weights_by_name()
    word = "embeddings/word_embeddings"
    assert (untrained[word].numpy() != source.weights[word]).any()


def test_options_of_a_folder():
    folder = RECORDED / "huggingface_gpt2" / "model"
    encoder = ta.HubEncoder(folder, classification_token=True, keep_layers=[1])
    assert encoder(TEXTS)["layers"][0].shape[0] == len(TEXTS) and encoder.num_layers == 2
    for options, message in [
        ({"execution": "saved_model"}, "has no program, got saved_model"),
        ({"preprocessor": "bert_small"}, "brings its own tokenizer"),
        ({"keep_layers": [9]}, "expected at least one of the layers 0 to"),
    ]:
        with pytest.raises(ConfigError, match=message):
            load_module(folder, **options)
    with pytest.raises(ConfigError, match="got kind mpnet"):
        load_module(RECORDED / "huggingface_mpnet" / "model", classification_token=True)


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """An empty cache of huggingface_hub's, which has no network."""
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return tmp_path / "hub"


def test_a_name_of_huggingfaces_hub(cache):
    snapshot = cache / "models--org--tiny" / "snapshots" / "abc"
    (cache / "models--org--tiny" / "refs").mkdir(parents=True)
    (cache / "models--org--tiny" / "refs" / "main").write_text("abc")
    shutil.copytree(RECORDED / "huggingface_mpnet" / "model", snapshot)
    assert Path(local_handle("hf://org/tiny")) == snapshot
    encoder = ta.HubEncoder("hf://org/tiny")
    assert (encoder.family, encoder.handle) == ("mpnet", "hf://org/tiny")
    with fetching(allowed=False):
        assert find_module("hf://org/tiny") == snapshot


def test_what_another_library_left_in_the_cache_is_completed(tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub")
    asked = []

    def download(name, local_files_only, **options):
        asked.append((name, options["revision"], local_files_only))
        return str(RECORDED / "huggingface_mpnet" / "model")

    monkeypatch.setattr(hub, "snapshot_download", download)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    for _ in range(2):
        find_module("hf://org/partial@v1")
    assert asked == [("org/partial", "v1", False)]
    with fetching(allowed=False):
        find_module("hf://org/partial@v1")
    assert asked[1:] == [("org/partial", "v1", True)]


def test_the_newest_whole_version_of_kaggles_cache_needs_no_network(tmp_path, monkeypatch):
    pytest.importorskip("kagglehub")
    monkeypatch.setenv("KAGGLEHUB_CACHE", str(tmp_path))
    versions = tmp_path / "models" / "owner" / "bert" / "keras" / "small"
    for version in (2, 9, 10, 11):
        (versions / str(version)).mkdir(parents=True)
        if version < 11:
            (versions / f"{version}.complete").touch()
    handle = "kaggle://owner/bert/keras/small"
    with fetching(allowed=False):
        assert local_handle(handle) == str(versions / "10")
        assert local_handle(f"{handle}/2") == str(versions / "2")
        with pytest.raises(ArtifactError, match="not on this machine"):
            local_handle(f"{handle}/11")


def test_what_is_not_in_a_cache_is_told_how_to_get(cache):
    for handle, asked in [
        ("hf://org/none", "org/none"),
        ("hf://org/none@v2", "org/none --revision v2"),
    ]:
        line = f"HF_HUB_OFFLINE.* `hf download {asked} --local-dir none`, and"
        with pytest.raises(ArtifactError, match=line):
            load_module(handle)
    with (
        fetching(allowed=False),
        pytest.raises(ArtifactError, match="not on this machine, and the config of a run"),
    ):
        load_module("hf://org/none")
    for handle, message in [
        ("hf://a/b/c", "expected hf://ORG/NAME or hf://ORG/NAME@REVISION"),
        *((f"hf://a/{name}", "expected hf://ORG/NAME") for name in ("b--c", "b.", "x.git", "näme")),
        ("hf://a/b@../../x", "expected hf://ORG/NAME"),
        ("hf://", "expected hf://ORG/NAME"),
        ("kaggle://google/bert", "expected kaggle://OWNER/MODEL/FRAMEWORK/VARIATION"),
    ]:
        with pytest.raises(ConfigError, match=message):
            load_module(handle)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ConnectionError("a\nlong text"), r"and there is no connection to the hub; try again"),
        (ValueError(404), "and the hub answered 404: there is no such model or revision; compare"),
        (ValueError(503), "and the hub answered 503: try again later$"),
        (
            OSError(28, "No space left"),
            r"failed \(OSError: \[Errno 28\] No space left\); try again",
        ),
    ],
)
def test_why_a_download_failed_is_one_line(tmp_path, monkeypatch, error, message):
    hub = pytest.importorskip("huggingface_hub")
    if isinstance(error, ValueError):
        error.response = SimpleNamespace(status_code=error.args[0])

    def download(*_, **__):
        raise FileNotFoundError("An error happened. Please see the documentation") from error

    monkeypatch.setattr(hub, "snapshot_download", download)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ArtifactError, match=message) as refused:
        find_module("hf://org/failing")
    assert len(str(refused.value)) < 300


def with_pooling(folder: Path, settings: dict) -> Path:
    shutil.copytree(RECORDED / "huggingface_mpnet" / "model", folder)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(settings))
    return folder


@pytest.mark.parametrize(
    "settings",
    [
        {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True},
        {"pooling_mode": "mean", "include_prompt": True, "pooling_mode_mean_tokens": True},
    ],
)
def test_the_vector_of_a_sentence_transformer_is_its_pooling(tmp_path, settings):
    encoder = ta.HubEncoder(with_pooling(tmp_path / "mpnet", settings))
    encoded = encoder(TEXTS)
    top, mask = encoded["layers"][-1].numpy(), encoded["mask"].numpy()
    for row, real, found in zip(top, mask, encoded["pooled"].numpy(), strict=True):
        np.testing.assert_allclose(found, row[real].mean(axis=0), atol=1e-6)
    assert encoder.unread_groups == ("pooler",) and "pooler" not in encoder.trainable_groups
    encoder.leave_unread(())
    assert "pooler" not in encoder.trainable_groups


def test_the_hash_is_of_what_is_read(tmp_path):
    folder = with_pooling(tmp_path / "mpnet", {"pooling_mode": "mean"})
    before = module_hash(folder)
    for name in ("README.md", ".cache/huggingface/lock", "onnx/model.onnx"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("changed")
    assert load_module(folder).hash == module_hash(folder) == before
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode": "cls"}')
    assert module_hash(folder) != before


def test_a_vector_that_goes_through_more_is_refused(tmp_path):
    folder = with_pooling(tmp_path / "mpnet", {"pooling_mode": "mean"})
    kinds = ["Transformer", "Pooling", "Normalize", "Dense"]
    modules = [{"type": f"sentence_transformers.models.{kind}"} for kind in kinds]
    (folder / "modules.json").write_text(json.dumps(modules[:3]))
    assert load_module(folder).pooling == "mean"
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(ArtifactError, match="modules.json: .*got .*Dense.*remove the file to read"):
        load_module(folder)


def test_another_pooling_is_refused(tmp_path):
    folder = with_pooling(tmp_path / "mpnet", {"pooling_mode_max_tokens": True})
    with pytest.raises(ArtifactError, match="1_Pooling/config.json: expected one of the poolings"):
        load_module(folder)
