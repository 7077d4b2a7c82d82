"""How the model of a run came about, for its model card. Imports no TensorFlow."""

from tf_adapt.config.data_sections import FilesConfig
from tf_adapt.config.sections import Config
from tf_adapt.serving.exports.card_sections import Origin


def origin_of(config: Config) -> Origin:
    """How the model of a config came about."""
    others = tuple(name for name in config.tasks or () if name != config.target)
    config = config.of_task(config.target) if config.tasks else config
    data, training = config.data, config.training
    return Origin(
        data=getattr(data, "dataset", getattr(data, "name", "own data")),
        file_format=data.format if isinstance(data, FilesConfig) else None,
        encoder=config.encoder.handle,
        adaptation=config.adaptation.name,
        learning_rate=training.learning_rate,
        batch_size=training.batch_size,
        max_length=training.max_length,
        truncate=training.truncate,
        other_tasks=others,
        prompts=tuple(config.encoder.prompts or ()),
    )
