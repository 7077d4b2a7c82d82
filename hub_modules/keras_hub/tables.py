"""HuggingFace's names ↔ keras-hub's, for each family of backbones: see `sources.layouts.names`.

Linear layers are stored as `[out, in]`; keras-hub's attention has its heads as an axis.

Source: HuggingFace transformers (`models/*/modeling_*.py`); keras-hub (`models/*/*_backbone.py`).
"""

from hub_modules.sources.layouts.names import Table

_WIDE = ("join_columns", "join_bias")


def _two(foreign: str, ours: str, parts: tuple[str, str], steps: tuple[str, str]) -> Table:
    """Rows of the two weights of one layer."""
    names = zip(("weight", "bias"), parts, steps, strict=True)
    return [(f"{foreign}.{theirs}", f"{ours}/{part}", step) for theirs, part, step in names]


def _dense(foreign: str, ours: str, steps: tuple[str, str] = ("transpose", "same")) -> Table:
    return _two(foreign, ours, ("kernel", "bias"), steps)


def _norm(foreign: str, ours: str) -> Table:
    return _two(foreign, ours, ("gamma", "beta"), ("same", "same"))


def _layers(foreign: str, ours: str, names: dict[str, str], joined: bool = True) -> Table:
    """Rows of all transformer layers; `names` are those of the parts of a layer."""
    attention = f"{ours}/self_attention_layer"
    out = ("join_rows", "same") if joined else ("transpose", "same")
    return [
        *_dense(f"{foreign}.{names['query']}", f"{attention}/query", _WIDE),
        *_dense(f"{foreign}.{names['key']}", f"{attention}/key", _WIDE),
        *_dense(f"{foreign}.{names['value']}", f"{attention}/value", _WIDE),
        *_dense(f"{foreign}.{names['attended']}", f"{attention}/attention_output", out),
        *_norm(f"{foreign}.{names['attention_norm']}", f"{ours}/self_attention_layer_norm"),
        *_dense(f"{foreign}.{names['intermediate']}", f"{ours}/feedforward_intermediate_dense"),
        *_dense(f"{foreign}.{names['output']}", f"{ours}/feedforward_output_dense"),
        *_norm(f"{foreign}.{names['output_norm']}", f"{ours}/feedforward_layer_norm"),
    ]


def _embeddings(ours: dict[str, str], norm: str = "embeddings.LayerNorm") -> Table:
    tables = [
        (f"embeddings.{kind}_embeddings.weight", f"{path}/embeddings", "same")
        for kind, path in ours.items()
    ]
    return [*tables, *_norm(norm, "embeddings_layer_norm")]


_BERT_LAYER = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attended": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "intermediate": "intermediate.dense",
    "output": "output.dense",
    "output_norm": "output.LayerNorm",
}
_DEBERTA_LAYER = _BERT_LAYER | {
    part: f"attention.self.{part}_proj" for part in ("query", "key", "value")
}
_DISTILBERT_LAYER = {
    "query": "attention.q_lin",
    "key": "attention.k_lin",
    "value": "attention.v_lin",
    "attended": "attention.out_lin",
    "attention_norm": "sa_layer_norm",
    "intermediate": "ffn.lin1",
    "output": "ffn.lin2",
    "output_norm": "output_layer_norm",
}
_ALBERT_LAYER = {
    "query": "attention.query",
    "key": "attention.key",
    "value": "attention.value",
    "attended": "attention.dense",
    "attention_norm": "attention.LayerNorm",
    "intermediate": "ffn",
    "output": "ffn_output",
    "output_norm": "full_layer_layer_norm",
}
_SEPARATE = {
    "word": "token_embedding",
    "position": "position_embedding",
    "token_type": "segment_embedding",
}
_BLOCK, _NTH = "transformer_layer_{layer}", "encoder.layer.{layer}"


def _together(layer: str) -> dict[str, str]:
    return {"word": f"{layer}/token_embedding", "position": f"{layer}/position_embedding"}


_ROBERTA = [*_embeddings(_together("embeddings")), *_layers(_NTH, _BLOCK, _BERT_LAYER)]

TABLES: dict[str, Table] = {
    "BertBackbone": [
        *_embeddings(_SEPARATE),
        *_layers(_NTH, _BLOCK, _BERT_LAYER),
        *_dense("pooler.dense", "pooled_dense"),
    ],
    "RobertaBackbone": _ROBERTA,
    "XLMRobertaBackbone": _ROBERTA,
    "DistilBertBackbone": [
        *_embeddings(_together("token_and_position_embedding")),
        *_layers("transformer.layer.{layer}", _BLOCK, _DISTILBERT_LAYER),
    ],
    "AlbertBackbone": [
        *_embeddings(_SEPARATE),
        *_dense("encoder.embedding_hidden_mapping_in", "embedding_projection"),
        *_layers(
            "encoder.albert_layer_groups.{group}.albert_layers.{inner}",
            "group_{group}_inner_layer_{inner}",
            _ALBERT_LAYER,
        ),
        *_dense("pooler", "pooled_dense"),
    ],
    # Its backbone has a pooled layer, but published ELECTRAs have none.
    "ElectraBackbone": [
        *_embeddings(_SEPARATE),
        *_dense("embeddings_project", "embeddings_projection"),
        *_layers(_NTH, _BLOCK, _BERT_LAYER),
    ],
    "DebertaV3Backbone": [
        *_embeddings({"word": "token_embedding"}),
        ("encoder.rel_embeddings.weight", "rel_embedding/rel_embedding", "same"),
        *_norm("encoder.LayerNorm", "rel_embedding/rel_embeddings_layer_norm"),
        *_layers(
            _NTH,
            "disentangled_attention_encoder_layer_{layer}",
            _DEBERTA_LAYER,
            joined=False,
        ),
    ],
}
