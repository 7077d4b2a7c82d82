"""keras-hub's own models of random weights, saved as presets by keras-hub itself."""

import keras
import numpy as np
import pytest
from huggingface_folders import keras_hub_is_new, write_folder

NEW = ["test_presets.py", "test_huggingface.py", "test_handles.py", "test_tokenizer_files.py"]
collect_ignore = [] if keras_hub_is_new() else NEW

SIZES = {
    "num_layers": 2,
    "num_heads": 2,
    "hidden_dim": 12,
    "intermediate_dim": 16,
    "max_sequence_length": 40,
}
SHARED = {"num_groups": 1, "num_inner_repetitions": 1, "embedding_dim": 6}


def _tokenizer(family: str, files):
    from keras_hub import tokenizers as all_tokenizers

    if family == "roberta":
        return all_tokenizers.RobertaTokenizer(str(files / "vocab.json"), str(files / "merges.txt"))
    kinds = {
        "bert": all_tokenizers.BertTokenizer,
        "distilbert": all_tokenizers.DistilBertTokenizer,
        "electra": all_tokenizers.ElectraTokenizer,
        "xlm_roberta": all_tokenizers.XLMRobertaTokenizer,
        "albert": all_tokenizers.AlbertTokenizer,
        "deberta_v3": all_tokenizers.DebertaV3Tokenizer,
    }
    if (files / "vocab.txt").is_file():
        return kinds[family](str(files / "vocab.txt"), lowercase=family != "distilbert")
    return kinds[family](next(files.glob("*.model")).read_bytes())


def _backbone(family: str, rows: int):
    from keras_hub import models

    kinds = {
        "bert": (models.BertBackbone, {}),
        "roberta": (models.RobertaBackbone, {}),
        "xlm_roberta": (models.XLMRobertaBackbone, {}),
        "distilbert": (models.DistilBertBackbone, {}),
        "albert": (models.AlbertBackbone, SHARED),
        "electra": (models.ElectraBackbone, {"embedding_dim": 6}),
        "deberta_v3": (models.DebertaV3Backbone, {"bucket_size": 4}),
    }
    kind, more = kinds[family]
    size = "vocab_size" if family == "electra" else "vocabulary_size"
    backbone = kind(**SIZES, **more, **{size: rows})
    random = np.random.default_rng(3)
    for weight in backbone.weights:
        weight.assign(random.normal(size=weight.shape, scale=0.3))
    return backbone


@pytest.fixture(scope="session")
def preset(tmp_path_factory):
    """`preset(family)` → (folder, backbone, tokenizer); each is made once."""
    made = {}

    def make(family: str):
        if family not in made:
            place = tmp_path_factory.mktemp(family)
            tokenizer = _tokenizer(family, write_folder(family, place / "huggingface"))
            backbone = _backbone(family, tokenizer.vocabulary_size())
            folder = place / f"{family}_preset"
            backbone.save_to_preset(folder)
            tokenizer.save_to_preset(folder)
            made[family] = (folder, backbone, tokenizer)
        return made[family]

    keras.utils.set_random_seed(0)
    return make
