"""SHA-256 of a run's inputs other than its data (modules, files), to detect changes."""

from hub_modules.find import find_module
from hub_modules.manifest import module_hash
from hub_modules.storage.files import sha256
from tf_adapt.config.sections import Config
from tf_adapt.errors import ArtifactError

EWC, UNLABELLED = "penalties.ewc.fisher", "teacher.unlabelled"
FORGETTING, VOTES = "forgetting.text", "weak.votes"
CONSISTENCY = "auxiliary.consistency.unlabelled"
PARAPHRASES = "auxiliary.consistency.perturbation.file"
_FILES = {
    EWC: "the file that `tf-adapt fisher` wrote",
    UNLABELLED: "a file of texts",
    FORGETTING: "a file of held-out text",
    VOTES: "a file of votes",
    CONSISTENCY: "a file of texts",
    PARAPHRASES: "a file of paraphrases",
}


def input_hashes(config: Config) -> dict[str, str]:
    """Key of the config → hash of the module or file.

    Raises:
        ArtifactError: as `content_hash`.
    """
    return {key: content_hash(key, place) for key, place in input_places(config).items()}


def input_places(config: Config) -> dict[str, str]:
    """Key of the config → handle or path of the module or file."""
    ewc, consistency = config.penalties.ewc, config.auxiliary.consistency
    places = {
        "encoder.handle": config.encoder.handle,
        "encoder.preprocessor": config.encoder.preprocessor,
        EWC: None if ewc is None else ewc.fisher,
        UNLABELLED: None if config.teacher is None else config.teacher.unlabelled,
        FORGETTING: None if config.forgetting is None else config.forgetting.text,
        VOTES: None if config.weak is None else config.weak.votes,
        CONSISTENCY: None if consistency is None else consistency.unlabelled,
        PARAPHRASES: None if consistency is None else consistency.perturbation.file,
    }
    return {key: place for key, place in places.items() if place is not None}


def content_hash(key: str, place: str) -> str:
    """The hash of one of `input_places`.

    Raises:
        ArtifactError: it is missing or cannot be read.
    """
    return _file_hash(key, place) if key in _FILES else module_hash(find_module(place))


def _file_hash(key: str, path: str) -> str:
    try:
        return sha256(path)
    except OSError as error:
        raise ArtifactError(
            f"{path}: cannot be read ({error.strerror}); give {_FILES[key]}"
        ) from None
