"""A conversation with a trained model of dialogues."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import tensorflow as tf

from tf_adapt.data.formats.dialogues import Exchange
from tf_adapt.data.packing.dialog import prompts_of
from tf_adapt.data.packing.prepare import prepare
from tf_adapt.errors import ConfigError
from tf_adapt.generation.decoding import Decoding
from tf_adapt.generation.generator import TokenGenerator
from tf_adapt.models.dialog.dialog_model import DialogModel
from tf_adapt.runs import run_folder
from tf_adapt.tasks.by_kind.dialog import MAX_NEW_TOKENS
from tf_adapt.training.finished.load_run import load_run

# As the published implementation of the recipe writes its replies.
SAMPLED = Decoding(MAX_NEW_TOKENS, temperature=0.7, top_p=0.9)


class Chat:
    """Replies turn by turn; the oldest exchanges are forgotten where the model has no room.

    Args:
        model: of a run.
        persona: facts about the one who replies, at least one sentence.
        decoding: at most `MAX_NEW_TOKENS` new tokens.
        seed: of draws.

    Raises:
        ConfigError: too many new tokens.
    """

    def __init__(
        self,
        model: DialogModel,
        persona: Sequence[str],
        decoding: Decoding = SAMPLED,
        seed: int = 0,
    ):
        if decoding.max_new_tokens > MAX_NEW_TOKENS:
            raise ConfigError(
                f"max_new_tokens: expected at most {MAX_NEW_TOKENS}, for which there is room "
                f"behind a prompt, got {decoding.max_new_tokens}"
            )
        self._model, self._decoding, self._seed = model, decoding, seed
        self._exchange = Exchange(tuple(persona), (), where="chat")
        self._tokens = TokenGenerator(model.encoder.native)

    def reply(self, text: str) -> str:
        """The reply to what is said now.

        Raises:
            DataError: it is empty, or too long for the model beside the persona.
        """
        said = self._exchange
        said = replace(said, history=(*said.history, text))
        encoder = self._model.encoder
        prepared = prepare([said], self._model.task, encoder)
        inputs = prompts_of(prepared.packed_inputs(tf.constant([0]))["a"])
        number, end = len(said.history), encoder.native.vocabulary_size + 1
        tokens = self._tokens(inputs, [end], self._decoding, self._seed, number)
        (written,) = encoder.preprocessor.detokenize(tokens).numpy()
        reply = written.decode("utf-8", errors="replace").strip() or "…"
        self._exchange = replace(said, history=(*said.history, reply))
        return reply


def chat_of_run(
    run: str | os.PathLike,
    persona: Sequence[str] = (),
    decoding: Decoding = SAMPLED,
    seed: int = 0,
    trust: bool = False,
) -> tuple[Chat, list[str]]:
    """A chat with a run, and its persona: by default that which the run has kept.

    Raises:
        ArtifactError: as `load_run`.
        ConfigError: the run is of another kind; as `Chat`.
    """
    model = load_run(run, trust)
    if not isinstance(model, DialogModel):
        raise ConfigError(f"{run}: expected a run of kind: dialog, got one of {model.task.kind}")
    kept = (run_folder.finished_metrics(Path(run)) or {}).get("persona")
    chosen = list(persona) or kept
    if not chosen:
        raise ConfigError(f"{run}: the run is not finished and has no persona yet; give --persona")
    return Chat(model, chosen, decoding, seed), chosen
