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

# Families whose programs have BERT's inputs and outputs.
_INTERFACES = dict.fromkeys(("causal", "modern_bert", "mpnet"), "bert")
# Programs that read texts or words themselves.
_OWN_PREPROCESSORS = {"sentence": SentencePreprocessor, "elmo": ElmoTokensPreprocessor}


def load_black_box(module: Verified, preprocessing: Verified | None) -> LoadedModule:
    """A module's own program; it must be trusted.

    Args:
        preprocessing: the module that the user names, or None.

    Raises:
        ArtifactError: the program is damaged, crashes, or is of another kind than the manifest
            says.
        ConfigError: as `own_preprocessor` and `foreign_preprocessor`; a preprocessor is named for a
            sentence module.
    """
    program = restore_program(encoder_folder(module.folder), module.content, "encoder")
    family = family_of(program)
    if module.manifest is not None:
        kind = module.manifest.kind
        if _INTERFACES.get(kind, kind) != family:
            raise ArtifactError(
                f"{module.folder}: expected a program of the kind {kind}, as the manifest says, "
                f"got one of the kind {family}; convert the module again"
            )
        family = kind
    encoder = program_encoder(program, family, name=f"{family}_black_box", dtype="float32")
    if not FAMILIES[family].has_words:
        _refuse_preprocessor(module, preprocessing)
    if family in _OWN_PREPROCESSORS:
        given, max_length = _OWN_PREPROCESSORS[family](), None
    else:
        given = (
            foreign_preprocessor(module, published_source(module.folder), preprocessing)
            if module.manifest is None
            else own_preprocessor(module, preprocessing)
        )
        max_length = _positions(encoder)
    return LoadedModule(family, encoder, given, module.content, "saved_model", max_length)


def _refuse_preprocessor(module: Verified, preprocessing: Verified | None) -> None:
    if preprocessing is not None:
        raise ConfigError(
            f"preprocessor: the sentence module {module.folder} reads texts itself; leave the "
            "argument out (encoder.preprocessor: null)"
        )


def _positions(encoder: BlackBoxEncoder) -> int | None:
    for weight in encoder.module_weights:
        if "position_embedding" in weight.value.name:
            return int(weight.shape[0])
    return None
