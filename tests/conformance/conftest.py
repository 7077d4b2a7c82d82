"""The table of public layers and heads: what each is made with and called with."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field

import keras
import numpy as np
import pytest
import tensorflow as tf
from huggingface_folders import keras_hub_is_new

from hub_modules.keras_hub.encoder import KerasHubEncoder
from hub_modules.native.added.adapters import (
    BidirectionalAdapter,
    BottleneckAdapter,
)
from hub_modules.native.added.lora import LowRank
from hub_modules.native.added.projected_attention import ProjectedAttention
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
from hub_modules.native.output_layers import (
    BiLanguageModelHead,
    MaskedLanguageModelHead,
    TiedLanguageModelHead,
)
from hub_modules.native.relative.modern_bert import ModernBertEncoder
from hub_modules.native.relative.mpnet import MPNetEncoder
from hub_modules.native.word_vectors import WordVectorsEncoder
from tf_adapt.heads.bcn import BCN
from tf_adapt.heads.bi_attention import BiAttentionHead
from tf_adapt.heads.esim import ESIM
from tf_adapt.heads.linear import LinearHead
from tf_adapt.heads.max_pooling import MaxPoolingHead
from tf_adapt.heads.sentence_pair import SentencePairHead
from tf_adapt.heads.similarity import SimilarityHead
from tf_adapt.heads.span_extractor import SpanExtractor
from tf_adapt.heads.tagger import Tagger
from tf_adapt.layers.bi_lstm import BiLstm
from tf_adapt.layers.crf import CRF
from tf_adapt.layers.maxout import Maxout
from tf_adapt.layers.scalar_mix import ScalarMix
from tf_adapt.tasks.tag_constraints import tag_constraints

LENGTHS = (5, 3)  # real positions of the two rows of every batch
WIDTH = 6


@dataclass(frozen=True)
class Row:
    """A layer, and what it is called with.

    `inputs(extra)` gives its arguments with `extra` positions of padding after the longest row;
    `real` takes what is not padding out of its outputs; `unusual` completes `config` to a value
    other than the default for every argument; `call` is how a layer is called whose work is done
    by a method: `call(layer, *inputs, **options)`.
    """

    layer: type
    config: dict
    inputs: Callable[[int], tuple]
    real: Callable
    unusual: dict = field(default_factory=dict)
    gives_logits: bool = True
    call: Callable | None = None

    def make(self, seed: int = 0, **changes) -> keras.layers.Layer:
        """A built layer with normally distributed weights, so that no bias is zero."""
        keras.utils.set_random_seed(seed)
        layer = self.layer(**self.config | changes)
        self.outputs(layer, *self.inputs(0))
        random = np.random.default_rng(seed)
        for weight in layer.weights:
            if weight.dtype == "float32":
                weight.assign(random.normal(size=weight.shape, scale=0.3))
        return layer

    def outputs(self, layer: keras.layers.Layer, *inputs, **options):
        return (self.call or type(layer).__call__)(layer, *inputs, **options)

    def results(
        self, layer: keras.layers.Layer, extra: int = 0, graph: bool = False, **options
    ) -> list[np.ndarray]:
        """What a layer makes of this row's inputs, without the padding."""
        run = functools.partial(self.outputs, layer)
        parts = self.real((tf.function(run) if graph else run)(*self.inputs(extra), **options))
        return [np.asarray(tf.cast(part, tf.float32)) for part in parts]


def bert_inputs(extra: int) -> tuple:
    random = np.random.default_rng(1)
    time = LENGTHS[0] + extra
    mask = np.arange(time) < np.array(LENGTHS)[:, None]
    ids = random.integers(1, 20, size=(2, LENGTHS[0]))
    types = random.integers(0, 2, size=(2, LENGTHS[0]))
    spare = ((0, 0), (0, extra))
    inputs = {
        "input_word_ids": np.pad(ids, spare) * mask,
        "input_mask": mask,
        "input_type_ids": np.pad(types, spare) * mask,
    }
    return ({name: array.astype("int32") for name, array in inputs.items()},)


def elmo_inputs(extra: int) -> tuple:
    ids = np.random.default_rng(2).integers(1, 257, size=(2, LENGTHS[0], 50)).astype("int32")
    ids[1, LENGTHS[1] :] = 0
    return ({"character_ids": np.pad(ids, ((0, 0), (0, extra), (0, 0)))},)


def word_ids(extra: int) -> tuple:
    ids = np.random.default_rng(8).integers(1, 4, size=(2, LENGTHS[0])).astype("int32")
    ids[1, LENGTHS[1] :] = 0
    return ({"word_ids": np.pad(ids, ((0, 0), (0, extra)))},)


def text(extra: int, seed: int) -> dict:
    """An encoder's outputs for a head, with junk at padding."""
    random = np.random.default_rng(seed)
    layers = []
    for _ in range(2):
        states = random.normal(size=(2, LENGTHS[0], WIDTH))
        states = np.pad(states, ((0, 0), (0, extra), (0, 0)), constant_values=1e3)
        states[1, LENGTHS[1] :] = -1e3
        layers.append(states.astype("float32"))
    mask = np.arange(LENGTHS[0] + extra) < np.array(LENGTHS)[:, None]
    return {"layers": layers, "mask": mask, "pooled": layers[-1][:, 0]}


def one_text(extra: int) -> tuple:
    return ([text(extra, seed=3)],)


def two_texts(extra: int) -> tuple:
    return ([text(extra, seed=3), text(2 * extra, seed=4)],)


def joint_pair(extra: int) -> tuple:
    """Two texts in one row, `[CLS] a [SEP] b [SEP]`, of one or two words each."""
    types = np.pad([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]], ((0, 0), (0, extra)))
    encoded = text(extra, seed=3)
    inputs = {
        "input_mask": encoded["mask"].astype("int32"),
        "input_type_ids": types.astype("int32"),
    }
    return [encoded], inputs


def joint_sentences(extra: int) -> tuple:
    """As `joint_pair`, of two or three words each, so that an LSTM has something to remember."""
    mask = np.arange(8 + extra) < np.array([[8], [7]])
    types = np.pad([[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1, 1, 0]], ((0, 0), (0, extra)))
    states = np.pad(
        np.random.default_rng(3).normal(size=(2, 8, WIDTH)), ((0, 0), (0, extra), (0, 0))
    )
    states[~mask] = -1e3
    inputs = {"input_mask": mask.astype("int32"), "input_type_ids": types.astype("int32")}
    return [{"layers": [states.astype("float32")], "mask": mask}], inputs


def layers_and_mask(extra: int) -> tuple:
    encoded = text(extra, seed=3)
    return encoded["layers"], encoded["mask"]


def states_and_mask(extra: int) -> tuple:
    encoded = text(extra, seed=3)
    return encoded["layers"][0], encoded["mask"]


def text_and_pieces(extra: int) -> tuple:
    spare = {"pad_width": ((0, 0), (0, extra)), "constant_values": -1}
    first, last = [[0, 2, 3], [1, 2, -1]], [[1, 2, 4], [1, 2, -1]]
    pieces = {"first_piece": np.pad(first, **spare), "last_piece": np.pad(last, **spare)}
    return [text(extra, seed=3)], {name: array.astype("int32") for name, array in pieces.items()}


def states_and_table(extra: int) -> tuple:
    table = np.random.default_rng(7).normal(size=(20, WIDTH))
    return text(extra, seed=3)["layers"][0], table.astype("float32")


def tagged_words(extra: int) -> tuple:
    """Logits, tags and mask for a CRF, with junk at padding."""
    random = np.random.default_rng(6)
    mask = np.arange(LENGTHS[0] + extra) < np.array(LENGTHS)[:, None]
    spare = ((0, 0), (0, extra))
    logits = np.pad(random.normal(size=(2, LENGTHS[0], 3)), (*spare, (0, 0)))
    tags = np.pad(random.integers(0, 3, size=(2, LENGTHS[0])), spare)
    logits[~mask], tags[~mask] = np.nan, -1
    return logits.astype("float32"), tags.astype("int32"), mask


def loss_of_tags(head, encoded: list, inputs: dict, training=None):
    """What a CRF is trained with, for the tag 1 at every word."""
    targets = tf.where(inputs["first_piece"] >= 0, 1, -1)
    return head.loss(targets, head(encoded, inputs, training=training))


def real_states(outputs: dict) -> list:
    states = [layer[row, :n] for layer in outputs["layers"] for row, n in enumerate(LENGTHS)]
    return states + ([outputs["pooled"]] if "pooled" in outputs else [])


def real_words(*lengths: int) -> Callable:
    return lambda logits: [logits[row, :n] for row, n in enumerate(lengths)]


def both_layers(layer, states, mask, **options):
    """The projected attention of the first block, read by that of the second."""
    return layer(layer(states, mask, index=0, **options), mask, index=1, **options)


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
CAUSAL = {
    "vocabulary_size": 18,
    "width": 8,
    "num_layers": 2,
    "num_heads": 2,
    "intermediate_width": 16,
    "max_positions": 64,
    "dropout": 0.2,
    "attention_dropout": 0.2,
}
MODERN_BERT = CAUSAL | {
    "vocabulary_size": 20,
    "global_layers": [0],
    "local_attention": 2,  # rows of more than three positions are cut into blocks
    "embedding_dropout": 0.2,
}
ELMO = {
    "filters": [[1, 4], [2, 8]],
    "character_width": 4,
    "num_highway": 1,
    "projection_width": 6,
    "lstm_width": 10,
}
BCN_DROPOUTS = {
    "dropout": 0.2,
    "encoder_dropout": 0.2,
    "pool_dropout": 0.2,
    "first_maxout_dropout": 0.3,
    "second_maxout_dropout": 0.2,
}


def given(layer: type, added) -> type:
    """The class of an encoder whose instances have what an adaptation adds."""

    class Adapted(layer):
        def build(self, input_shape=None):
            super().build(input_shape)
            self.add(added)

    name = f"{layer.__name__} {added.kind}"
    Adapted.__name__ = layer.__name__  # `layer_row` is for the layer itself
    return keras.saving.register_keras_serializable("tests", name)(Adapted)


def encoder(layer, config: dict, inputs: Callable, unusual: dict | None = None) -> Row:
    return Row(layer, config, inputs, real_states, unusual or {}, gives_logits=False)


def part(layer, config: dict, inputs: Callable, unusual: dict | None = None, **more) -> Row:
    """A layer of an encoder or of a head."""
    real = more.pop("real", real_words(*LENGTHS))
    return Row(layer, config, inputs, real, unusual or {}, gives_logits=False, **more)


def head(layer, config: dict, inputs: Callable, unusual: dict | None = None) -> Row:
    """A head with one row of logits for each example."""
    return Row(layer, config, inputs, lambda logits: [logits], unusual or {})


def tagger(config: dict, unusual: dict | None = None) -> Row:
    config = {"num_outputs": 3, "dropout": 0.2} | config
    return Row(Tagger, config, text_and_pieces, real_words(3, 2), unusual or {})


def first_only(inputs: Callable) -> Callable:
    return lambda extra: inputs(extra)[:1]


THREE = {"num_outputs": 3, "dropout": 0.2}
NUMBER = {"num_outputs": 1, "dropout": 0.2, "regression": True}
CONSTRAINTS = tag_constraints(["O", "B-X", "I-X"], "IOB2")
CONVOLUTIONS = BottleneckAdapters(3, (1,), "relu", "convolution")

ROWS = {
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
    "BottleneckAdapter": part(
        BottleneckAdapter,
        {"width": WIDTH, "size": 3, "activation": "gelu_tanh"},
        first_only(states_and_mask),
        {"operation": "convolution", "parallel": True},
    ),
    "BottleneckAdapter, convolution": part(
        BottleneckAdapter,
        {"width": WIDTH, "size": 3, "activation": "relu", "operation": "convolution"},
        states_and_mask,
    ),
    "BidirectionalAdapter": part(
        BidirectionalAdapter,
        {"width": WIDTH, "size": 3, "activation": "gelu_exact"},
        lambda extra: (np.stack(text(extra, seed=3)["layers"]),),
        {"activation": "relu", "operation": "convolution"},
        real=lambda states: [states[:, row, :n] for row, n in enumerate(LENGTHS)],
    ),
    "LowRank": part(
        LowRank,
        {"inputs": WIDTH, "outputs": 4, "rank": 2, "alpha": 3.0},
        first_only(states_and_mask),
    ),
    "ProjectedAttention": part(
        ProjectedAttention,
        {"width": WIDTH, "size": 4, "num_layers": 2, "activation": "gelu_exact", "dropout": 0.2},
        states_and_mask,
        call=both_layers,
    ),
    "MaskedLanguageModelHead": Row(
        MaskedLanguageModelHead,
        {"width": WIDTH, "vocabulary_size": 20},
        states_and_table,
        real_words(*LENGTHS),
        {"activation": "gelu_tanh", "layer_norm_epsilon": 1e-6},
    ),
    "TiedLanguageModelHead": Row(
        TiedLanguageModelHead, {"vocabulary_size": 20}, states_and_table, real_words(*LENGTHS)
    ),
    "BiLanguageModelHead": Row(
        BiLanguageModelHead,
        {"num_words": 20, "projection_width": WIDTH // 2},
        first_only(states_and_table),
        real_words(*LENGTHS),
    ),
    "CRF": Row(
        CRF,
        {"num_tags": 3},
        tagged_words,
        lambda log_likelihoods: [log_likelihoods],
        {"constraints": CONSTRAINTS, "boundary_scores": False, "reduction": "sum"},
        call=lambda crf, *inputs, training=None: crf.log_likelihood(*inputs),
    ),
    "LinearHead": head(
        LinearHead,
        THREE,
        one_text,
        {"num_outputs": 1, "regression": True, "pooling": "last", "mixed": True, "scaled": True},
    ),
    "LinearHead, mean of a joint pair, mixed": head(
        LinearHead, THREE | {"pooling": "mean", "mixed": True}, joint_pair
    ),
    "SentencePairHead": head(
        SentencePairHead,
        THREE,
        two_texts,
        {
            "num_outputs": 1,
            "features": "infersent",
            "regression": True,
            "pooling": "last",
            "mixed": True,
        },
    ),
    "SentencePairHead, mean, mixed": head(
        SentencePairHead, THREE | {"pooling": "mean", "mixed": True}, two_texts
    ),
    "SentencePairHead, InferSent's features, regression": head(
        SentencePairHead, NUMBER | {"features": "infersent"}, two_texts
    ),
    "SimilarityHead": head(
        SimilarityHead,
        THREE,
        two_texts,
        {
            "num_outputs": 1,
            "similarity": "euclidean",
            "score_range": (1.0, 5.0),
            "regression": True,
            "pooling": "last",
            "mixed": True,
            "scaled": True,
        },
    ),
    "SimilarityHead, distance of means, mixed, regression": head(
        SimilarityHead,
        NUMBER | {"similarity": "euclidean", "pooling": "mean", "mixed": True},
        two_texts,
    ),
    "MaxPoolingHead": head(
        MaxPoolingHead,
        THREE,
        one_text,
        {
            "num_outputs": 1,
            "pair": True,
            "compared": False,
            "mixed": True,
            "regression": True,
            "pooling": "first",
        },
    ),
    "MaxPoolingHead, regression of a pair, mixed": head(
        MaxPoolingHead, NUMBER | {"pair": True, "mixed": True}, two_texts
    ),
    "MaxPoolingHead, a joint pair that is not compared": head(
        MaxPoolingHead, THREE | {"pair": True, "compared": False}, joint_pair
    ),
    "BiAttentionHead": head(
        BiAttentionHead,
        THREE,
        two_texts,
        {"num_outputs": 1, "mixed": True, "regression": True, "pooling": "mean"},
    ),
    "BiAttentionHead, regression of a joint pair, mixed": head(
        BiAttentionHead, NUMBER | {"mixed": True}, joint_pair
    ),
    "BCN": head(
        BCN,
        {"num_outputs": 3, "units": 8} | BCN_DROPOUTS,
        one_text,
        {"num_outputs": 1, "mixed": False, "regression": True, "pooling": "mean"},
    ),
    "ESIM": head(
        ESIM,
        THREE | {"units": 4},
        two_texts,
        {"num_outputs": 1, "mixed": False, "regression": True, "pooling": "first"},
    ),
    "ESIM, regression of a joint pair, top layer": head(
        ESIM, NUMBER | {"units": 4, "mixed": False}, joint_sentences
    ),
    "BiLstm": part(BiLstm, {"units": 4}, states_and_mask),
    "Maxout": part(Maxout, {"units": 3, "pool": 2}, first_only(states_and_mask)),
    "ScalarMix": part(
        ScalarMix, {"dropout": 0.2}, layers_and_mask, {"layer_norm": True, "l2": 0.1}
    ),
    "ScalarMix, layer norm": part(ScalarMix, {"layer_norm": True, "dropout": 0.2}, layers_and_mask),
    "SpanExtractor": Row(
        SpanExtractor,
        {"dropout": 0.2},
        text_and_pieces,
        real_words(1 + 3, 1 + 2),
        {"mixed": True, "hidden_layer": True},
    ),
    "SpanExtractor, two layers, mixed": Row(
        SpanExtractor,
        {"mixed": True, "hidden_layer": True, "dropout": 0.2},
        text_and_pieces,
        real_words(1 + 3, 1 + 2),
    ),
    "Tagger, pieces": tagger(
        {},
        {
            "lstm_layers": 1,
            "units": 4,
            "crf": True,
            "constraints": CONSTRAINTS,
            "mixed": True,
            "word_pieces": "last",
        },
    ),
    "Tagger, maximum of pieces under a BiLSTM": tagger(
        {"lstm_layers": 1, "units": 4, "word_pieces": "max"}
    ),
    "Tagger, words": Row(Tagger, THREE, one_text, real_words(*LENGTHS)),
    "Tagger, CRF": Row(
        Tagger,
        THREE | {"crf": True, "mixed": True},
        text_and_pieces,
        lambda loss: [loss],
        call=loss_of_tags,
    ),
    "Tagger, two BiLSTMs over pieces, mixed": tagger({"lstm_layers": 2, "units": 4, "mixed": True}),
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
        ROWS[f"{name}, KerasHubEncoder"] = encoder(
            KerasHubEncoder, {"backbone": name, "settings": settings}, bert_inputs, unusual
        )


def pytest_generate_tests(metafunc):
    """Every test that takes `row` runs once for each row; `encoder_row`: for each encoder's;
    `layer_row`: for the first row of each layer, which is the one that names every argument."""
    if "row" in metafunc.fixturenames:
        metafunc.parametrize("row", ROWS.values(), ids=ROWS, scope="module")
    if "encoder_row" in metafunc.fixturenames:
        encoders = {name: row for name, row in ROWS.items() if name.endswith("Encoder")}
        metafunc.parametrize("encoder_row", encoders.values(), ids=encoders)
    if "layer_row" in metafunc.fixturenames:
        first = {row.layer.__name__: name for name, row in reversed(ROWS.items())}
        metafunc.parametrize("layer_row", [ROWS[n] for n in first.values()], ids=first.values())


@pytest.fixture(scope="module")
def layer(row) -> keras.layers.Layer:
    """The row's layer, for all tests that leave it as it is."""
    return row.make()


@pytest.fixture
def rows() -> dict[str, Row]:
    return ROWS
