"""The default rates, lengths and batches of a training. Imports no TensorFlow.

A comparison tries all rates of a list; a run takes the middle one.
"""

import contextlib
import mmap
from pathlib import Path

from hub_modules import huggingface_handles
from hub_modules.families import FAMILIES, has_words
from hub_modules.find import is_word_vectors
from hub_modules.keras_hub.handles import PREFIX, keras_folder
from hub_modules.manifest import read_manifest
from hub_modules.manifest_schemas import ModuleManifest
from hub_modules.shipped import PRETRAINED, shipped_names
from hub_modules.storage.fetching import fetching
from hub_modules.storage.model_hubs import local_handle
from tf_adapt.errors import ArtifactError, ConfigError
from tf_adapt.heads.names import SIMILARITY_HEADS
from tf_adapt.paper import FROZEN
from tf_adapt.tasks.kinds import KINDS, Row

# By family, then adaptation; `default` holds for every adaptation that trains the encoder's own
# weights. All lists have equal length, so that every cell has as many trials. Sources: ❄ 6e-3 of
# configs/quickstart.yaml, 3e-3 of configs/small, 1e-3 of configs/paper; ELMo 🔥 3e-3 of
# configs/names.yaml, 1e-3 of configs/small, 3e-4 of configs/paper; BERT 🔥 3e-4 (bert_small) and
# 1e-4 (MiniLM) of configs/small, 3e-5 (BERT-base) of configs/paper; adapters 3e-3 (ELMo) and 1e-3
# (BERT) of configs/adaptations.yaml, and the next step down; LoRA 5e-4 of microsoft/LoRA for
# RoBERTa-base, and higher for smaller models; BitFit 1e-3 of its published code, and around it. A
# linear head on ❄ needs higher rates: 3e-2 to 3e-3 are within some points of each other, 1e-3 is up
# to 12 points worse on pairs (`python -m benchmarks.frozen_reading`, scores on dev).
_FROZEN, _ADAPTERS = (6.0e-3, 3.0e-3, 1.0e-3), (3.0e-3, 1.0e-3, 3.0e-4)
# Contrastive tuning: SetFit's 2e-5, and around it; an epoch of it has 40 pairs for each text.
_CONTRASTIVE, CONTRASTIVE_EPOCHS = (5.0e-5, 2.0e-5, 1.0e-5), 1
_LORA, _BITFIT = (3.0e-3, 1.0e-3, 5.0e-4), (3.0e-3, 1.0e-3, 3.0e-4)
FROZEN_LINEAR = (3.0e-2, 1.0e-2, 3.0e-3)
LINEAR_HEADS = ("linear", "linear_tagger", "skip_thoughts", "infersent", *SIMILARITY_HEADS)
RATES = {
    "elmo": {
        "feature_extraction": _FROZEN,
        "adapters": _ADAPTERS,
        "lora": _LORA,
        "bitfit": _BITFIT,
        "default": (3.0e-3, 1.0e-3, 3.0e-4),
    },
    "bert": {
        "feature_extraction": _FROZEN,
        "adapters": _ADAPTERS,
        "lora": _LORA,
        "bitfit": _BITFIT,
        "contrastive": _CONTRASTIVE,
        "default": (3.0e-4, 1.0e-4, 3.0e-5),
    },
}
BATCH_SIZE = 16
# The keys of the section `training` that have such a default.
LEFT_OUT = ("epochs", "batch_size", "learning_rate")


def default_epochs(kind: str | None) -> dict[str, int]:
    """Epochs by adaptation, and `default`."""
    frozen, trained = KINDS[kind].epochs if kind in KINDS else Row.epochs
    return {FROZEN: frozen, "contrastive": CONTRASTIVE_EPOCHS, "default": trained}


def default_training(kind: str | None, handle: str, adaptation: str, head: str) -> dict[str, float]:
    """The keys of the section `training` that may be left out.

    Raises:
        ArtifactError: as `default_rates`.
    """
    epochs = default_epochs(kind)
    rates = default_rates(handle, adaptation, head)
    return {
        "epochs": epochs.get(adaptation, epochs["default"]),
        "batch_size": BATCH_SIZE,
        "learning_rate": rates[len(rates) // 2],
    }


def default_rates(handle: str, adaptation: str, head: str = "default") -> list[float]:
    """The learning rates for an encoder, an adaptation and a head; downloads and loads nothing.

    A module of no known family gets BERT's rates: most such modules are transformers, the others
    cannot be tuned.

    Raises:
        ArtifactError: the manifest of the module is damaged.
    """
    family = family_of(handle)
    linear = LINEAR_HEADS if has_words(family) else (*LINEAR_HEADS, "default")
    if adaptation == FROZEN and head in linear:
        return list(FROZEN_LINEAR)
    rates = RATES[FAMILIES[family].like if family else "bert"]
    return list(rates.get(adaptation, rates["default"]))


def family_of(handle: str) -> str | None:
    """The family of a module as far as its files tell; None for others without our manifest, and
    for a model of a hub that is not in its cache.

    A SavedModel whose program names the inputs of neither BERT nor ELMo can only be a sentence
    module.

    Raises:
        ArtifactError: the manifest is damaged.
    """
    with contextlib.suppress(OSError):  # a name that is too long for any file
        return _family_by_files(handle)
    return None


def _family_by_files(handle: str) -> str | None:
    if is_word_vectors(handle):
        return "words"
    if handle.startswith(PREFIX):
        return "keras"
    try:
        with fetching(allowed=False):
            local = local_handle(handle)
    except (ArtifactError, ConfigError):
        return None
    folder = PRETRAINED / local if local in shipped_names() else Path(local)
    if huggingface_handles.is_native(folder):
        return huggingface_handles.family_of(folder)
    if keras_folder(folder) is not None:
        return "keras"
    if folder.name == "encoder":
        folder = folder.parent
    # Of TF Hub's first format only ELMo has a native encoder.
    if "/google/elmo/" in handle or (folder / "tfhub_module.pb").is_file():
        return "elmo"
    manifest = read_manifest(folder) if folder.is_dir() else None
    if manifest is None and _names_no_inputs(folder / "saved_model.pb"):
        return "sentence"
    return manifest.kind if isinstance(manifest, ModuleManifest) else None


def _names_no_inputs(program: Path) -> bool:
    """Whether a SavedModel of TensorFlow 2 names no inputs of BERT or ELMo."""
    if not program.is_file() or (program.parent / "tfhub_module.pb").is_file():
        return False
    if not program.stat().st_size:  # which cannot be mapped
        return False
    with open(program, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        return all(text.find(name) < 0 for name in (b"input_word_ids", b"sequence_len"))
