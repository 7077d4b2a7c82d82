"""Encoders, alone and with what adaptations add."""

import keras
from huggingface_folders import keras_hub_is_new
from language_models import ELMO

from hub_modules.keras_hub.encoder import KerasHubEncoder
from hub_modules.native.added.settings import (
    TARGETS,
    BottleneckAdapters,
    Lora,
    ProjectedAdapters,
)
from hub_modules.native.awd_lstm import AwdLstmEncoder
from hub_modules.native.bert import BertEncoder
from hub_modules.native.causal import CausalEncoder
from hub_modules.native.elmo import ElmoEncoder
from hub_modules.native.relative.modern_bert import ModernBertEncoder
from hub_modules.native.relative.mpnet import MPNetEncoder
from hub_modules.native.word_vectors import WordVectorsEncoder
from layer_table.inputs import WIDTH, bert_inputs, elmo_inputs, word_ids
from layer_table.row import encoder

BERT = {
    "vocabulary_size": 20,
    "width": 8,
    "num_layers": 2,
    "num_heads": 2,
    "intermediate_width": 16,
    "max_positions": 64,
    "dropout": 0.2,
    "attention_dropout": 0.2,
}
CAUSAL = BERT | {"vocabulary_size": 18}
MODERN_BERT = CAUSAL | {
    "vocabulary_size": 20,
    "global_layers": [0],
    "local_attention": 2,  # rows of more than three positions are cut into blocks
    "embedding_dropout": 0.2,
}
CONVOLUTIONS = BottleneckAdapters(3, (1,), "relu", "convolution")


def given(layer: type, added) -> type:
    """The class of an encoder whose instances have what an adaptation adds."""

    class Adapted(layer):
        def build(self, input_shape=None):
            super().build(input_shape)
            self.add(added)

    name = f"{layer.__name__} {added.kind}"
    Adapted.__name__ = layer.__name__  # `layer_row` is for the layer itself
    return keras.saving.register_keras_serializable("tests", name)(Adapted)


ENCODERS = {
    "BertEncoder": encoder(
        BertEncoder,
        BERT,
        bert_inputs,
        {
            "type_vocabulary_size": 3,
            "activation": "gelu_tanh",
            "layer_norm_epsilon": 1e-6,
        },
    ),
    "BertEncoder, convolutions as adapters of one layer": encoder(
        given(BertEncoder, CONVOLUTIONS), BERT, bert_inputs
    ),
    "BertEncoder, LoRA": encoder(given(BertEncoder, Lora(4, 2.0, TARGETS)), BERT, bert_inputs),
    "BertEncoder, projected attention": encoder(
        given(BertEncoder, ProjectedAdapters(4)), BERT, bert_inputs
    ),
    "CausalEncoder": encoder(
        CausalEncoder,
        CAUSAL | {"vocabulary_size": 20},
        bert_inputs,
        {
            "activation": "gelu_exact",
            "layer_norm_epsilon": 1e-6,
            "new_rows": 3,
            "segments": 2,
        },
    ),
    "CausalEncoder, new rows, segments and adapters": encoder(
        given(CausalEncoder, BottleneckAdapters(3)),
        CAUSAL | {"new_rows": 2, "segments": 2},
        bert_inputs,
    ),
    "ModernBertEncoder": encoder(
        ModernBertEncoder,
        MODERN_BERT,
        bert_inputs,
        {
            "local_attention": 4,
            "global_base": 50.0,
            "local_base": 20.0,
            "activation": "gelu_tanh",
            "layer_norm_epsilon": 1e-6,
        },
    ),
    "ModernBertEncoder, LoRA": encoder(
        given(ModernBertEncoder, Lora(4, 2.0, TARGETS)), MODERN_BERT, bert_inputs
    ),
    "ModernBertEncoder, convolutions as adapters of one layer": encoder(
        given(ModernBertEncoder, CONVOLUTIONS), MODERN_BERT, bert_inputs
    ),
    "MPNetEncoder": encoder(
        MPNetEncoder,
        BERT,
        bert_inputs,
        {"num_buckets": 8, "activation": "gelu_tanh", "layer_norm_epsilon": 1e-6},
    ),
    "MPNetEncoder, LoRA": encoder(given(MPNetEncoder, Lora(4, 2.0, TARGETS)), BERT, bert_inputs),
    "ElmoEncoder": encoder(
        ElmoEncoder,
        ELMO,
        elmo_inputs,
        {
            "num_layers": 3,
            "skip_connections": False,
            "sentence_boundaries": False,
            "cell_clip": 2.0,
            "projection_clip": None,
            "activation": "tanh",
            "stateful": True,
        },
    ),
    "ElmoEncoder, convolutions as adapters of one layer": encoder(
        given(ElmoEncoder, BottleneckAdapters(3, (0,), "relu", "convolution")),
        ELMO,
        elmo_inputs,
    ),
    "WordVectorsEncoder": encoder(WordVectorsEncoder, {"num_words": 3, "width": WIDTH}, word_ids),
    "AwdLstmEncoder": encoder(
        AwdLstmEncoder,
        {"vocabulary_size": 20, "width": WIDTH, "lstm_width": 9, "num_layers": 3},
        word_ids,
        {
            "word_dropout": 0.1,
            "dropout": 0.1,
            "hidden_dropout": 0.1,
            "weight_dropout": 0.1,
            "output_dropout": 0.3,
        },
    ),
}
# Of the newest stack only: keras-hub needs a newer Keras than the oldest.
SMALL = {
    "num_layers": 2,
    "num_heads": 2,
    "hidden_dim": 8,
    "intermediate_dim": 10,
    "max_sequence_length": 60,
    "dropout": 0.2,
}
ALBERT = {"embedding_dim": 4, "num_groups": 1, "num_inner_repetitions": 2, "num_segments": 2}
if keras_hub_is_new():
    for name, settings, unusual in (
        (
            "RobertaBackbone",
            {},
            {"activation": "gelu_tanh", "layer_norm_epsilon": 1e-6, "pooler": False},
        ),
        ("AlbertBackbone", ALBERT, {}),
        ("DebertaV3Backbone", {"bucket_size": 4}, {}),
    ):
        settings = SMALL | {"vocabulary_size": 20} | settings
        ENCODERS[f"{name}, KerasHubEncoder"] = encoder(
            KerasHubEncoder, {"backbone": name, "settings": settings}, bert_inputs, unusual
        )
