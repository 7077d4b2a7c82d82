"""A row of the table: a layer, and what it is called with."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field

import keras
import numpy as np
import tensorflow as tf

from layer_table.inputs import LENGTHS


@dataclass(frozen=True)
class Row:
    """A layer, and what it is called with.

    `inputs(extra)` gives its arguments with `extra` positions of padding after the longest row;
    `real` takes what is not padding out of its outputs; `unusual` completes `config` to a value
    other than the default for every argument; `call` is how a layer is called whose work is done
    by a method: `call(layer, *inputs, **options)`.
    """

    layer: type
    config: dict
    inputs: Callable[[int], tuple]
    real: Callable
    unusual: dict = field(default_factory=dict)
    gives_logits: bool = True
    call: Callable | None = None

    def make(self, seed: int = 0, **changes) -> keras.layers.Layer:
        """A built layer with normally distributed weights, so that no bias is zero."""
        keras.utils.set_random_seed(seed)
        layer = self.layer(**self.config | changes)
        self.outputs(layer, *self.inputs(0))
        random = np.random.default_rng(seed)
        for weight in layer.weights:
            if weight.dtype == "float32":
                weight.assign(random.normal(size=weight.shape, scale=0.3))
        return layer

    def outputs(self, layer: keras.layers.Layer, *inputs, **options):
        return (self.call or type(layer).__call__)(layer, *inputs, **options)

    def results(
        self, layer: keras.layers.Layer, extra: int = 0, graph: bool = False, **options
    ) -> list[np.ndarray]:
        """What a layer makes of this row's inputs, without the padding."""
        run = functools.partial(self.outputs, layer)
        parts = self.real((tf.function(run) if graph else run)(*self.inputs(extra), **options))
        return [np.asarray(tf.cast(part, tf.float32)) for part in parts]


def encoder(layer, config: dict, inputs: Callable, unusual: dict | None = None) -> Row:
    return Row(layer, config, inputs, real_states, unusual or {}, gives_logits=False)


def part(layer, config: dict, inputs: Callable, unusual: dict | None = None, **more) -> Row:
    """A layer of an encoder or of a head."""
    real = more.pop("real", real_words(*LENGTHS))
    return Row(layer, config, inputs, real, unusual or {}, gives_logits=False, **more)


def head(layer, config: dict, inputs: Callable, unusual: dict | None = None) -> Row:
    """A head with one row of logits for each example."""
    return Row(layer, config, inputs, lambda logits: [logits], unusual or {})


def real_states(outputs: dict) -> list:
    states = [layer[row, :n] for layer in outputs["layers"] for row, n in enumerate(LENGTHS)]
    return states + ([outputs["pooled"]] if "pooled" in outputs else [])


def real_words(*lengths: int) -> Callable:
    return lambda logits: [logits[row, :n] for row, n in enumerate(lengths)]
