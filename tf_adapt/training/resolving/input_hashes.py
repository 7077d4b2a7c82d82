"""SHA-256 of a run's inputs other than its data (modules, files), to detect changes."""

from hub_modules.find import find_module
from hub_modules.manifest import module_hash
from hub_modules.storage.files import sha256
from tf_adapt.config.paths import named_paths
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
    encoder = {f"encoder.{name}": getattr(config.encoder, name) for name in config.encoder.HANDLES}
    files = {".".join(map(str, key)): path for key, path in named_paths(config)}
    return {key: place for key, place in encoder.items() if place is not None} | {
        key: files[key] for key in _FILES if key in files
    }


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
