"""A function in OpenVINO: its numbers, its cache on disk, and what is refused."""

import logging
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from openvino_engine import needs_int8, needs_openvino, own_cache

from hub_modules.engines import graph_cache, names
from hub_modules.engines.openvino_graph import OpenVinoGraph
from hub_modules.errors import ConfigError
from hub_modules.native.kernels.local_attention import in_blocks

pytestmark = needs_openvino
SPECS = {"used": tf.TensorSpec([None, 3]), "unused": tf.TensorSpec([None], tf.int32)}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    return own_cache(tmp_path, monkeypatch)


class Product:
    """`used W`, and how often it was traced."""

    def __init__(self, dtype=tf.float32):
        random = np.random.default_rng(0)
        self.weights = tf.Variable(random.normal(size=(3, 2)), dtype=dtype)
        self.traced = 0

    def __call__(self):
        self.traced += 1

        @tf.function(autograph=False)
        def call(inputs):
            used = tf.cast(inputs["used"], self.weights.dtype)
            product = tf.cast(used @ self.weights, tf.float32)
            return {"product": product, "flag": inputs["used"][:, 0] > 0}

        return call.get_concrete_function(SPECS)

    def graph(self, precision="float32", engine="openvino", **key) -> OpenVinoGraph:
        return OpenVinoGraph("a product", key, self, precision, engine)


def inputs(rows: int) -> dict[str, np.ndarray]:
    used = np.random.default_rng(rows).normal(size=(rows, 3)).astype("float32")
    return {"used": used, "unused": np.zeros(rows, "int32")}


def assert_right(graph: OpenVinoGraph, product: Product) -> None:
    for rows in (1, 5):
        given = inputs(rows)
        found = graph(given)
        np.testing.assert_allclose(
            found["product"], given["used"] @ product.weights.numpy(), atol=1e-6
        )
        np.testing.assert_array_equal(found["flag"], given["used"][:, 0] > 0)


def test_numbers_and_the_cache(cache):
    product = Product()
    assert_right(product.graph(one=1), product)
    assert_right(product.graph(one=1), product)
    assert product.traced == 1
    product.graph(one=2)
    assert product.traced == 2 and len(list(cache.iterdir())) == 2


def test_bfloat16_constants():
    product = Product(tf.bfloat16)
    given = inputs(4)
    found = product.graph("bfloat16")(given)["product"]
    weights = product.weights.numpy().astype("float32")
    np.testing.assert_allclose(found, given["used"] @ weights, atol=0.05)


def test_a_thread_of_tensorflow_compiles_and_calls():
    """It takes denormal numbers as zero: OpenVINO would take sizes of blocks so too."""

    @tf.function(autograph=False)
    def blocks(inputs):
        heads = tf.ensure_shape(inputs["heads"], [None, 2, None, 8])

        def attend(query):
            scores = tf.matmul(query, heads, transpose_b=True)
            return tf.matmul(tf.nn.softmax(scores), heads)

        # In a branch, as in an encoder.
        short = tf.shape(heads)[2] <= 8
        return {"mixed": tf.cond(short, lambda: attend(heads), lambda: in_blocks(heads, 5, attend))}

    spec = tf.TensorSpec([None, None, None, None], name="heads")

    def call(heads):
        graph = OpenVinoGraph(
            "blocks", {}, lambda: blocks.get_concrete_function({"heads": spec}), "float32"
        )
        return graph({"heads": heads})["mixed"]

    in_a_thread = tf.function(lambda heads: tf.numpy_function(call, [heads], tf.float32))
    random = np.random.default_rng(0)
    for shape in ((3, 2, 12, 8), (1, 2, 28, 8)):
        heads = tf.constant(random.normal(size=shape).astype("float32"))
        expected = blocks({"heads": heads})["mixed"]
        np.testing.assert_allclose(in_a_thread(heads), expected, atol=1e-5)


@pytest.mark.slow
@needs_int8
def test_8_bits_are_those_of_the_formula(cache, capsys):
    """For each output channel 256 steps from its least to its greatest weight, 0 among them."""
    random = np.random.default_rng(0)
    # OpenVINO may round the factors too, by groups of 32: a row of ones has no error in that.
    kernel, ones = random.normal(size=(64, 48)).astype("float32"), np.ones((1, 64), "float32")

    @tf.function(autograph=False)
    def call(inputs):
        return {"product": inputs["x"] @ tf.constant(kernel)}

    def make():
        return call.get_concrete_function({"x": tf.TensorSpec([None, 64])})

    least, most = np.minimum(kernel.min(0), 0), np.maximum(kernel.max(0), 0)
    step = (most - least) / 255
    zero = np.round(-least / step)
    steps = np.clip(np.round(kernel / step) + zero, 0, 255)
    found = OpenVinoGraph("a product", {}, make, "float32", "openvino_int8")({"x": ones})
    expected = ones @ ((steps - zero) * step)
    np.testing.assert_allclose(found["product"], expected, atol=0.02)
    assert np.abs(expected - ones @ kernel).max() > 0.02
    assert capsys.readouterr().out == ""
    exact = OpenVinoGraph("a product", {}, make, "float32")({"x": ones})
    np.testing.assert_allclose(exact["product"], ones @ kernel, atol=1e-5)
    sizes = sorted((entry / "model.bin").stat().st_size for entry in cache.iterdir())
    assert len(sizes) == 2 and sizes[0] < sizes[1] / 3


def test_a_damaged_entry_is_made_again(cache, caplog):
    product = Product()
    product.graph()
    (entry,) = cache.iterdir()
    for number, (name, damage) in enumerate(
        [
            ("model.xml", lambda content: content[:-3]),
            ("model.bin", lambda content: bytes([content[0] ^ 1]) + content[1:]),
            ("model.bin", None),
            ("record.json", lambda content: bytes([content[0] ^ 1]) + content[1:]),
            ("record.json", None),
        ]
    ):
        content = (entry / name).read_bytes()
        (entry / name).unlink()
        if damage is not None:
            (entry / name).write_bytes(damage(content))
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            assert_right(product.graph(), product)
        assert product.traced == number + 2
        assert str(entry) in caplog.text and "it is converted again" in caplog.text
        product.graph()
        assert product.traced == number + 2


def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    product = Product()
    assert_right(product.graph(), product)
    assert "cannot be written" in caplog.text


def test_the_entries_that_were_used_last_stay(cache, monkeypatch):
    monkeypatch.setattr(graph_cache, "MOST_ENTRIES", 2)
    product = Product()
    product.graph(number=0)
    (oldest,) = cache.iterdir()
    product.graph(number=1)
    for place, entry in enumerate(cache.iterdir()):
        os.utime(entry, (place, place))
    product.graph(number=0)
    product.graph(number=2)
    assert oldest in cache.iterdir() and len(list(cache.iterdir())) == 2


def test_what_a_killed_process_left_is_removed_after_a_day(cache):
    new, old = (cache / f".entry.{letter * 32}.partial" for letter in "ab")
    for path in (new, old):
        path.mkdir(parents=True)
        (path / "model.bin").write_bytes(b"x")
    os.utime(old, (0, 0))
    Product().graph()
    assert new.exists() and not old.exists()


SIGNALLED = """
import gc, signal
import tensorflow as tf
from hub_modules.engines.openvino_graph import OpenVinoGraph

@tf.function
def twice(inputs):
    return {"twice": 2 * inputs["x"]}

spec = {"x": tf.TensorSpec([None])}
made = [OpenVinoGraph("x", {"n": n}, lambda: twice.get_concrete_function(spec), "float32")
        for n in range(2)]
while made:  # the oldest first
    made.pop(0)
    gc.collect()
signal.signal(signal.SIGTERM, lambda *_: print("handled"))
signal.raise_signal(signal.SIGTERM)
"""


@pytest.mark.slow
def test_a_signal_after_graphs_are_gone_is_handled():
    done = subprocess.run([sys.executable, "-c", SIGNALLED], capture_output=True, text=True)
    assert done.returncode != -signal.SIGSEGV, done.stderr
    assert done.stdout.endswith("handled\n"), done.stderr


def test_what_is_refused(monkeypatch):
    def text():
        call = tf.function(lambda inputs: {"length": tf.strings.length(inputs["text"])})
        return call.get_concrete_function({"text": tf.TensorSpec([None], tf.string)})

    def unique():
        call = tf.function(lambda inputs: {"first": tf.raw_ops.UniqueV2(x=inputs["x"], axis=[0]).y})
        return call.get_concrete_function({"x": tf.TensorSpec([None, 2])})

    for function in (text, unique):
        with pytest.raises(ConfigError, match="expected a thing as a graph that OpenVINO converts"):
            OpenVinoGraph("a thing", {}, function, "float32")
    with pytest.raises(ConfigError, match="expected float32 or bfloat16, got float16"):
        Product().graph("float16")
    for engine, extra in (("openvino", "openvino"), ("openvino_int8", "int8")):
        monkeypatch.setitem(names.PACKAGES, engine, (["no_such_package"], extra))
        message = rf"engine {engine}: .* got none; install it: pip install 'tf_adapt\[{extra}\]'"
        with pytest.raises(ConfigError, match=message):
            Product().graph(engine=engine)
    with pytest.raises(ConfigError, match="one of tensorflow, openvino, openvino_int8, got 'onnx'"):
        names.check_engine("onnx")
