"""A module's native encoder against its own program, on a few sentences."""

import os
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from hub_modules.errors import ArtifactError, ConfigError
from hub_modules.export import native_encoder
from hub_modules.families import FAMILIES
from hub_modules.find import encoder_folder, find_module
from hub_modules.load import load_module
from hub_modules.loading.loaded_module import LoadedModule
from hub_modules.preprocess import ElmoTokensPreprocessor
from hub_modules.programs.saved_model import is_tf1
from hub_modules.sources import tf1_elmo
from hub_modules.sources.layouts.layer_mix import LayerMix

# One word and many, a word of more than 48 bytes, other scripts, a word twice.
SENTENCES = (
    "Yes",
    "The cat sat on the mat .",
    "U.S. President Ulysses S. Grant visited Paris , Texas , in 1877 .",
    "Die Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft gab "
    "es nicht .",
    "Наташа ate 3 naïve 寿司 — 😀 !",
    "If it had not rained , and if nobody had asked , they would , as far as we know , have "
    "stayed where they were until the very last train had left .",
)
TOLERANCE = 1e-4
MIX = "mix"
# What a checkpoint does not hold, with other values than the published ELMo's.
OTHERWISE = {
    "activation": "tanh",
    "cell_clip": None,
    "projection_clip": None,
    "skip_connections": False,
    "sentence_boundaries": False,
    "forget_bias": 0.0,
}


@dataclass(frozen=True)
class ProgramCheck:
    """How far a native encoder is from its module's own program, at true words.

    Attributes:
        differences: the largest absolute difference of each layer, bottom to top; `mix` is that of
            an ELMo module's own mix of its layers.
        fitting: assumptions about a TF1-format ELMo with which the native encoder is as the
            program, and without which it is not.
        undecided: assumptions that make no difference in these sentences.
    """

    differences: dict[str, float]
    fitting: dict
    undecided: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether no difference is above `TOLERANCE`."""
        return _agree(self.differences)


def check_program(handle: str | os.PathLike, trust: bool = False) -> ProgramCheck:
    """Compares every layer that both have; runs the module's program.

    Raises:
        ArtifactError: as `load_module`; the program is not trusted; both see other words.
        ConfigError: the module has no native encoder.
    """
    native = load_module(handle, "native", trust)
    if FAMILIES[native.family].program_takes_texts:
        raise ConfigError(
            f"module {handle}: --verify: expected a BERT, an ELMo or a causal module, whose "
            "program gives out every layer, got an AWD-LSTM; leave --verify out"
        )
    program = load_module(handle, "saved_model", trust)
    names = [name for name, _ in native.encoder.layer_groups][: native.encoder.num_states]
    mine, theirs = _states(native), _states(program)
    if mine[0].shape[0] != theirs[0].shape[0]:
        raise ArtifactError(
            f"module {handle}: its program reads {theirs[0].shape[0]} words or pieces of the "
            f"sentences of the check, expected the {mine[0].shape[0]} of the native encoder; run "
            "it as it is (execution='saved_model')"
        )
    # The program of a published BERT gives out no embeddings.
    names, mine = names[-len(theirs) :], mine[-len(theirs) :]
    own_mix = _own_mix(program) if native.mix else None
    differences = _differences(names, mine, theirs, native.mix, own_mix)
    folder = encoder_folder(find_module(handle))
    if not (is_tf1(folder) and tf1_elmo.recognise(folder)):
        return ProgramCheck(differences, {}, ())
    same = []
    for key, value in OTHERWISE.items():
        source = tf1_elmo.read(folder, assumed={key: value})
        encoder = native_encoder("elmo", source.config)
        encoder.load_weights_by_name(source.weights)
        ours = _of_encoder(encoder, native.preprocessor)
        if _agree(_differences(names, ours, theirs)):
            same.append(key)
    if _agree(_differences(names, mine, theirs)):
        return ProgramCheck(differences, {}, tuple(same))
    return ProgramCheck(differences, {key: OTHERWISE[key] for key in same}, ())


def suspects(check: ProgramCheck) -> str:
    """Which assumptions about a TF1-format ELMo may be wrong, by the lowest layer that differs."""
    layers = [name for name, value in check.differences.items() if not value <= TOLERANCE]
    if layers[0] == MIX:
        return "the mix of layers (a softmax of the weights, times the scale)"
    if layers[0] == "char_cnn":
        return "activation, or how characters become ids"
    if layers[0] == "lstm_0":
        return (
            "cell_clip, projection_clip, forget_bias, sentence_boundaries (a begin and an end of "
            "each sentence), or that the program carries no state from batch to batch"
        )
    return "skip_connections, cell_clip or projection_clip"


def _states(module: LoadedModule) -> list[np.ndarray]:
    return _of_encoder(module.encoder, module.preprocessor, module.max_length)


def _of_encoder(encoder, preprocessor, max_length: int | None = None) -> list[np.ndarray]:
    """Hidden states of each layer at the true words of all sentences: `[words, width]`."""
    texts = tf.constant(SENTENCES)
    outputs = encoder(preprocessor(texts, max_length, truncate=max_length is not None))
    mask = np.asarray(outputs["mask"])
    return [np.asarray(layer)[mask] for layer in outputs["layers"]]


def _own_mix(program: LoadedModule) -> np.ndarray:
    inputs = ElmoTokensPreprocessor()(tf.constant(SENTENCES))
    mixed = program.encoder.module.signatures["tokens"](**inputs)["elmo"].numpy()
    real = np.arange(mixed.shape[1]) < inputs["sequence_len"].numpy()[:, None]
    return mixed[real]


def _differences(
    names: list[str], mine: list, theirs: list, mix: LayerMix | None = None, own_mix=None
) -> dict[str, float]:
    differences = {
        name: float(np.max(np.abs(ours - other)))
        for name, ours, other in zip(names, mine, theirs, strict=True)
    }
    if mix is not None and own_mix is not None:
        shares = np.exp(np.asarray(mix.weights) - max(mix.weights))
        mixed = mix.scale * np.tensordot(shares / shares.sum(), np.stack(mine), 1)
        differences[MIX] = float(np.max(np.abs(mixed - own_mix)))
    return differences


def _agree(differences: dict[str, float]) -> bool:
    # Written so that a NaN is not taken for agreement.
    return all(value <= TOLERANCE for value in differences.values())
