"""ELMo as a Keras layer: a character CNN and a bidirectional language model (biLM).

The character CNN is in `hub_modules.native.character_cnn`, the recurrent layers are in
`hub_modules.native.bilm`; this file combines them.
"""

import keras
import tensorflow as tf

from hub_modules.native.added.adapters import (
    BidirectionalAdapter,
    check_added,
    extended,
    load_pretrained,
    with_adapter_group,
)
from hub_modules.native.added.settings import (
    Added,
    BottleneckAdapters,
    is_chosen,
)
from hub_modules.native.arguments import ArgumentsInConfig
from hub_modules.native.bilm import BidirectionalLstm
from hub_modules.native.character_cnn import CharacterCnn
from hub_modules.native.given_states import PERTURBATION, given_states, perturbed
from hub_modules.native.kernels.convertible import is_convertible
from hub_modules.native.weights import is_trainable, weights_by_name
from hub_modules.preprocess.elmo import (
    CHARACTERS_PER_WORD,
    PAD_CHARACTER,
    WORD_BEGIN,
    WORD_END,
)

SENTENCE_BEGIN, SENTENCE_END = 257, 258
STATE_ROWS = 128


@keras.saving.register_keras_serializable("hub_modules")
class ElmoEncoder(ArgumentsInConfig, keras.layers.Layer):
    """An ELMo that returns the hidden states of the token layer and of every biLM layer.

    Shapes: inputs `character_ids` `[batch, time, 50] int32` (a padding word is 50 zeros; sentence
    boundaries, a begin and an end word, are added and removed inside) → `{"layers": [num_layers + 1
    times [batch, time, 2 * projection_width]], "mask": [batch, time] bool}`, in the compute dtype.
    The first layer is the token layer, concatenated with itself.

    Given states: if the inputs hold, say, `states_of_lstm_0` `[batch, time + boundary_positions,
    2 * projection_width]`, the encoder starts above that layer, and `layers` begins with it. See
    `lower_layers`.

    `perturbation` `[batch, time, 2 * projection_width]` among the inputs is added to the token
    layer, not at the boundaries.

    Masking: hidden states at padding are zero.

    Freezing: no gradient is computed below the lowest layer with trainable weights; where only
    adapters are trainable, that is the first adapter.

    Args:
        filters: `[width, number]` of each character convolution.
        skip_connections: every biLM layer but the first adds its input to its output.
        cell_clip, projection_clip: bounds of the cell and of the projected state; None for none.
        sentence_boundaries: the biLM also reads a begin and an end word of each sentence.
        stateful: carry each row's state to the next call, as bilm-tf does, for up to 128 rows;
            otherwise (default, repeatable) every sentence starts from zeros.

    Attributes:
        added: what `add` gave it: `BottleneckAdapters` (one for each direction after each biLM
            layer, the input of the next layer; see `BidirectionalAdapter`), or None.

    Source: Peters et al. 2018; bilm-tf.
    """

    def __init__(
        self,
        filters: list[list[int]],
        character_width: int,
        num_highway: int,
        projection_width: int,
        lstm_width: int,
        num_layers: int = 2,
        skip_connections: bool = True,
        cell_clip: float | None = 3.0,
        projection_clip: float | None = 3.0,
        activation: str = "relu",
        stateful: bool = False,
        sentence_boundaries: bool = True,
        **kwargs,
    ):
        super().__init__(**kwargs)
        # The number of distinct words of a batch is a shape that XLA cannot know beforehand.
        self.supports_jit = False
        self.filters = [list(pair) for pair in filters]
        self.character_width = character_width
        self.num_highway = num_highway
        self.projection_width = projection_width
        self.lstm_width = lstm_width
        self.num_layers = num_layers
        self.skip_connections = skip_connections
        self.cell_clip = cell_clip
        self.projection_clip = projection_clip
        self.activation = activation
        self.stateful = stateful
        self.sentence_boundaries = sentence_boundaries
        self.added: Added | None = None
        policy = self.dtype_policy
        self.char_cnn = CharacterCnn(
            self.filters,
            character_width,
            num_highway,
            projection_width,
            activation,
            name="char_cnn",
            dtype=policy,
        )
        self.lstms = [
            BidirectionalLstm(
                lstm_width,
                projection_width,
                cell_clip,
                projection_clip,
                skip_connection=skip_connections and index > 0,
                name=f"lstm_{index}",
                dtype=policy,
            )
            for index in range(num_layers)
        ]
        self.adapter_of_each = [None] * num_layers

    def add(self, added: Added) -> None:
        """Gives the built encoder its adapters, once.

        Raises:
            ConfigError: as `check_added`.
        """
        check_added(added, "elmo", self.num_layers)
        with extended(self):
            self.adapter_of_each = [
                self._adapter(added, index) if is_chosen(added.in_layers, index) else None
                for index in range(self.num_layers)
            ]
        self.added = added

    def _adapter(self, settings: BottleneckAdapters, index: int) -> BidirectionalAdapter:
        adapter = BidirectionalAdapter(
            self.projection_width,
            settings.size,
            "relu" if settings.activation == "relu" else "gelu_exact",
            settings.operation,
            name=f"lstm_{index}_adapter",
            dtype=self.dtype_policy,
        )
        adapter.build()
        return adapter

    @property
    def boundary_positions(self) -> int:
        """Positions that `lower_layers` adds to each text: the boundary words of a sentence."""
        return 2 if self.sentence_boundaries else 0

    @property
    def num_states(self) -> int:
        """Number of hidden states that a call returns: one a layer, and the character CNN's."""
        return self.num_layers + 1

    @property
    def states_width(self) -> int:
        """Width of each hidden state: both directions."""
        return 2 * self.projection_width

    def build(self, input_shape=None):
        self.char_cnn.build((None, CHARACTERS_PER_WORD))
        for lstm in self.lstms:
            lstm.build((2, None, None, self.projection_width))
        if self.stateful:
            self.carried_hidden = self._state("carried_hidden", self.projection_width)
            self.carried_cell = self._state("carried_cell", self.lstm_width)

    def _state(self, name: str, width: int):
        return self.add_weight(
            name=name,
            shape=(self.num_layers, 2, STATE_ROWS, width),
            initializer="zeros",
            trainable=False,
            autocast=False,
        )

    @property
    def adapter_layers(self) -> list[keras.layers.Layer]:
        """The adapters, bottom to top; no module stores them."""
        return [adapter for adapter in self.adapter_of_each if adapter is not None]

    @property
    def layer_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """The layer groups, bottom to top, as (name, weights)."""
        groups = [(layer.name, layer.weights) for layer in (self.char_cnn, *self.lstms)]
        return with_adapter_group(groups, self.adapter_layers, BottleneckAdapters.group)

    def call(self, inputs, training=None):
        mask = _real_words(inputs)
        layers = self._states_up_to(inputs, mask, self.num_layers)
        visible = tf.cast(mask, self.compute_dtype)[..., None]
        if self.sentence_boundaries:
            layers = [layer[:, 1:-1] for layer in layers]
        return {"layers": [layer * visible for layer in layers], "mask": mask}

    def lower_layers(self, inputs, top: int) -> dict:
        """Hidden states of the layers up to number `top` (0: the character CNN), in inference mode.

        Each can be an input of a later call: see "Given states" above. As the result of a call, but
        with the boundary words of each sentence, which the next layer takes as input: `time + 2`
        positions, or `time` for an encoder without boundaries.
        """
        mask, added = _real_words(inputs), self.boundary_positions
        lengths = tf.math.count_nonzero(mask, axis=1) + added
        layers = self._states_up_to(inputs, mask, top)
        return {"layers": layers, "mask": tf.sequence_mask(lengths, tf.shape(mask)[1] + added)}

    def _states_up_to(self, inputs, mask, top: int) -> list:
        """Hidden states of each layer up to `top`, as of `lower_layers`."""
        lengths = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1) + self.boundary_positions
        first, given = given_states(inputs, [layer.name for layer in (self.char_cnn, *self.lstms)])
        frozen_so_far = given is not None or not is_trainable(self.char_cnn)
        if given is None:
            character_ids = tf.cast(inputs["character_ids"], tf.int32)
            if self.sentence_boundaries:
                character_ids = _with_boundaries(character_ids, mask)
            tokens = self._token_layer(character_ids)
            forward = backward = tf.stop_gradient(tokens) if frozen_so_far else tokens
        else:
            forward, backward = tf.split(given, 2, axis=-1)
        tokens = tf.concat([forward, backward], axis=-1)
        if PERTURBATION in inputs:  # of the words, not of the boundaries
            added = tf.pad(inputs[PERTURBATION], [[0, 0], [1, 1], [0, 0]])
            tokens, frozen_so_far = perturbed({PERTURBATION: added}, tokens, frozen_so_far)
            forward, backward = tf.split(tokens, 2, axis=-1)
        layers = [tokens]
        # Both directions stacked; the backward one runs from each row's last word to its first.
        states = tf.stack([forward, tf.reverse_sequence(backward, lengths, seq_axis=1)])
        for index in range(first, top):
            lstm = self.lstms[index]
            states, final = lstm(states, self._initial_state(index, tf.shape(mask)[0]), lengths)
            frozen_so_far = frozen_so_far and not is_trainable(lstm)
            states = tf.stop_gradient(states) if frozen_so_far else states
            adapter = self.adapter_of_each[index]
            if adapter is not None:
                states = adapter(states, tf.sequence_mask(lengths, tf.shape(states)[2]))
                frozen_so_far = frozen_so_far and not is_trainable(adapter)
                states = tf.stop_gradient(states) if frozen_so_far else states
            self._carry(index, final)
            backward = tf.reverse_sequence(states[1], lengths, seq_axis=1)
            layers.append(tf.concat([states[0], backward], axis=-1))
        return layers

    def _token_layer(self, words):
        """Runs the character CNN once for each distinct word of the batch."""
        shape = tf.shape(words)
        flat = tf.reshape(words, [-1, CHARACTERS_PER_WORD])
        if is_convertible():
            return tf.reshape(self.char_cnn(flat), [shape[0], shape[1], self.projection_width])
        # One boundary word more: one device of several may have no sentence at the end of an epoch,
        # and convolutions of an empty batch fail.
        flat = tf.concat([[_boundary_word(SENTENCE_BEGIN)], flat], axis=0)
        distinct, index = tf.raw_ops.UniqueV2(x=flat, axis=[0])
        distinct = tf.ensure_shape(distinct, [None, CHARACTERS_PER_WORD])
        tokens = tf.gather(self.char_cnn(distinct), index[1:])
        return tf.reshape(tokens, [shape[0], shape[1], self.projection_width])

    def _initial_state(self, index: int, batch):
        if self.stateful:
            return (
                tf.convert_to_tensor(self.carried_hidden)[index, :, :batch],
                tf.convert_to_tensor(self.carried_cell)[index, :, :batch],
            )
        return tf.zeros([2, batch, self.projection_width]), tf.zeros([2, batch, self.lstm_width])

    def _carry(self, index: int, final) -> None:
        if not self.stateful:
            return
        for variable, part in zip((self.carried_hidden, self.carried_cell), final, strict=True):
            old = tf.convert_to_tensor(variable)
            rows = tf.concat([tf.cast(part, old.dtype), old[index, :, tf.shape(part)[1] :]], axis=1)
            variable.assign(tf.concat([old[:index], rows[None], old[index + 1 :]], axis=0))

    def reset_states(self) -> None:
        """Sets the carried states of a stateful encoder to zero."""
        for variable in (self.carried_hidden, self.carried_cell):
            variable.assign(tf.zeros(variable.shape))

    def weights_by_name(self) -> dict:
        """Every weight by its name in a module, as `lstm_0/forward/kernel`; no carried state.

        Adapters, which no module stores, are named in the same way:
        `lstm_0_adapter/forward/up/bias`.
        """
        names = weights_by_name(self, first="char_cnn/embedding")
        return {name: weight for name, weight in names.items() if "carried" not in name}

    def load_weights_by_name(self, arrays: dict) -> None:
        """Sets every weight but the adapters' from `{name: array}`; see `load_pretrained`."""
        load_pretrained(self, arrays)


def _real_words(inputs):
    return tf.reduce_any(inputs["character_ids"] > 0, axis=-1)


def _boundary_word(character: int) -> list[int]:
    padding = [PAD_CHARACTER] * (CHARACTERS_PER_WORD - 3)
    return [WORD_BEGIN, character, WORD_END, *padding]


def _with_boundaries(character_ids, mask):
    """Adds a begin word before and an end word after each sentence:
    `[batch, time, 50]` → `[batch, time + 2, 50]`."""
    batch, time = tf.shape(mask)[0], tf.shape(mask)[1]
    begin = tf.broadcast_to(
        tf.constant(_boundary_word(SENTENCE_BEGIN)), [batch, 1, CHARACTERS_PER_WORD]
    )
    words = tf.concat([begin, character_ids, tf.zeros_like(begin)], axis=1)
    length = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
    at_end = tf.equal(tf.range(time + 2)[None], length[:, None] + 1)[..., None]
    return tf.where(at_end, tf.constant(_boundary_word(SENTENCE_END)), words)
