"""BERT from keras-nlp (today keras-hub): a `BertBackbone` object, or a preset folder.

A preset is `config.json`, `model.weights.h5`, `tokenizer.json`, `assets/tokenizer/vocabulary.txt`;
it is read as data, so keras-hub need not be installed. The activation is the tanh form of GELU, the
LayerNorm's ε 1e-12. Text is lower-cased and stripped of accents together, as in the original BERT,
whatever a preset's `strip_accents` says: its weights come from there.

Source: keras-hub (`models/bert/bert_backbone.py`, `layers/modeling/transformer_encoder.py`).
"""

import re
from pathlib import Path

from keras import ops

from hub_modules.sources import ModuleSource
from hub_modules.sources.bert_layout import bert_shapes, check_heads
from hub_modules.sources.folder import lower_casing, read_json, read_vocabulary, setting
from hub_modules.sources.hdf5 import open_strictly
from hub_modules.sources.names import Row, Table, check, expand, to_ours
from tf_adapt.errors import ArtifactError

# Weight of the object; the same weight in the file; ours; step.
_OBJECT, _FILE, _OURS = "transformer_layer_{layer}", "layers/transformer_encoder_{layer}", "layer_{layer}"
_OBJECT_SELF, _FILE_SELF = f"{_OBJECT}/self_attention_layer", f"{_FILE}/self_attention_layer"
LAYERS = [
    ("token_embedding/embeddings", "layers/reversible_embedding/vars/0", "embeddings/word_embeddings"),
]
