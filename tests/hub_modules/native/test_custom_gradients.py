"""Gradients written by hand: they hold in every kind of graph, and go with it.

As a program it says what was not freed: in a process in which nobody else keeps graphs alive.
"""

import functools
import gc
import json
import subprocess
import sys
import tempfile
import time
import traceback
import weakref
from collections.abc import Callable

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import ops

from hub_modules.native.kernels.custom_gradients import (
    custom_gradient,
    loaded_with_gradients,
    own_gradients,
)

X = tf.constant([1.0, 2.0])


@custom_gradient
def doubled(x):
    """2 x, with 5 as its gradient, so that one sees whose gradient is taken."""
    return 2.0 * x, lambda upstream: 5.0 * upstream


def gradient_of(function, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        value = function(x)
    return tape.gradient(value, x)


def in_a_loop(x):
    return tf.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, doubled(x)), (0, x))[1]


def in_a_branch(x):
    return tf.cond(tf.reduce_sum(x) > 0, lambda: doubled(x), lambda: x)


@pytest.mark.parametrize(("function", "factor"), [(doubled, 5), (in_a_loop, 125), (in_a_branch, 5)])
def test_of_any_graph(function, factor):
    outside = tf.function(function)  # the gradient is taken of a call
    inside = tf.function(lambda x: gradient_of(function, x))
    compiled = tf.function(lambda x: gradient_of(function, x), jit_compile=True)
    for found in (gradient_of(outside, X), inside(X), compiled(X), gradient_of(function, X)):
        np.testing.assert_array_equal(found, [factor, factor])


def registered() -> set[str]:
    return {name for name in ops.gradient_registry._registry if name.startswith("CustomGradient-")}


def becomes(true: Callable[[], bool]) -> bool:
    """Whether it is once all is collected. One collection is not enough: it does nothing while
    another thread collects, and sees only later what the finalizers of this one let go."""
    for _ in range(20):
        gc.collect()
        if true():
            return True
        time.sleep(0.05)
    return False


def a_graph_is_freed_with_what_its_gradient_reads(function):
    before, held = registered(), tf.Variable([3.0, 4.0])
    call = tf.function(lambda x: gradient_of(function, x * held))
    graph, held = weakref.ref(call.get_concrete_function(X).graph), weakref.ref(held)
    assert registered() - before
    del call
    assert becomes(lambda: registered() <= before and graph() is None and held() is None)


class Module(tf.Module):
    def __init__(self):
        super().__init__()
        self.weight = tf.Variable(3.0)

    @tf.function(input_signature=[tf.TensorSpec([2])])
    def call(self, x):
        return doubled(x) * self.weight


def a_loaded_module_has_its_gradients_and_takes_them_along():
    before = registered()
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(Module(), folder)
        assert becomes(lambda: registered() <= before)
        loaded = loaded_with_gradients(lambda: tf.saved_model.load(folder))
    np.testing.assert_array_equal(gradient_of(loaded.call, X), [15, 15])
    weight = weakref.ref(loaded.weight)
    del loaded
    assert becomes(lambda: weight() is None)


def one_step_of_keras() -> None:
    weight = keras.Variable(1.0)
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(1.0))
    optimizer.build([weight])

    @tf.function
    def step():
        optimizer.apply([tf.constant(1.0)])
        assert len(registered()) > 0
        own_gradients()

    step()


def what_keras_registers_in_a_step_is_freed_too():
    before = registered()
    one_step_of_keras()
    assert becomes(lambda: registered() <= before)


CASES = {
    **{
        function.__name__: functools.partial(
            a_graph_is_freed_with_what_its_gradient_reads, function
        )
        for function in (doubled, in_a_loop, in_a_branch)
    },
    "loaded": a_loaded_module_has_its_gradients_and_takes_them_along,
    "keras": what_keras_registers_in_a_step_is_freed_too,
}


def main() -> None:
    found = dict.fromkeys(CASES, "")
    for name, case in CASES.items():
        try:
            case()
        except AssertionError:
            found[name] = traceback.format_exc()
    json.dump(found, sys.stdout)


@pytest.fixture(scope="module")
def failures() -> dict[str, str]:
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("case", CASES)
def test_all_is_freed(failures, case):
    assert not failures[case]


if __name__ == "__main__":
    main()
