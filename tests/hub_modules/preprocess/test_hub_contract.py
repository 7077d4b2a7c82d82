"""The exported preprocessing module, read back, and exported again."""

import inspect
import json
import os
import shutil
import string
import subprocess

import numpy as np
import pytest
import tensorflow as tf

from hub_modules.preprocess import BertPreprocessor, SavedModelPreprocessor, hub_preprocessor
from tf_adapt.errors import ArtifactError

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = [*SPECIAL, *string.ascii_lowercase, *(f"##{c}" for c in string.ascii_lowercase)]
TEXTS = ["Hi a", "§ bab", ""]


def found_in(module, texts) -> dict:
    words = module.tokenize(texts)
    pack = module.bert_pack_inputs
    special = module.tokenize.get_special_tokens_dict()
    return {
        "words": words.to_list(),
        "packed": pack([words], seq_length=6)["input_word_ids"].numpy().tolist(),
        "pair": pack([words, words], seq_length=7)["input_type_ids"].numpy().tolist(),
        "default": module(texts)["input_word_ids"].shape.as_list(),
        "special": {name: int(value) for name, value in special.items()},
    }


# Only TensorFlow and tensorflow-text: the folder of this project is not on the path.
READER = f"""
import json, sys
import tensorflow as tf
import tensorflow_text

{inspect.getsource(found_in)}
found = found_in(tf.saved_model.load(sys.argv[1]), tf.constant(json.loads(sys.argv[2])))
assert not [name for name in sys.modules if name.split(".")[0] in ("tf_adapt", "hub_modules")]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def ours():
    return hub_preprocessor(BertPreprocessor(VOCABULARY, lower_case=True))


@pytest.fixture(scope="module")
def moved(ours, tmp_path_factory):
    """The module, saved, and moved away from where it was written."""
    folder = tmp_path_factory.mktemp("ours")
    tf.saved_model.save(ours, str(folder / "written"))
    shutil.move(folder / "written", folder / "moved")
    return str(folder / "moved")


def test_read_back_it_gives_the_same(ours, moved):
    """In a process without this project, and in models of Keras 2: ../test_export.py."""
    found = found_in(tf.saved_model.load(moved), tf.constant(TEXTS))
    assert found == found_in(ours, tf.constant(TEXTS))
    assert found["default"] == [len(TEXTS), 128]


@pytest.mark.oracle
@pytest.mark.parametrize("variable", ["TF_ADAPT_OLDEST_PYTHON", "TF_ADAPT_NEWEST_PYTHON"])
def test_another_tensorflow_reads_it(ours, moved, variable):
    python = os.environ.get(variable)
    if not python:
        pytest.skip(f"{variable} does not name the interpreter of another TensorFlow")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [python, "-c", READER, moved, json.dumps(TEXTS)],
        capture_output=True,
        text=True,
        env=environment | {"TF_CPP_MIN_LOG_LEVEL": "3"},
        cwd="/",
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1]) == found_in(ours, tf.constant(TEXTS))


@pytest.mark.slow
def test_reading_back_gives_a_preprocessor_that_can_be_exported_again(moved, tmp_path):
    """A re-export must take along what the module loaded: nothing may point back to its folder."""
    copy = str(shutil.copytree(moved, tmp_path / "copy"))

    class Reexport(tf.Module):
        def __init__(self):
            super().__init__()
            self.preprocessor = SavedModelPreprocessor(tf.saved_model.load(copy))

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def __call__(self, texts):
            return self.preprocessor.pack([self.preprocessor.tokenize(texts)])

    module = Reexport()
    expected = module(tf.constant(TEXTS))
    tf.saved_model.save(module, str(tmp_path / "again"))
    shutil.rmtree(copy)
    got = tf.saved_model.load(str(tmp_path / "again"))(tf.constant(TEXTS))
    for name, value in expected.items():
        np.testing.assert_array_equal(got[name], value)


@pytest.mark.slow
def test_a_published_module_survives_a_re_export(reference, tmp_path):
    """The published one keeps its vocabulary in a file, which the re-export must carry along."""
    copy = tmp_path / "module"
    shutil.copytree(reference / "published_hub_bert" / "preprocess", copy)
    holder = tf.Module()
    holder.preprocessor = SavedModelPreprocessor(tf.saved_model.load(str(copy)))
    holder.tokenize = tf.function(
        holder.preprocessor.tokenize, input_signature=[tf.TensorSpec([None], tf.string)]
    )
    expected = holder.tokenize(tf.constant(["Hello there"])).to_list()
    tf.saved_model.save(holder, str(tmp_path / "written"))
    shutil.move(tmp_path / "written", tmp_path / "moved")
    shutil.rmtree(copy)
    again = tf.saved_model.load(str(tmp_path / "moved"))
    assert again.tokenize(tf.constant(["Hello there"])).to_list() == expected


def test_a_module_without_a_tokenizer_is_refused():
    with pytest.raises(ArtifactError, match="expected .tokenize with get_special_tokens_dict"):
        SavedModelPreprocessor(tf.Module())


def test_a_module_that_knows_every_word_is_refused(ours):
    class NoWordPieces:
        def __call__(self, texts):
            return tf.strings.unicode_decode(texts, "UTF-8")

        def get_special_tokens_dict(self):
            return ours.tokenize.get_special_tokens_dict()

    module = tf.Module()
    module.tokenize = NoWordPieces()
    with pytest.raises(ArtifactError, match="expected one unknown token .* got 5000 tokens"):
        SavedModelPreprocessor(module)
