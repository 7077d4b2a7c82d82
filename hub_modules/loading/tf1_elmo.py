"""ELMo modules in TF Hub's first format: weights are read from the SavedModel's variables."""

from hub_modules.errors import ConfigError
from hub_modules.export import native_encoder
from hub_modules.find import encoder_folder
from hub_modules.loading.loaded_module import LoadedModule
from hub_modules.preprocess import ElmoPreprocessor
from hub_modules.sources import tf1_elmo
from hub_modules.verified import Verified


def load_tf1_elmo(
    module: Verified, preprocessing: Verified | None, options: dict, pretrained: bool
) -> LoadedModule:
    """An ELMo module in TF Hub's first format as a native encoder; its program is not run.

    Args:
        preprocessing: the module that the user names; refused, for ELMo reads characters.
        options: of `native_encoder`.
        pretrained: whether the encoder gets the module's weights; False: random ones.

    Raises:
        ArtifactError: as `tf1_elmo.read`.
        ConfigError: `own` is given.
    """
    if preprocessing is not None:
        raise ConfigError(
            f"preprocessor: module {module.folder} is an ELMo, which reads the characters of "
            "words; leave the argument out (encoder.preprocessor: null)"
        )
    source = tf1_elmo.read(encoder_folder(module.folder))
    encoder = native_encoder("elmo", source.config, **options)
    if pretrained:
        encoder.load_weights_by_name(source.weights)
    return LoadedModule(
        family="elmo",
        encoder=encoder,
        preprocessor=ElmoPreprocessor(),
        hash=module.content,
        execution="native",
        max_length=None,
        mix=source.mix if pretrained else None,
    )
