"""A pretrained module, loaded by its handle, as a Keras layer with groups that can be frozen."""

import contextlib
import functools
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict

import keras
import tensorflow as tf

from hub_modules.engines.names import TENSORFLOW, check_engine
from hub_modules.engines.openvino_encoder import OpenVinoEncoder
from hub_modules.families import FAMILIES
from hub_modules.load import load_module
from hub_modules.native.added.settings import (
    Added,
    Biases,
    TaskAttention,
    as_values,
    with_added,
)
from hub_modules.native.given_states import PERTURBATION, states_key
from hub_modules.native.inference_graph import InferenceGraph
from hub_modules.preprocess import PromptedPreprocessor
from tf_adapt.encoder.collective_keys import continue_collective_keys
from tf_adapt.encoder.grouped_layer import GroupedLayer
from tf_adapt.encoder.layer_groups import LayerGroups, with_bias_group
from tf_adapt.encoder.long_texts import MOST_POSITIONS, LongTexts, in_windows, joined
from tf_adapt.encoder.refusals import (
    check_addition,
    check_checkpointing,
    check_long,
    check_new_ways,
    checked_prompts,
    joint_pairs,
    not_converted,
    nothing_learns,
)
from tf_adapt.errors import ConfigError
from tf_adapt.layers.pooling import POOLINGS
from tf_adapt.version import __version__

# Of families without a bound of their own: a bound on memory.
MOST_WORDS = 1000


def is_convertible(encoder: "HubEncoder") -> bool:
    """Whether another engine than TensorFlow can compute an encoder."""
    if isinstance(encoder.added, TaskAttention):
        return False
    return encoder.execution == "native" and FAMILIES[encoder.family].is_transformer


@contextlib.contextmanager
def computed_by_tensorflow(encoder: "HubEncoder") -> Iterator[None]:
    """Calls inside are TensorFlow's, for graphs that are saved."""
    before, encoder._engine = encoder._engine, TENSORFLOW
    try:
        yield
    finally:
        encoder._engine = before


@keras.saving.register_keras_serializable("tf_adapt")
class HubEncoder(GroupedLayer):
    """A pretrained encoder: texts or packed inputs → hidden states of every layer.

    Shapes: texts `[batch] string`, or the packed inputs from `preprocessor` → `{"layers": list of
    [batch, time, width], bottom to top, "mask": [batch, time] bool, "pooled": [batch, width]
    (BERT; a causal module: the last token's; a sentence module: its only state)}`. Other keys of
    the inputs are ignored. Under a half-precision dtype policy the native encoder computes in that
    precision.

    Texts are a list of str, or an array or tensor `[batch] string`; pairs of texts that are encoded
    jointly are a tuple of two of these. `keras.Input((), dtype="string")` works too, so the encoder
    may be the first layer of a Keras model. A call on texts equals a call on
    `preprocessor(texts, max_length)`: a text that is too long is refused. For several epochs, map
    `preprocessor` over the dataset: tokenization then runs in parallel with the model.

    Precomputed outputs: if the inputs have `states` or `pooled` (`tf_adapt.encoder.feature_cache`)
    these, as far as the head reads them, are the outputs; with `states_of_NAME`
    (`tf_adapt.encoder.cached_activations`) the native encoder starts above the layer group NAME,
    and `layers` begins with its states.

    Freezing: `encoder.trainable = False`, or `set_trainable_groups`, before `compile`. A frozen
    group runs in inference mode, and no gradient is computed below the lowest trainable group. With
    `execution="saved_model"` inference mode requires that the whole encoder is frozen.

    What an adaptation adds (`build_model(…, adaptation=ta.lora())`) is inside the native encoder,
    and the last layer group: `adapters` with (not in ELMo) the LayerNorms of their layers, LoRA's
    matrices `lora`; with BitFit all biases are one, `biases`. These weights can be saved
    separately: see `tf_adapt.encoder.adapter_files`.

    Args:
        handle: a shipped module's name, a folder, a TF Hub URL, a `.txt` file of word vectors, or
            `keras:` with a keras-hub preset's name, or with the folder of a preset or of
            HuggingFace's format.
        trainable: whether the pretrained weights are trainable.
        execution: "native", "saved_model", or None: native if the module is recognised.
        trust: accept a module without a manifest, and a program (a SavedModel that is executed)
            that neither ships nor was written or trusted by this user before.
        preprocessor: handle of the preprocessing module, if the module has none.
        pretrained: whether to load the module's weights. False: the same network with random
            weights, a baseline (native).
        pairs: "joint" (transformers: both texts of a pair in one row, which attend to each other),
            "separate" (each text in its own row), or None: as the family was pretrained.
        gradient_checkpointing: whether each transformer layer is recomputed in the backward pass
            (BERT and causal, native), in slices of the batch of at most 2,048 positions: less
            memory, about 50% more time, the same gradients (with several slices other dropout
            masks).
        classification_token: whether each row ends in a new token, whose top state is `pooled` and
            whose embedding, in the group `new_embeddings`, is the only one without pretraining
            (causal, native). False: it ends in `<|endoftext|>`.
        keep_layers: numbers of the transformer layers to keep, from 0, the lowest above the
            embeddings, bottom to top: a smaller encoder of these layers with their weights, as
            DistilBERT starts (BERT, causal and keras-hub's but ALBERT; native). None: all.
        engine: "tensorflow", or "openvino" for calls that need no gradient (transformers, native;
            the extra [openvino]). In float32 the outputs are TensorFlow's up to rounding. With
            "openvino_int8" (the extra [int8]) the weights have 8 bits and the outputs are near
            those only. It takes the weights at the first call, and anew where `tf_adapt.encode`,
            `predict` or a run begin a pass over texts; after a change of weights between calls of
            your own, set it again.
        long: a `LongTexts` (or its values): texts of any length are read in windows, whose states
            are put together again; transformers only. The texts of a pair are then read apart.
        prompts: what is put before each text, as "query: "; two, a list, for the two texts of a
            pair. For tasks on whole texts; not together with `long`. None: the default prompt of a
            folder of sentence-transformers, if it has one; [] is none.
        new_tokens, segments: numbers of tokens and of segments that the module lacks, with
            embeddings of their own, which begin near 0 and are the group `new_embeddings` (causal,
            native): see `hub_modules.native.causal.CausalEncoder`.

    Attributes:
        added: what an adaptation has added, or None: see `add`.
        family: a key of `hub_modules.families.FAMILIES`, such as "bert".
        preprocessor: texts → packed inputs, in the graph:
            `preprocessor(texts, max_length, truncate)`.
        max_length: longest input in positions, unless a longer one is asked for. Transformers:
            their position embeddings, special tokens included, or what a folder of
            sentence-transformers says; with `long` 4,096. Others: 1,000 words. (These two bound
            memory, they are no limits of the model.)
        most_positions: of an input that can be asked for; None: any number.
        joint_pairs: whether both texts of a pair are encoded as one row.
        module_hash: hash of the module's files, and of `keep_layers` where some are left out, for
            caches and reports.
        as_stored: whether all weights that no adaptation adds are still the module's, for caches.
        unread_groups: names of the groups whose outputs the head does not use; always frozen.
        layer_mix: an ELMo module's own mix of its layers, from which a head's mix starts; or None.
        pooling: how `pooled` is made of the top states where a folder of sentence-transformers says
            so: "mean" or "first"; None: as the encoder makes it.

    Raises:
        ArtifactError: the module is missing, damaged, untrusted or of an unknown kind.
        ConfigError: an argument is invalid, or the module cannot be trained.
        DataError, tf.errors.InvalidArgumentError: in a call: as `pack_texts`.

    Examples:
        >>> texts = keras.Input((), dtype="string")
        >>> encoded = ta.HubEncoder("bert_small")(texts)
        >>> model = keras.Model(texts, keras.layers.Dense(1)(encoded["pooled"]))
    """

    def __init__(
        self,
        handle: str | os.PathLike,
        trainable: bool = True,
        execution: str | None = None,
        trust: bool = False,
        preprocessor: str | os.PathLike | None = None,
        pretrained: bool = True,
        pairs: str | None = None,
        gradient_checkpointing: bool = False,
        classification_token: bool = False,
        keep_layers: Sequence[int] | None = None,
        engine: str = TENSORFLOW,
        long: LongTexts | dict | None = None,
        prompts: str | Sequence[str] | None = None,
        new_tokens: int = 0,
        segments: int = 0,
        **kwargs,
    ):
        check_new_ways(kwargs)
        super().__init__(**kwargs)
        continue_collective_keys(tf.distribute.get_strategy())
        module = load_module(
            handle,
            execution,
            trust,
            preprocessor,
            self.dtype_policy,
            pretrained,
            classification_token,
            keep_layers,
            new_tokens,
            segments,
        )
        self.new_tokens = new_tokens
        self.segments = segments
        self.classification_token = classification_token
        self.keep_layers = None if keep_layers is None else tuple(keep_layers)
        self.handle = os.fspath(handle)
        self.trust = trust
        self.pretrained = pretrained
        self.pairs = pairs
        self.added: Added | None = None
        self.execution = module.execution
        self.family = module.family
        self.long = LongTexts(**long) if isinstance(long, dict) else long
        check_long(self.long, module, pairs)
        self.most_positions = None if long is not None else module.max_length
        self.max_length = module.max_length or MOST_WORDS
        if long is not None:
            self.max_length = MOST_POSITIONS
        elif module.sentence.longest is not None:
            self.max_length = min(self.max_length, module.sentence.longest)
        self.module_hash = module.hash
        self.joint_pairs = joint_pairs(pairs, module.family) and long is None
        self.as_stored = pretrained and not (classification_token or new_tokens or segments)
        self.encoder = module.encoder
        self.gradient_checkpointing = gradient_checkpointing
        if gradient_checkpointing:
            check_checkpointing(module)
            self.encoder.gradient_checkpointing = True
        # In a tuple Keras does not see it, but TensorFlow does: an export of a user's own model
        # needs the tables of a preprocessing program.
        self.prompts = checked_prompts(prompts, long, module.sentence)
        given = module.preprocessor
        given = PromptedPreprocessor(given, self.prompts) if self.prompts else given
        self._preprocessing = (given, preprocessor)
        self.layer_mix = module.mix
        self.pooling = module.sentence.pooling
        self.unread_groups = self.never_read
        self.build(None)  # marks the layer as built, else `summary` shows no shape
        if trainable and not self.weights:
            raise ConfigError(nothing_learns(self.handle, self.family, execution))
        if trainable and any(weight.dtype == "float16" for weight in self.weights):
            raise ConfigError(
                f"module {self.handle}: it is stored in float16, in which its own program would "
                "round most updates away; train it with execution: native, or freeze it "
                "(trainable=False)"
            )
        self.trainable = trainable
        self.engine = engine

    def read_all_positions(self) -> None:
        """Lifts the limit of a folder of sentence-transformers from `max_length`."""
        self.max_length = self.most_positions or self.max_length

    def build(self, input_shape=None):
        """Creates nothing: the module's weights exist already."""

    def add(self, added: Added) -> None:
        """Gives the encoder what an adaptation adds, once; what it has already stays as it is.

        `build_model` calls it. The new weights are trainable where the encoder is, the others stay
        as they are. Graphs that were traced of models of this encoder do not have them.

        Raises:
            ConfigError: the encoder has no place for it, or something else was added before.
        """
        if added == self.added:
            return
        check_addition(self, added)
        groups = [*self.trainable_groups, *([added.group] if self.trainable else [])]
        if not isinstance(added, Biases):
            self.encoder.add(added)
        self.added = added
        self.set_trainable_groups([name for name, _ in self.layer_groups if name in groups])
        for graph in ("forward", "forward_texts", "_openvino"):
            self.__dict__.pop(graph, None)
        self.engine = self.engine  # of a new graph

    @property
    def added_weights(self) -> Added | None:
        """What an adaptation has added that has weights of its own; None: nothing, or BitFit."""
        return None if isinstance(self.added, Biases) else self.added

    @property
    def output_shape(self) -> tuple:
        """Shape of one layer's hidden states, for `model.summary()`."""
        return (None, None, self.output_width)

    @property
    def native(self):
        """The inner Keras layer: the native encoder, or a wrapper of the module's SavedModel."""
        return self.encoder

    @property
    def engine(self) -> str:
        """What computes calls that need no gradient: see the argument of the same name."""
        return self._engine

    @engine.setter
    def engine(self, engine: str) -> None:
        check_engine(engine)
        if engine != TENSORFLOW:
            if not is_convertible(self):
                raise ConfigError(not_converted(self, engine))
            self._openvino.choose(engine)
        self._engine = engine

    @functools.cached_property
    def _openvino(self) -> OpenVinoEncoder:
        # Created once: graphs that were traced with it refer to it.
        origin = {"module": self.module_hash, "tf_adapt": __version__}
        return OpenVinoEncoder(self.encoder, f"the encoder of module {self.handle}", origin)

    def ready_engine(self) -> str:
        """`engine`, ready for a pass over texts with the current weights.

        Raises:
            ConfigError: OpenVINO cannot convert the encoder, or does not compute in its precision.
        """
        if self.engine != TENSORFLOW:
            self._openvino.take_weights()
        return self.engine

    def allow_xla(self) -> None:
        """Allows XLA compilation of steps with this encoder if `compile` asks for it."""
        self.encoder.supports_jit = True

    @property
    def preprocessor(self):
        """Texts → packed inputs, in the graph: see `hub_modules.preprocess`."""
        return self._preprocessing[0]

    @functools.cached_property
    def forward(self) -> InferenceGraph:
        """A call on packed inputs in inference mode, as a graph."""
        return InferenceGraph(self, functools.partial(self, training=False))

    @functools.cached_property
    def forward_texts(self) -> InferenceGraph:
        """Packing and a call in inference mode in one graph.

        Its arguments: all tokenized texts, and the indices `[batch] int64` of those to encode.
        """

        def call(units, index):
            inputs = self.preprocessor.pack([tf.gather(units, index)])
            return self(inputs, training=False)

        return InferenceGraph(self, call)

    @property
    def layer_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """(name, variables) of each layer group, bottom to top.

        A group is frozen as a whole and has one learning rate. The list's `repr` is one line per
        group: name, number of weights and of parameters.
        """
        groups = self.encoder.layer_groups
        has_biases = isinstance(self.added, Biases)
        return LayerGroups(with_bias_group(groups, self.unread_groups) if has_biases else groups)

    @property
    def layer_names(self) -> list[str]:
        """Names of the hidden states that a native encoder can start from, bottom to top: those of
        its groups, but for groups of which several calls return states."""
        if hasattr(self.encoder, "state_names"):
            return self.encoder.state_names
        return [name for name, _ in self.layer_groups[: self.num_layers]]

    @property
    def never_read(self) -> tuple[str, ...]:
        """See `GroupedLayer`."""
        return () if self.pooling is None else ("pooler",)

    def weights_of_other_tasks(self, task: str | None) -> list[keras.Variable]:
        """The weights of the other tasks' own attention (`TaskAttention`); none without a task."""
        attentions = {} if task is None else self.encoder.task_attention
        return [
            weight
            for name, attention in attentions.items()
            if name != task
            for weight in attention.weights
        ]

    @property
    def num_layers(self) -> int:
        """Number of layers in the outputs."""
        return self.encoder.num_states

    @property
    def output_width(self) -> int:
        """Width of each layer's hidden states."""
        return self.encoder.states_width

    def __call__(self, inputs, *args, **kwargs):
        # Before Keras, which accepts no Python strings, and wraps the errors of `call`.
        if not isinstance(inputs, dict) and not _is_symbolic(inputs):
            inputs = self._packed(inputs)
        return super().__call__(inputs, *args, **kwargs)

    def call(self, inputs, training=None, task=None):
        if not isinstance(inputs, dict):
            inputs = self._packed(inputs)
        if "states" in inputs or "pooled" in inputs:
            return _computed_before(inputs)
        if self.long is None:
            return self._encoded(inputs, training, task)
        if self._begins_inside(inputs):
            raise ConfigError(
                "inputs: expected texts for an encoder that reads them in windows (long), got "
                "states or a perturbation of a layer"
            )
        windows, places = in_windows(inputs, self.long)
        return joined(self._encoded(windows, training, task), places, self.long)

    def _encoded(self, inputs: dict, training, task: str | None) -> dict:
        encoded = self._by_engine(inputs, training, task)
        if self.pooling is None:
            return encoded
        pool = POOLINGS[self.pooling]
        return encoded | {"pooled": pool(encoded["layers"][-1], encoded["mask"])}

    def _by_engine(self, inputs: dict, training, task: str | None) -> dict:
        if self.engine == TENSORFLOW:
            options = {} if task is None else {"task": task}
            return self.encoder(inputs, training=training, **options)
        if (training and self.trainable_weights) or self._begins_inside(inputs):
            raise ConfigError(
                f"engine {self.engine}: expected a call without gradients, got a step of training; "
                "freeze the encoder (trainable=False), or set engine to tensorflow"
            )
        return self._openvino(inputs)

    def _begins_inside(self, inputs: dict) -> bool:
        """Whether the inputs hold a layer's states, or a perturbation of the lowest ones."""
        return any(name in inputs for name in (PERTURBATION, *map(states_key, self.layer_names)))

    def _packed(self, texts) -> dict:
        if isinstance(texts, list) and texts and all(tf.is_tensor(column) for column in texts):
            texts = tuple(texts)  # a pair in a functional model loaded from a `.keras` file
        if isinstance(texts, tuple) and not self.joint_pairs:
            raise ConfigError(
                f"inputs: this encoder ({self.family}, pairs={self.pairs!r}) reads the texts of a "
                "pair apart; expected one column of texts, got a pair; call it on each"
            )
        return self.preprocessor(texts, self.max_length)

    def get_config(self) -> dict:
        preprocessor = self._preprocessing[1]
        return super().get_config() | {
            "handle": self.handle,
            "execution": self.execution,
            "trust": self.trust,
            "preprocessor": None if preprocessor is None else os.fspath(preprocessor),
            "pretrained": self.pretrained,
            "pairs": self.pairs,
            "added": as_values(self.added),
            "gradient_checkpointing": self.gradient_checkpointing,
            "classification_token": self.classification_token,
            "keep_layers": None if self.keep_layers is None else list(self.keep_layers),
            "engine": self.engine,
            "long": None if self.long is None else asdict(self.long),
            "prompts": list(self.prompts),
            "new_tokens": self.new_tokens,
            "segments": self.segments,
            "trainable_groups": self.trainable_groups,
            "unread_groups": list(self.unread_groups),
        }

    @classmethod
    def from_config(cls, config: dict) -> "HubEncoder":
        """The encoder of `get_config`, with the same groups frozen.

        `trust` is ignored: a file must not vouch for its own module. Hashes that the user has
        trusted are on record.
        """
        config = with_added(config) | {"trust": False}
        # Files of earlier versions have none, and took nothing from a folder.
        before, config["prompts"] = config.get("prompts") is None, config.get("prompts") or []
        groups, unread = config.pop("trainable_groups"), config.pop("unread_groups")
        added = config.pop("added")
        encoder = cls(**config)
        if before:
            encoder.read_all_positions()
        if added is not None:
            encoder.add(added)
        encoder.unread_groups = tuple(unread)
        encoder.set_trainable_groups(groups)
        return encoder


def _is_symbolic(inputs) -> bool:
    return any(isinstance(part, keras.KerasTensor) for part in keras.tree.flatten(inputs))


def _computed_before(inputs: dict) -> dict:
    """The encoder's outputs from precomputed states: see `tf_adapt.encoder.feature_cache`."""
    encoded = {"pooled": inputs["pooled"]} if "pooled" in inputs else {}
    if "states" in inputs:
        states = inputs["states"]
        encoded["layers"] = tf.unstack(states, axis=2)
        encoded["mask"] = tf.sequence_mask(inputs["lengths"], tf.shape(states)[1])
    return encoded
