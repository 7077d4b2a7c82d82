"""A module's own program as the encoder."""

from hub_modules.errors import ArtifactError, ConfigError
from hub_modules.families import FAMILIES
from hub_modules.find import encoder_folder
from hub_modules.loading.loaded_module import LoadedModule
from hub_modules.loading.native import own_preprocessor
from hub_modules.loading.published import foreign_preprocessor, published_source
from hub_modules.preprocess import ElmoTokensPreprocessor, SentencePreprocessor
from hub_modules.programs.program_encoder import BlackBoxEncoder, family_of, program_encoder
from hub_modules.programs.saved_model import restore_program
from hub_modules.verified import Verified

# A causal module's program has BERT's inputs and outputs.
_INTERFACES = {"causal": "bert"}
# Programs that read texts or words themselves.
_OWN_PREPROCESSORS = {"sentence": SentencePreprocessor, "elmo": ElmoTokensPreprocessor}


def load_black_box(found: Verified, own: Verified | None) -> LoadedModule:
    """A module's own program; it must be trusted.

    Args:
        own: the preprocessing module that the user names, or None.

    Raises:
        ArtifactError: the program is damaged, crashes, or is of another kind than the manifest
            says.
        ConfigError: as `own_preprocessor` and `foreign_preprocessor`; a preprocessor is named for a
            sentence module.
    """
    module = restore_program(encoder_folder(found.folder), found.content, "encoder")
    family = family_of(module)
    if found.manifest is not None:
        kind = found.manifest.kind
        if _INTERFACES.get(kind, kind) != family:
            raise ArtifactError(
                f"{found.folder}: expected a program of the kind {kind}, as the manifest says, "
                f"got one of the kind {family}; convert the module again"
            )
        family = kind
    encoder = program_encoder(module, family, name=f"{family}_black_box", dtype="float32")
    if not FAMILIES[family].has_words:
        _refuse_preprocessor(found, own)
    if family in _OWN_PREPROCESSORS:
        given, max_length = _OWN_PREPROCESSORS[family](), None
    else:
        given = (
            foreign_preprocessor(found, published_source(found.folder), own)
            if found.manifest is None
            else own_preprocessor(found, own)
        )
        max_length = _positions(encoder)
    return LoadedModule(family, encoder, given, found.content, "saved_model", max_length)


def _refuse_preprocessor(found: Verified, own: Verified | None) -> None:
    if own is not None:
        raise ConfigError(
            f"preprocessor: the sentence module {found.folder} reads texts itself; leave the "
            "argument out (encoder.preprocessor: null)"
        )


def _positions(encoder: BlackBoxEncoder) -> int | None:
    for weight in encoder.module_weights:
        if "position_embedding" in weight.value.name:
            return int(weight.shape[0])
    return None
