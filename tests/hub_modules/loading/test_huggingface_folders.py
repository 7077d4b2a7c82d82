"""Folders of HuggingFace's format and names of model hubs as handles."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from made_runs import make_run
from small_data import TEXTS

import tf_adapt as ta
from hub_modules.find import find_module
from hub_modules.load import load_module, module_text_settings, runs_natively
from hub_modules.manifest import module_hash
from hub_modules.sources import huggingface
from hub_modules.storage.fetching import fetching
from hub_modules.storage.model_hubs import local_handle
from tf_adapt.data.packing.prepare import prepare
from tf_adapt.errors import ArtifactError, ConfigError, DataError
from tf_adapt.training.resolving.run_config import changed_keys, saved_config
from tf_adapt.training.resolving.whole_config import whole_config

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
        weights = "model.safetensors" in options["allow_patterns"]
        asked.append((name, options["revision"], local_files_only, weights))
        return str(RECORDED / "huggingface_mpnet" / "model")

    monkeypatch.setattr(hub, "snapshot_download", download)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    for _ in range(2):
        find_module("hf://org/partial@v1")
    assert asked == [("org/partial", "v1", False, weights) for weights in (False, True)]
    with fetching(allowed=False):
        find_module("hf://org/partial@v1")
    assert set(asked[2:]) == {("org/partial", "v1", True, weights) for weights in (False, True)}


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A function that puts files on a hub, and the folder of what is fetched from it."""
    package = pytest.importorskip("huggingface_hub")
    from huggingface_hub.utils import filter_repo_objects

    fetched = tmp_path / "fetched"

    def put(files: dict[str, str]) -> Path:
        def download(name, allow_patterns, ignore_patterns, **_):
            patterns = {"allow_patterns": allow_patterns, "ignore_patterns": ignore_patterns}
            for file in filter_repo_objects(files, **patterns):
                (fetched / file).parent.mkdir(parents=True, exist_ok=True)
                (fetched / file).write_text(files[file])
            return str(fetched)

        monkeypatch.setattr(package, "snapshot_download", download)
        monkeypatch.setattr(package, "file_exists", lambda name, file, **_: file in files)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
        return fetched

    return put


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"config.json": '{"model_type": "t5"}', "model.safetensors": ""},
            r"^module hf://org/name: .*\(t5\); expected one of the families bert, gpt2",
        ),
        (
            {"adapter_config.json": "{}", "adapter_model.safetensors": ""},
            "a PEFT adapter",
        ),
        (
            {
                "config.json": '{"model_type": "bert"}',
                "model.safetensors.index.json": "{}",
                "model-00001-of-00002.safetensors": "",
            },
            "hf://org/name: expected model.safetensors, got weights in several files; save them as",
        ),
        (
            {"config.json": '{"model_type": "bert"}', "pytorch_model.bin": ""},
            "hf://org/name: it has no model.safetensors, .*; .* .hf://org/name@refs/pr/N, .*save",
        ),
    ],
)
def test_what_is_not_read_is_refused_before_its_weights_are_fetched(hub, files, message):
    fetched = hub(files)
    with pytest.raises(ArtifactError, match=message):
        find_module("hf://org/name")
    assert {path.name for path in fetched.iterdir()} == {n for n in files if n.endswith(".json")}


def test_a_model_is_fetched_without_what_is_not_read(hub):
    read = ["config.json", "model.safetensors", "vocab.txt", "1_Pooling/config.json"]
    files = dict.fromkeys([*read, "model.fp16.safetensors", "onnx/x.json", "tf_model.h5"], "{}")
    fetched = hub(files | {"config.json": '{"model_type": "mpnet"}'})
    assert find_module("hf://org/name") == fetched
    assert sorted(read) == sorted(
        path.relative_to(fetched).as_posix() for path in fetched.rglob("*") if path.is_file()
    )


def test_a_part_of_a_model_in_the_cache_needs_the_network(cache):
    folder = cache / "models--org--part"
    (folder / "snapshots" / "abc").mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("abc")
    (folder / "snapshots" / "abc" / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(ArtifactError, match="HF_HUB_OFFLINE forbids to download it; unset that"):
        find_module("hf://org/part")
    with fetching(allowed=False), pytest.raises(ArtifactError, match="not on this machine"):
        find_module("hf://org/part")


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
        *((f"hf://a/{name}", "expected hf://ORG/NAME") for name in ("b--c", "b.", "x.git", "näme")),
        ("hf://a/b@../../x", "expected hf://ORG/NAME"),
        ("hf://", "expected hf://ORG/NAME"),
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


def test_a_vector_that_is_normalised_is_read(tmp_path):
    """What else may stand behind the pooling is refused: refusals.py."""
    folder = with_pooling(tmp_path / "mpnet", {"pooling_mode": "mean"})
    kinds = ["Transformer", "Pooling", "Normalize"]
    modules = [{"type": f"sentence_transformers.models.{kind}"} for kind in kinds]
    (folder / "modules.json").write_text(json.dumps(modules))
    assert load_module(folder).sentence.pooling == "mean"


def sentence_folder(folder: Path, prompt: str | None = None, **pooling) -> Path:
    with_pooling(folder, {"pooling_mode": "mean", **pooling})
    prompts = {"prompts": {"query": prompt}, "default_prompt_name": prompt and "query"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    return folder


def test_the_default_prompt_of_a_folder_is_the_encoders(tmp_path):
    encoder = ta.HubEncoder(sentence_folder(tmp_path / "mpnet", "you "))
    plain = ta.HubEncoder(encoder.handle, prompts=[])
    assert (encoder.prompts, plain.prompts) == (("you ",), ())
    assert ta.HubEncoder(encoder.handle, prompts="x ").prompts == ("x ",)
    expected = plain([f"you {text}" for text in TEXTS])["pooled"]
    np.testing.assert_array_equal(encoder(TEXTS)["pooled"], expected)
    assert ta.HubEncoder.from_config(plain.get_config()).prompts == ()
    with pytest.raises(ConfigError, match=r"prompts: expected none together with long.*to \[\]"):
        ta.HubEncoder(encoder.handle, long=ta.LongTexts(8, 3))


def test_a_default_prompt_that_is_none_of_the_folders_is_refused(tmp_path):
    folder = sentence_folder(tmp_path / "mpnet", "you ")
    text = '{"prompts": {"query": "you "}, "default_prompt_name": "document"}'
    (folder / "config_sentence_transformers.json").write_text(text)
    with pytest.raises(ArtifactError, match="default_prompt_name: expected .* got 'document'"):
        ta.HubEncoder(folder)


def test_texts_that_are_lower_cased_for_a_cased_tokenizer_are_refused(tmp_path):
    folder = sentence_folder(tmp_path / "mpnet")
    (folder / "sentence_bert_config.json").write_text('{"do_lower_case": true}')
    assert ta.HubEncoder(folder).prompts == ()  # its tokenizer lower-cases itself
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"do_lower_case": False}))
    (folder / "tokenizer.json").unlink(missing_ok=True)
    with pytest.raises(ArtifactError, match="do_lower_case: sentence-transformers lower-cases"):
        ta.HubEncoder(folder)


def test_a_prompt_that_the_vector_leaves_out_is_refused(tmp_path):
    folder = sentence_folder(tmp_path / "mpnet", "you ", include_prompt=False)
    with pytest.raises(ConfigError, match=r"include_prompt: false in 1_Pooling.*\('you ',\)"):
        ta.HubEncoder(folder)
    with pytest.raises(ConfigError, match="expected none for a module that leaves them out"):
        ta.HubEncoder(folder, prompts="x ")
    assert ta.HubEncoder(folder, prompts=[]).prompts == ()


def test_the_limit_of_a_folder_is_that_of_texts_unless_a_longer_one_is_asked_for(tmp_path):
    folder = sentence_folder(tmp_path / "mpnet")
    long, positions = ["you " * 8], ta.HubEncoder(folder).max_length
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 6}')
    encoder = ta.HubEncoder(folder)
    assert (encoder.max_length, encoder.most_positions) == (6, positions)
    with pytest.raises(DataError, match="at most 6 positions.*got 26"):
        encoder(long)
    task = ta.Task("classification", ["no", "yes"])
    with pytest.raises(DataError, match="26"):
        prepare(long, task, encoder)
    assert prepare(long, task, encoder, truncate=True).truncated == 1
    assert prepare(long, task, encoder, max_length=positions).lengths.tolist() == [26]
    with pytest.raises(ConfigError, match=f"max_length: expected .* at most {positions}, "):
        prepare(long, task, encoder, max_length=positions + 1)
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 9999}')
    assert ta.HubEncoder(folder).max_length == positions


def test_a_run_keeps_what_its_folder_said_when_it_was_trained(tmp_path):
    folder = sentence_folder(tmp_path / "mpnet")
    run, before = make_run(tmp_path / "run", folder, "classification"), ta.HubEncoder(folder)
    earlier = before.get_config() | {"prompts": None}  # of a `.keras` file
    prompts = {"prompts": {"query": "you "}, "default_prompt_name": "query"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 6}')
    for encoder in (ta.load_run(run).encoder, ta.HubEncoder.from_config(earlier)):
        assert (encoder.prompts, encoder.max_length) == ((), before.max_length)
    config = saved_config(run)
    told = whole_config(config)
    assert (told.encoder.prompts, told.training.max_length) == (["you "], 6)
    assert list(changed_keys(config, told)) == ["encoder.prompts", "training.max_length"]
