"""Encoders in HuggingFace's format: read back, read by its own libraries."""

import json
import logging
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from made_runs import make_run
from random_modules import write_tiny_bert
from small_data import TASKS
from transformers_process import transformers_states

import tf_adapt as ta
from hub_modules.load import load_module
from hub_modules.preprocess.bert import SPECIAL_TOKENS
from hub_modules.preprocess.byte_pairs import byte_signs
from hub_modules.sentence_transformers import SentenceSettings, read_settings, settings_texts
from hub_modules.sources import huggingface
from hub_modules.sources.files.tokenizer_texts import byte_pair_texts
from tf_adapt.commands.main import cli
from tf_adapt.errors import ConfigError
from tf_adapt.training.finished.module_export import encoder_source, export_huggingface

TEXTS = ["the cat sat, on the mat.", "The CAT isn't NAÏVE", "you 你好", "x"]
RECORDED = Path(__file__).parents[2] / "parity" / "recorded"
MODULES = {
    "bert": "bert_small",
    "causal": RECORDED / "huggingface_gpt2" / "model",
    "modern_bert": RECORDED / "huggingface_modern_bert" / "model",
    "mpnet": RECORDED / "huggingface_mpnet" / "model",
}


@pytest.fixture(scope="module", params=MODULES)
def written(request, tmp_path_factory) -> tuple[ta.HubEncoder, Path]:
    """A tuned encoder, and its folder."""
    encoder = ta.HubEncoder(MODULES[request.param])
    for weight in encoder.weights:
        weight.assign(weight * 1.01)
    folder = tmp_path_factory.mktemp("written") / request.param
    huggingface.writer_of(request.param)(encoder_source(encoder), folder)
    return encoder, folder


def test_read_back_it_is_the_same(written):
    encoder, folder = written
    again = load_module(folder)
    for name, weight in again.encoder.weights_by_name().items():
        np.testing.assert_array_equal(weight, encoder.native.weights_by_name()[name])
    assert again.encoder.get_config() == encoder.native.get_config() | {"name": again.encoder.name}
    ids = again.preprocessor(TEXTS)["input_word_ids"]
    np.testing.assert_array_equal(ids, encoder.preprocessor(TEXTS)["input_word_ids"])


def test_its_tokenizer_reads_as_ours(written):
    encoder, folder = written
    tokenizers = pytest.importorskip("tokenizers")
    found, wrapped = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")), slice(None)
    if encoder.family == "causal":  # as GPT-2's own, without a row's first and last token
        wrapped = slice(1, -1)
        files = str(folder / "vocab.json"), str(folder / "merges.txt")
        theirs = tokenizers.ByteLevelBPETokenizer(*files)
        assert all(found.encode(text).ids == theirs.encode(text).ids for text in TEXTS)
        settings = json.loads((folder / "config.json").read_text())
        end = found.token_to_id("<|endoftext|>")
        assert (settings["bos_token_id"], settings["eos_token_id"]) == (end, end)
    packed = encoder.preprocessor(TEXTS)
    rows = zip(packed["input_word_ids"].numpy(), packed["input_mask"].numpy(), strict=True)
    for text, (ids, mask) in zip(TEXTS, rows, strict=True):
        assert found.encode(text).ids == ids[mask == 1][wrapped].tolist(), text
    if encoder.family != "causal":
        pair = encoder.preprocessor(([TEXTS[0]], [TEXTS[1]]))
        encoded = found.encode(TEXTS[0], TEXTS[1])
        assert encoded.ids == pair["input_word_ids"].numpy()[0].tolist()


def test_an_added_token_that_merges_make_stays_in_the_vocabulary():
    tokenizers = pytest.importorskip("tokenizers")
    pieces = [*byte_signs(), "ab", "abc", "new", *SPECIAL_TOKENS.values(), "[UNK]"]
    added = {"as_written": {"ab": 256, "new": 258}, "normalized": {}}
    texts = byte_pair_texts(pieces, ["a b", "ab c"], added, SPECIAL_TOKENS)
    vocabulary = json.loads(texts["tokenizer.json"])["model"]["vocab"]
    assert len(vocabulary) == 258 and "new" not in vocabulary
    found = tokenizers.Tokenizer.from_str(texts["tokenizer.json"]).encode("abcnew")
    assert found.tokens == ["[CLS]", "ab", "c", "new", "[SEP]"]


@pytest.mark.oracle
def test_transformers_computes_the_same(written, tmp_path):
    encoder, folder = written
    ids, mask, (*_, top), _ = transformers_states(folder, TEXTS, tmp_path)
    inputs = {"input_word_ids": ids, "input_mask": mask, "input_type_ids": np.zeros_like(ids)}
    inputs = {name: array.astype("int32") for name, array in inputs.items()}
    found = encoder.native(inputs)["layers"][-1].numpy()
    np.testing.assert_allclose(found[mask == 1], top[mask == 1], atol=1e-5)
    if encoder.family != "causal":
        np.testing.assert_array_equal(ids, encoder.preprocessor(TEXTS)["input_word_ids"])


def test_the_command_writes_a_run_and_a_handle(tmp_path):
    out = tmp_path / "bert"
    command = ["module", "export", "bert_small", "--format", "huggingface", "--out", str(out)]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 0, result.output
    assert {path.name for path in out.iterdir()} == {
        "README.md",
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "vocab.txt",
    }
    card = (out / "README.md").read_text()
    header = "---\nlibrary_name: transformers\ntags:\n- tf_adapt\n- feature-extraction\n---\n\n"
    assert card.startswith(f"{header}# bert_small, in HuggingFace's format")
    assert "encoder/" not in card and "sentence_transformers" not in card
    assert "the module bert_small says:" in card
    again = CliRunner().invoke(cli, command)
    assert again.exit_code != 0 and "exist" in again.output
    for handle in ("bert_small", str(out)):
        result = CliRunner().invoke(cli, ["module", "export", handle, "--out", str(tmp_path / "m")])
        assert "got the handle of a module, which is one already; add --format" in result.output
    with pytest.raises(ConfigError, match="of a BERT, .*keras-hub's layers, got the family"):
        export_huggingface("elmo_small", tmp_path / "elmo")


def sentence_folder(folder: Path, prompts: dict | None = None, **changed) -> Path:
    """A tiny MPNet as sentence-transformers has it: its mean, of length 1, of 5 positions."""
    shutil.copytree(MODULES["mpnet"], folder)
    settings = SentenceSettings(pooling="mean", longest=5, normalized=True)._replace(**changed)
    for name, text in settings_texts(settings, 16, prompts or {}).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def content(folder: Path, name: str) -> dict:
    return json.loads((folder / name).read_text())


def test_a_sentence_transformer_stays_one(tmp_path):
    prompts = {
        "prompts": {"query": "the cat ", "passage": "you "},
        "default_prompt_name": "query",
    }
    folder = sentence_folder(tmp_path / "mpnet", prompts)
    (folder / "README.md").write_text("Its own.")
    written = export_huggingface(folder, tmp_path / "written")
    assert read_settings(written) == read_settings(folder)
    assert content(written, "1_Pooling/config.json")["word_embedding_dimension"] == 16
    assert content(written, "sentence_bert_config.json")["max_seq_length"] == 5
    modules = content(written, "modules.json")
    assert [one["path"] for one in modules] == ["", "1_Pooling", "2_Normalize"]
    assert modules[2]["type"] == "sentence_transformers.models.Normalize"
    assert content(written, "config_sentence_transformers.json") == prompts
    assert (written / "README.md").read_text() == "Its own."


def test_prompts_of_a_run_are_written_for_a_sentence_transformer_and_read_again(tmp_path, caplog):
    folder = sentence_folder(tmp_path / "mpnet", longest=None, normalized=False)
    run = make_run(tmp_path / "run", folder, "classification", encoder={"prompts": "the cat "})
    with caplog.at_level(logging.WARNING):
        written = export_huggingface(run, tmp_path / "written")
    assert "are no part" not in caplog.text
    assert "the cat" in (written / "README.md").read_text()
    prompts = {"query": "the cat ", "document": "the cat "}
    expected = {"prompts": prompts, "default_prompt_name": "query"}
    assert content(written, "config_sentence_transformers.json") == expected
    assert ta.HubEncoder(written).prompts == ("the cat ",)
    positions = load_module(folder).max_length
    assert content(written, "sentence_bert_config.json")["max_seq_length"] == positions
    assert len(content(written, "modules.json")) == 2
    pair = {"encoder": {"prompts": ["the cat ", "you "]}}
    run = make_run(tmp_path / "pairs", folder, "pair_classification", **pair)
    with caplog.at_level(logging.WARNING):
        export_huggingface(run, tmp_path / "pair_written")
    assert "the prompts ['the cat ', 'you '], with which the encoder learned, are no" in caplog.text


def test_the_card_says_how_transformers_and_sentence_transformers_read_it(tmp_path):
    folder = sentence_folder(tmp_path / "mpnet")
    (folder / "README.md").write_text("---\nlicense: mit\ntags: []\n---\n\n# MPNet\n")
    run = make_run(tmp_path / "run", folder, "classification")
    card = (export_huggingface(run, tmp_path / "written") / "README.md").read_text()
    header = yaml.safe_load(card.split("---\n")[1])
    assert header == {
        "library_name": "sentence-transformers",
        "license": "mit",
        "tags": ["tf_adapt", "feature-extraction", "sentence-similarity"],
    }
    assert 'SentenceTransformer("THIS_FOLDER").encode(["Some text."])' in card
    for code in re.findall("```python\n(.*?)```", card, re.DOTALL):
        compile(code, "card", "exec")
    card = (export_huggingface("lm_small", tmp_path / "lm") / "README.md").read_text()
    assert 'tokenizer(["<|endoftext|>Some text.<|endoftext|>"]' in card


def test_lora_is_merged(tmp_path):
    write_tiny_bert(tmp_path / "tiny")
    encoder = ta.HubEncoder(tmp_path / "tiny")
    ta.build_model(TASKS["classification"], encoder, adaptation=ta.lora(rank=2))
    for weight in encoder.weights:
        weight.assign(weight + 0.1)
    huggingface.write(encoder_source(encoder), tmp_path / "merged")
    found = load_module(tmp_path / "merged").encoder(encoder.preprocessor(TEXTS))
    np.testing.assert_allclose(found["pooled"], encoder(TEXTS)["pooled"], atol=1e-5)
