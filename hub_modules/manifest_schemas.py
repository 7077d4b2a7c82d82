"""The schemas of manifests: the arguments of an encoder of each family, and what is beside them."""

from pathlib import PurePosixPath
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from hub_modules.storage.json_files import Schema
from hub_modules.storage.records import Description

Arguments, LowerCase = TypeVar("Arguments"), TypeVar("LowerCase")


def _inside(name: str) -> str:
    """The name of a file, if it is one below the module's folder."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name or str(path) != name or name == ".":
        raise ValueError("should be the path of a file inside the folder")
    return name


# Numbers that bound a loop have a limit, so that a wrong one cannot hang the process.
_Count = Annotated[int, Field(ge=1, le=1000)]
_Size = Annotated[int, Field(ge=1, lt=2**31)]
_Share = Annotated[float, Field(ge=0, lt=1)]
_Bound = Annotated[float, Field(gt=0)]


class _TransformerArguments(Schema):
    vocabulary_size: _Size
    width: _Size
    num_layers: _Count
    num_heads: _Size
    intermediate_width: _Size
    max_positions: _Size
    activation: Literal["gelu_exact", "gelu_tanh"] = "gelu_exact"
    layer_norm_epsilon: _Bound = 1e-12
    dropout: _Share = 0.1
    attention_dropout: _Share = 0.1

    @model_validator(mode="after")
    def _check_heads(self):
        if self.width % self.num_heads:
            raise ValueError(
                f"width {self.width} should be a multiple of num_heads {self.num_heads}"
            )
        return self


class BertArguments(_TransformerArguments):
    """The arguments of a `BertEncoder` without adapters."""

    type_vocabulary_size: _Size = 2


class CausalArguments(_TransformerArguments):
    """The arguments of a `CausalEncoder` without adapters and new embeddings."""

    activation: Literal["gelu_exact", "gelu_tanh"] = "gelu_tanh"
    layer_norm_epsilon: _Bound = 1e-5


class ModernBertArguments(_TransformerArguments):
    """The arguments of a `ModernBertEncoder` without adapters."""

    global_layers: list[Annotated[int, Field(ge=0, lt=1000)]] = Field(max_length=1000)
    local_attention: Annotated[int, Field(ge=2, lt=2**31)] = 128
    global_base: _Bound = 160_000.0
    local_base: _Bound = 10_000.0
    layer_norm_epsilon: _Bound = 1e-5
    dropout: _Share = 0.0
    embedding_dropout: _Share = 0.0
    attention_dropout: _Share = 0.0

    @model_validator(mode="after")
    def _check_rotary_positions(self):
        if self.width // self.num_heads % 2:
            raise ValueError(
                f"width {self.width} over num_heads {self.num_heads} should be even, for rotary "
                "positions"
            )
        return self


class MPNetArguments(_TransformerArguments):
    """The arguments of an `MPNetEncoder` without adapters."""

    # A quarter of them is for one distance each, of less than 128.
    num_buckets: Annotated[int, Field(ge=4, lt=512, multiple_of=4)] = 32


class ElmoArguments(Schema):
    """The arguments of an `ElmoEncoder` without adapters."""

    filters: list[Annotated[list[_Size], Field(min_length=2, max_length=2)]] = Field(
        min_length=1, max_length=1000
    )
    character_width: _Size
    num_highway: int = Field(ge=0, le=1000)
    projection_width: _Size
    lstm_width: _Size
    num_layers: _Count = 2
    skip_connections: bool = True
    cell_clip: _Bound | None = 3.0
    projection_clip: _Bound | None = 3.0
    activation: Literal["relu", "tanh"] = "relu"
    stateful: bool = False
    sentence_boundaries: bool = True


class LstmArguments(Schema):
    """The arguments of an `AwdLstmEncoder`."""

    vocabulary_size: _Size
    width: _Size
    lstm_width: _Size
    num_layers: _Count
    word_dropout: _Share = 0.02
    dropout: _Share = 0.25
    hidden_dropout: _Share = 0.15
    weight_dropout: _Share = 0.2
    output_dropout: _Share = 0.1


class Manifest(Schema):
    """Content of a `manifest.json`: its kind and files."""

    format: int
    kind: str
    files: dict[Annotated[str, AfterValidator(_inside)], Description]


class ModuleManifest(Manifest, Generic[Arguments, LowerCase]):
    """The manifest of a module: the contract of its encoder."""

    config: Arguments
    lower_case: LowerCase
    groups: list[str]
    weights: dict[str, list[Annotated[int, Field(ge=0)]]]

    def arguments(self) -> dict[str, Any]:
        """The encoder's arguments, defaults included."""
        return self.config.model_dump()


class ManifestKeys(Schema):
    """The keys that select the schema of the rest."""

    model_config = ConfigDict(extra="ignore")
    format: int
    kind: str


FITTED_LAYER = "output_layer"  # in the folder of a module without one
EXPORT = "export"
# One that is read without TensorFlow.
LIGHT_EXPORT = "light_export"
SCHEMAS: dict[str, type[Manifest]] = {
    "bert": ModuleManifest[BertArguments, bool],
    "elmo": ModuleManifest[ElmoArguments, bool | None],
    "causal": ModuleManifest[CausalArguments, bool | None],
    "lstm": ModuleManifest[LstmArguments, bool],
    "modern_bert": ModuleManifest[ModernBertArguments, bool | None],
    "mpnet": ModuleManifest[MPNetArguments, bool],
    FITTED_LAYER: Manifest,
    # Of an export for serving.
    EXPORT: Manifest,
    LIGHT_EXPORT: Manifest,
}
