"""Which handles are keras-hub's, and what to do about those that are almost."""

import builtins
import sys
import types
from pathlib import Path

import pytest
from click.testing import CliRunner
from huggingface_folders import write_folder

from hub_modules.errors import ArtifactError, ConfigError
from hub_modules.find import find_module
from hub_modules.keras_hub.backbones import BACKBONES, backbone_class
from hub_modules.keras_hub.handles import hint, is_preset_name, keras_folder
from hub_modules.load import load_module
from hub_modules.storage.fetching import fetching
from tf_adapt.commands.main import cli

RECORDED = Path(__file__).parents[2] / "parity" / "recorded"


def test_folders_and_names(preset, tmp_path):
    folder = preset("roberta")[0]
    assert keras_folder(folder) == keras_folder(f"keras:{folder}") == find_module(folder) == folder
    folder = preset("bert")[0]
    assert keras_folder(f"keras:{folder}") == find_module(folder) == folder
    assert keras_folder(folder) is None
    assert keras_folder(tmp_path) is None
    assert keras_folder("bert_small") is None
    assert is_preset_name("keras:roberta_base_en")
    assert not is_preset_name(f"keras:{folder}")
    assert not is_preset_name("roberta_base_en")


def test_each_preset_is_hinted_before_a_shipped_name():
    for row in BACKBONES:
        for name in backbone_class(row).presets:
            assert hint(name) == f"; a preset of keras-hub is given as keras:{name}"


def test_names_get_the_line_that_makes_them_work(tmp_path):
    """Further ones are in the table: ../loading/refusals.py."""
    for name in ("st/model.safetensors", "lost/variables/x"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("{}")
    for handle, message in [
        ("deberta_v3_small_en", "; a preset of keras-hub is given as keras:deberta_v3_small_en$"),
        ("Keras:roberta_base_en", "; did you mean keras:roberta_base_en.$"),
        (f"{tmp_path}/st", "or config.json .*, got a folder without them"),
        (f"{tmp_path}/lost", "saved_model.pb is missing; install or convert"),
        ("roberta-base", "hf://roberta-base, a preset of keras-hub keras:roberta_base"),
        ("google/electra-small-discriminator", "is hf://google/electra-small-discriminator$"),
        ("keras:FacebookAI/roberta-base", "is hf://FacebookAI/roberta-base"),
        ("keras:", "no such folder"),
        ("openai-community/gpt2", "is hf://openai-community/gpt2$"),
        ("keras:distilgpt2", "no preset of this name.*hf://distilgpt2"),
        (
            "gpt2_base_en",
            "`tf-adapt module convert --from keras-nlp keras:gpt2_base_en --out gpt2_base_en`, "
            "and give gpt2_base_en$",
        ),
    ]:
        with pytest.raises(ArtifactError, match=message):
            load_module(handle)


def test_a_folder_of_huggingface_given_by_itself(tmp_path):
    roberta = write_folder("roberta", tmp_path / "roberta")
    assert keras_folder(roberta) == find_module(roberta) == roberta
    folder = write_folder("bert", tmp_path / "bert")
    assert keras_folder(folder) is None and find_module(folder) == folder
    assert load_module(folder).family == "bert"
    other = write_folder("bert", tmp_path / "other", model_type="t5")
    with pytest.raises(ArtifactError, match="expected one of the families bert, gpt2, modernbert"):
        load_module(other, trust=True)


@pytest.fixture
def converted(monkeypatch) -> list:
    """What is converted; writing it takes seconds."""
    found = []
    monkeypatch.setattr("hub_modules.export.write_module", lambda one, *_, **__: found.append(one))
    return found


def test_a_gpt2_is_native_by_its_folder():
    for folder in (RECORDED / "huggingface_gpt2" / "model", RECORDED / "keras_hub_gpt2" / "preset"):
        assert load_module(folder).family == "causal"
        with pytest.raises(ArtifactError, match="left to right.*give the folder without keras:"):
            load_module(f"keras:{folder}")


@pytest.fixture
def downloading(monkeypatch):
    """A function in the place of kagglehub's download."""
    import keras_hub  # noqa: F401  # needs the real one

    def replaced(download):
        found = types.SimpleNamespace(model_download=download)
        monkeypatch.setitem(sys.modules, "kagglehub", found)

    return replaced


def test_a_preset_of_gpt2_is_converted_by_its_name(tmp_path, downloading, converted):
    asked = []

    def download(handle):
        asked.append(handle)
        return str(RECORDED / "keras_hub_gpt2" / "preset")

    downloading(download)
    arguments = ["module", "convert", "--from", "keras-nlp", "keras:gpt2_base_en", "--out"]
    result = CliRunner().invoke(cli, [*arguments, str(tmp_path / "module")])
    assert result.exit_code == 0, result.output
    assert asked[0].startswith("keras/gpt2/keras/gpt2_base_en/")
    assert [one.family for one in converted] == ["causal"]


def test_a_preset_is_downloaded_by_its_name(preset, downloading):
    asked = []

    def download(handle):
        asked.append(handle)
        return str(preset("roberta")[0])

    downloading(download)
    assert load_module("keras:roberta_base_en").family == "keras"
    assert asked[0].startswith("keras/roberta/keras/roberta_base_en/")


def test_what_a_foreign_run_names_is_not_downloaded(tmp_path, monkeypatch):
    monkeypatch.setenv("KAGGLEHUB_CACHE", str(tmp_path))
    with fetching(allowed=False), pytest.raises(ArtifactError, match="roberta_base_en.*--trust"):
        load_module("keras:roberta_base_en")


def test_a_download_that_fails(downloading):
    def download(handle):
        raise OSError("no route")

    downloading(download)
    with pytest.raises(
        ArtifactError,
        match="the download failed .OSError: no route.*model_download.*roberta_base_en",
    ):
        load_module("keras:roberta_base_en")


def test_an_old_keras_hub(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "keras_hub", types.SimpleNamespace(__version__="0.20.1"))
    with pytest.raises(ConfigError, match="expected keras-hub 0.32 or newer, got 0.20.1"):
        load_module(f"keras:{write_folder('roberta', tmp_path)}")


@pytest.mark.parametrize("missing", ["keras_hub", "safetensors"])
def test_what_to_install(missing, tmp_path, monkeypatch):
    folder = write_folder("roberta", tmp_path)
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == missing:
            raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)
        return real(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "hub_modules.keras_hub.huggingface", raising=False)
    monkeypatch.delattr("hub_modules.keras_hub.huggingface", raising=False)
    # It is imported anew, as in a process in which it was never there.
    monkeypatch.delitem(sys.modules, "hub_modules.sources.files.safetensors_file", raising=False)
    monkeypatch.delitem(sys.modules, missing, raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setattr("importlib.import_module", lambda name: without(name))
    with pytest.raises(ConfigError, match=rf"{missing}.*pip install 'tf_adapt\[keras-hub\]'"):
        load_module(f"keras:{folder}")
