"""A pretrained module, named by its handle, as a Keras layer that can be frozen part by part."""

import functools
import os
from collections.abc import Sequence

import keras
import tensorflow as tf

from hub_modules.half_kernels import given_kernels
from hub_modules.load import LoadedModule, load_module
from hub_modules.weights import let_learn
from tf_adapt.errors import ConfigError

ELMO_MAX_WORDS = 1000


@keras.saving.register_keras_serializable("tf_adapt")
class HubEncoder(keras.layers.Layer):
    """A pretrained encoder: handle and `trainable` in, the states of every layer out.

    Shapes: the inputs its `preprocessor` packs → `{"layers": [[batch, time, width], …] bottom to
    top, "mask": [batch, time] bool, "pooled": [batch, width] (BERT)}`. Other keys of the inputs are
    ignored. Under a half-precision dtype policy the native encoder computes in that precision.

    Given states: inputs that hold the `states` of all layers (`tf_adapt.features`) come out as they
    are; with `states_of_NAME` (`tf_adapt.kept_states`) the native encoder starts above the layer
    group of that name, and `layers` begins with it.

    Freezing: `encoder.trainable = False`, or `set_trainable_groups`, before `compile`. A frozen
    group runs in inference mode, and no gradient is computed below the lowest trainable group. In
    the module's own program (`execution="saved_model"`) only freezing all of it puts it in
    inference mode.

    Adapters stand inside the native encoder. They and, in BERT, all LayerNorms are one more layer
    group, `adapters`, the last. Their weights can be kept apart from the encoder's: see
    `tf_adapt.adapter_files`.

    Args:
        handle: a shipped module's name, a folder, or a TF Hub URL.
        trainable: whether the pretrained weights learn.
        execution: "native", "saved_model", or None: native where the module is recognised.
        trust: accept a module without a manifest.
        preprocessor: handle of the preprocessing module, where the module brings none.
        adapters: "bottleneck" (BERT and ELMo), "projected_attention" (BERT), or None.
        adapter_size: width of the adapters, at least 1; 64 as in adapter-bert.
        pretrained: whether the native encoder gets the module's weights. False: the same network
            with random ones, a baseline.
        pairs: "joint" (BERT: both texts of a pair in one row, which attend to each other),
            "separate" (each by itself), or None: as the family was pretrained.
        gradient_checkpointing: for the gradient, whether each transformer layer is computed again
            instead of kept (BERT, native), in slices of the batch of at most 2,048 positions: less
            memory, about half more time, the same numbers (in a larger batch dropout draws others).

    Attributes:
        family: "bert" or "elmo".
        preprocessor: text → inputs, in the graph.
        max_length: most positions of one input: BERT's position table, special tokens included;
            ELMo 1,000 words (a bound on memory, not on the model).
        joint_pairs: whether both texts of a pair are read as one row.
        module_hash: hash of the module's files, for caches and reports.
        unread_groups: names of the groups that the head on top does not read; they never learn.

    Raises:
        ArtifactError: the module is missing, damaged, untrusted or of an unknown kind.
        ConfigError: an argument is wrong, or the module cannot be trained.
    """

    def __init__(
        self,
        handle: str | os.PathLike,
        trainable: bool = True,
        execution: str | None = None,
        trust: bool = False,
        preprocessor: str | os.PathLike | None = None,
        adapters: str | None = None,
        adapter_size: int = 64,
        pretrained: bool = True,
        pairs: str | None = None,
        gradient_checkpointing: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        module = load_module(
            handle,
            execution,
            trust,
            preprocessor,
            self.dtype_policy,
            adapters,
            adapter_size,
            pretrained,
        )
        self.handle = os.fspath(handle)
        self.trust = trust
        self.pretrained = pretrained
        self.pairs = pairs
        self.adapters = adapters
        self.adapter_size = adapter_size
        self.execution = module.execution
        self.family = module.family
        self.max_length = module.max_length or ELMO_MAX_WORDS
        self.module_hash = module.hash
        self.joint_pairs = _joint_pairs(pairs, module.family)
        self.encoder = module.encoder
        self.gradient_checkpointing = gradient_checkpointing
        if gradient_checkpointing:
            _check_checkpointing(module)
            self.encoder.gradient_checkpointing = True
        # In a tuple, so that Keras does not count the preprocessing among this layer's parts.
        self._preprocessing = (module.preprocessor, preprocessor)
        self.unread_groups: tuple[str, ...] = ()
        self.built = True
        if trainable and not self.weights:
            raise ConfigError(
                f"module {self.handle}: TensorFlow 2 can use a TF1-format module only frozen "
                "(trainable=False, adaptation: feature_extraction); to tune an ELMo, convert its "
                "original weights: `tf-adapt module convert --from bilm-tf SOURCE --out DIR`"
            )
        self.trainable = trainable

    def __setattr__(self, name, value):
        if name != "trainable":
            super().__setattr__(name, value)
            return
        # TensorFlow's tracking skips the assignment of a value that is there already, but after
        # `set_trainable_groups` parts may be frozen while the whole says True.
        for layer in self._flatten_layers():
            keras.layers.Layer.trainable.fset(layer, bool(value))
        if unread := getattr(self, "unread_groups", ()):  # not there yet in Keras' constructor
            let_learn([group for group in self.layer_groups if group[0] in unread], [])

    @property
    def preprocessor(self):
        """Text → inputs, in the graph: see `hub_modules.preprocess`."""
        return self._preprocessing[0]

    @functools.cached_property
    def forward(self):
        """A call in inference mode as a graph, traced once for all data, called with the inputs and
        `half_kernels` of the encoder.

        Nothing in it needs AutoGraph, which would translate all of Keras.
        """

        def call(inputs, kernels):
            with given_kernels(self, kernels):
                return self(inputs, training=False)

        return tf.function(call, autograph=False, reduce_retracing=True)

    @functools.cached_property
    def forward_texts(self):
        """Packing and `forward` in one graph, called with the units of tokenized texts, the numbers
        `[batch]` of those that are wanted, and `half_kernels`."""

        def call(units, index, kernels):
            inputs = self.preprocessor.pack([tf.gather(units, index)])
            with given_kernels(self, kernels):
                return self(inputs, training=False)

        return tf.function(call, autograph=False, reduce_retracing=True)

    @property
    def layer_groups(self) -> list[tuple[str, list[keras.Variable]]]:
        """The units of freezing and of learning rates, bottom to top: (name, variables)."""
        return self.encoder.layer_groups

    @property
    def layer_names(self) -> list[str]:
        """Names of the groups whose states come out of a native encoder, bottom to top."""
        return [name for name, _ in self.layer_groups[: self.num_layers]]

    @property
    def adaptable_groups(self) -> list[str]:
        """Names of the groups that an adaptation may let learn: those that the head reads."""
        return [name for name, _ in self.layer_groups if name not in self.unread_groups]

    @property
    def trainable_groups(self) -> list[str]:
        """Names of the groups of which any weight learns."""
        learning = {id(weight) for weight in self.trainable_weights}
        return [
            name
            for name, weights in self.layer_groups
            if any(id(weight) in learning for weight in weights)
        ]

    def set_trainable_groups(self, names: list[str]) -> None:
        """Lets the named groups learn and freezes the others.

        Raises:
            ConfigError: there is no such group.
        """
        known = [name for name, _ in self.layer_groups]
        unknown = [name for name in names if name not in known]
        if unknown:
            raise ConfigError(f"layer groups {unknown}: expected some of {known}")
        self.trainable = bool(names)
        let_learn(self.layer_groups, names)

    def leave_unread(self, names: Sequence[str]) -> None:
        """Says which groups the head on top does not read; those of an earlier head are free again.

        Names that this encoder does not have are passed over.
        """
        learning = [*self.trainable_groups, *self.unread_groups] if self.trainable else []
        self.unread_groups = tuple(name for name, _ in self.layer_groups if name in names)
        self.set_trainable_groups([name for name in learning if name not in self.unread_groups])

    @property
    def num_layers(self) -> int:
        """How many layers' states come out."""
        return self._output_shape[0]

    @property
    def output_width(self) -> int:
        """Width of each layer's states."""
        return self._output_shape[1]

    @property
    def _output_shape(self) -> tuple[int, int]:
        if self.execution == "saved_model":
            layers = self.encoder.example_layers()
            return len(layers), int(layers[-1].shape[-1])
        if self.family == "bert":
            return self.encoder.num_layers + 1, self.encoder.width
        return self.encoder.num_layers + 1, 2 * self.encoder.projection_width

    def call(self, inputs, training=None):
        if "states" in inputs:
            return _computed_before(inputs)
        return self.encoder(inputs, training=training)

    def get_config(self) -> dict:
        preprocessor = self._preprocessing[1]
        return super().get_config() | {
            "handle": self.handle,
            "execution": self.execution,
            "trust": self.trust,
            "preprocessor": None if preprocessor is None else os.fspath(preprocessor),
            "pretrained": self.pretrained,
            "pairs": self.pairs,
            "adapters": self.adapters,
            "adapter_size": self.adapter_size,
            "gradient_checkpointing": self.gradient_checkpointing,
            "trainable_groups": self.trainable_groups,
            "unread_groups": list(self.unread_groups),
        }

    @classmethod
    def from_config(cls, config: dict) -> "HubEncoder":
        """The encoder of `get_config`, with the same groups frozen."""
        config = dict(config)
        groups, unread = config.pop("trainable_groups"), config.pop("unread_groups")
        encoder = cls(**config)
        encoder.unread_groups = tuple(unread)
        encoder.set_trainable_groups(groups)
        return encoder


def _joint_pairs(pairs: str | None, family: str) -> bool:
    if pairs not in (None, "joint", "separate"):
        raise ConfigError(f"pairs: expected joint, separate or none, got {pairs!r}")
    if pairs == "joint" and family != "bert":
        raise ConfigError(
            f"pairs: expected separate or none for the family {family}, which reads one text at a "
            "time, got 'joint'"
        )
    return family == "bert" and pairs != "separate"


def _check_checkpointing(module: LoadedModule) -> None:
    if (module.family, module.execution) != ("bert", "native"):
        raise ConfigError(
            "gradient_checkpointing: expected a BERT that runs natively, got the family "
            f"{module.family}, execution {module.execution}; leave it out"
        )


def _computed_before(inputs: dict) -> dict:
    """The outputs of the encoder from its states as `tf_adapt.features` gives them."""
    states = inputs["states"]
    mask = tf.sequence_mask(inputs["lengths"], tf.shape(states)[1])
    encoded = {"layers": tf.unstack(states, axis=2), "mask": mask}
    return encoded | ({"pooled": inputs["pooled"]} if "pooled" in inputs else {})
