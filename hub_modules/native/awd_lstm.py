"""AWD-LSTM as a Keras layer: ULMFiT's encoder, word embeddings and LSTMs that read forwards."""

import keras
from keras import ops

from hub_modules.native.added.adapters import check_added
from hub_modules.native.added.settings import Added
from hub_modules.native.arguments import ArgumentsInConfig
from hub_modules.native.awd_lstm_layers import WeightDropLstm, WordEmbeddings, dropout_over_time
from hub_modules.native.given_states import given_states, perturbed
from hub_modules.native.kernels.packing import Packing
from hub_modules.native.weights import is_trainable, load_weights_by_name, weights_by_name

# The dropouts of ULMFiT's classifier: words, features, between LSTMs, recurrent weights.
TASK_DROPOUTS = (0.05, 0.4, 0.3, 0.5)


@keras.saving.register_keras_serializable("hub_modules")
class AwdLstmEncoder(ArgumentsInConfig, keras.layers.Layer):
    """ULMFiT's encoder: the hidden states of the word embeddings and of the LSTMs as wide as these.

    Shapes: inputs `word_ids` `[batch, time] int32` (0 is padding, at the right; 1 an unknown word)
    → `{"layers": list of [batch, time, width], bottom (the embeddings) to top, "mask":
    [batch, time] bool}`, in the compute dtype. An LSTM of another width than the embeddings' has no
    place among `layers`: of the published model these are the embeddings and the top LSTM.

    Given states and a perturbation: as of `BertEncoder`.

    Masking: hidden states at padding are zero. A state has seen its word and those before it.

    Dropout, as in fast.ai: of words (rows of the embeddings), of the embeddings' features, of the
    recurrent weights, and of the features between two LSTMs; each with one mask for all time steps.
    The arguments are the language model's, at first in use: see `use_dropouts`.

    Freezing: a layer without trainable weights runs without dropout, and no gradient is computed
    below the lowest trainable one.

    Args:
        width: of the embeddings, and of the top LSTM.
        lstm_width: of the LSTMs below the top.
        word_dropout, dropout: see `WordEmbeddings`.
        hidden_dropout: of the features between two LSTMs.
        weight_dropout: see `WeightDropLstm`.
        output_dropout: of the features that the language model's output layer reads; it is not used
            inside the encoder.

    Source: Merity, Keskar, Socher 2018; Howard and Ruder 2018, "ULMFiT", section 3.1; fast.ai,
    `awdlstm.py`.
    """

    boundary_positions = 0
    adapter_layers = ()

    def __init__(
        self,
        vocabulary_size: int,
        width: int,
        lstm_width: int,
        num_layers: int,
        word_dropout: float = 0.02,
        dropout: float = 0.25,
        hidden_dropout: float = 0.15,
        weight_dropout: float = 0.2,
        output_dropout: float = 0.1,
        **kwargs,
    ):
        super().__init__(**kwargs)
        # The number of packed positions is a shape that XLA cannot know beforehand.
        self.supports_jit = False
        self.vocabulary_size = vocabulary_size
        self.width = width
        self.lstm_width = lstm_width
        self.num_layers = num_layers
        self.word_dropout = word_dropout
        self.dropout = dropout
        self.hidden_dropout = hidden_dropout
        self.weight_dropout = weight_dropout
        self.output_dropout = output_dropout
        policy = self.dtype_policy
        self.embeddings = WordEmbeddings(
            vocabulary_size, width, word_dropout, dropout, name="embeddings", dtype=policy
        )
        self.lstms = [
            WeightDropLstm(units, weight_dropout, name=f"lstm_{index}", dtype=policy)
            for index, units in enumerate(self._units())
        ]
        self.dropouts = [dropout_over_time(hidden_dropout, policy) for _ in self.lstms[1:]]

    def _units(self) -> list[int]:
        return [self.lstm_width] * (self.num_layers - 1) + [self.width]

    def add(self, added: Added) -> None:
        """Refuses what an adaptation adds: there is no place for it.

        Raises:
            ConfigError: always.
        """
        check_added(added, "lstm", self.num_layers)

    def build(self, input_shape=None):
        self.embeddings.build()
        width = self.width
        for lstm in self.lstms:
            lstm.build((None, None, width))
            width = lstm.units

    def use_dropouts(self, of_language_model: bool) -> None:
        """Uses the language model's dropouts, or those of a task's model (`TASK_DROPOUTS`).

        One that is 0 for the language model stays 0.
        """
        rates = (self.word_dropout, self.dropout, self.hidden_dropout, self.weight_dropout)
        words, features, hidden, recurrent = (
            rate if of_language_model or rate == 0 else task
            for rate, task in zip(rates, TASK_DROPOUTS, strict=True)
        )
        self.embeddings.word_dropout = words
        self.embeddings.dropout = self.embeddings.dropout_layer.rate = features
        for layer in self.dropouts:
            layer.rate = hidden
        for lstm in self.lstms:
            lstm.weight_dropout = recurrent

    @property
    def state_names(self) -> list[str]:
        """Names of the layers whose hidden states a call returns, bottom to top."""
        wide = [lstm.name for lstm in self.lstms if lstm.units == self.width]
        return [self.embeddings.name, *wide]

    @property
    def num_states(self) -> int:
        """Number of hidden states that a call returns."""
        return len(self.state_names)

    @property
    def states_width(self) -> int:
        """Width of each hidden state."""
        return self.width

    @property
    def layer_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """The layer groups, bottom to top, as (name, weights)."""
        return [(layer.name, layer.weights) for layer in (self.embeddings, *self.lstms)]

    def call(self, inputs, training=None):
        mask = inputs["word_ids"] > 0
        layers = self._states_up_to(inputs, mask, self.state_names[-1], training)
        visible = ops.cast(mask, self.compute_dtype)[..., None]
        return {"layers": [layer * visible for layer in layers], "mask": mask}

    def lower_layers(self, inputs, top: int) -> dict:
        """Hidden states up to number `top` of those that a call returns, in inference mode."""
        mask = inputs["word_ids"] > 0
        return {
            "layers": self._states_up_to(inputs, mask, self.state_names[top], False),
            "mask": mask,
        }

    def _states_up_to(self, inputs, mask, top: str, training) -> list:
        first, states = given_states(inputs, self.state_names)
        begin = self.state_names[first]
        frozen_so_far = states is not None or not is_trainable(self.embeddings)
        if states is None:
            ids = ops.cast(inputs["word_ids"], "int32")
            states = self.embeddings(ids, training=training and is_trainable(self.embeddings))
        states = ops.stop_gradient(states) if frozen_so_far else states
        states, frozen_so_far = perturbed(inputs, states, frozen_so_far)
        layers, packing = [states], Packing(mask)
        names = [lstm.name for lstm in self.lstms]
        start = names.index(begin) + 1 if begin in names else 0
        end = names.index(top) + 1 if top in names else 0
        for index in range(start, end):
            lstm = self.lstms[index]
            learns = is_trainable(lstm)
            if index:
                states = self.dropouts[index - 1](states, training=training and learns)
            states = lstm(states, packing=packing, training=training and learns)
            frozen_so_far = frozen_so_far and not learns
            states = ops.stop_gradient(states) if frozen_so_far else states
            if lstm.name in self.state_names:
                layers.append(states)
        return layers

    def weights_by_name(self) -> dict[str, keras.Variable]:
        """Every weight by its name in a module, as `lstm_0/recurrent_kernel`."""
        return weights_by_name(self, first="embeddings/word_embeddings")

    def load_weights_by_name(self, arrays: dict) -> None:
        """Sets every weight from `{name: array}`; see `hub_modules.native.weights`."""
        load_weights_by_name(self.weights_by_name(), arrays)
