"""The config of a run with what it leaves to files, so that the run keeps it. Imports no
TensorFlow."""

from pathlib import Path

from hub_modules.huggingface_handles import model_type, positions_of
from hub_modules.keras_hub.handles import PREFIX
from hub_modules.sentence_transformers import SentenceSettings, read_settings
from hub_modules.storage.model_hubs import local_handle
from tf_adapt.config.paths import resolve_paths
from tf_adapt.config.reading import with_data
from tf_adapt.config.sections import Config
from tf_adapt.data.own_files import recognised


def whole_config(config: Config) -> Config:
    """The config with absolute paths, the formats of its files, and the prompts and the length of
    texts that its encoder's folder says, where it says none itself.

    Raises:
        ArtifactError, ConfigError: as `local_handle`, `read_settings`, `recognised`.
    """
    config = with_data(resolve_paths(config), recognised)
    folder = Path(local_handle(config.encoder.handle).removeprefix(PREFIX))
    is_foreign = model_type(folder) is not None
    settings = read_settings(folder) if is_foreign else SentenceSettings()
    if config.encoder.prompts is None:
        encoder = config.encoder.model_copy(update={"prompts": list(settings.prompts)})
        config = config.model_copy(update={"encoder": encoder})
    if config.training.max_length is not None or config.encoder.long is not None:
        return config
    if settings.longest is None or settings.longest >= positions_of(folder):
        return config
    training = config.training.model_copy(update={"max_length": settings.longest})
    return config.model_copy(update={"training": training})
