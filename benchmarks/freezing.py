"""Time of a training step by how much of the encoder is frozen, in one run on this machine.

    python benchmarks/freezing.py modules/minilm_l6_h384
    python benchmarks/freezing.py elmo-original

A step is that of `model.fit`: forward, backward and AdamW's update, float32, two threads, on 32
texts of 30 words, with the smallest head. From "nothing frozen" one layer group after the other is
frozen, from the bottom up; the last line is the encoder's and head's forward pass alone.
`elmo-original` is an ELMo of the published size (93.6 million parameters) with random weights. The
cases take turns, so that other load on the machine hits all of them; printed is the median over the
rounds, and how many times faster than full fine-tuning.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

import keras
import tensorflow as tf

import tf_adapt as ta
from hub_modules.elmo import ElmoEncoder
from hub_modules.export import write_module
from hub_modules.sources import ModuleSource

ROUNDS, STEPS, TEXTS, WORDS = 7, 3, 32, 30
ELMO = {
    "filters": [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]],
    "character_width": 16,
    "num_highway": 2,
    "projection_width": 512,
    "lstm_width": 4096,
}


def main(handle: str) -> None:
    """Measures every case in turns and prints a table."""
    tf.config.threading.set_intra_op_parallelism_threads(2)
    with tempfile.TemporaryDirectory() as folder:
        if handle == "elmo-original":
            handle = original_elmo(Path(folder) / "elmo")
        cases = all_cases(ta.HubEncoder(handle))
    for run in cases.values():
        run()  # traces
    times = {name: [] for name in cases}
    for _ in range(ROUNDS):
        for name, run in cases.items():
            started = time.perf_counter()
            for _ in range(STEPS):
                run()
            times[name].append((time.perf_counter() - started) / STEPS)
    full = statistics.median(times["nothing frozen"])
    for name, measured in times.items():
        seconds = statistics.median(measured)
        print(f"{name:40} {1000 * seconds:8.1f} ms   {full / seconds:5.2f}")


def original_elmo(folder: Path) -> Path:
    """A module of the published size with random weights."""
    encoder = ElmoEncoder(**ELMO)
    encoder.build()
    weights = {name: weight.numpy() for name, weight in encoder.weights_by_name().items()}
    write_module(ModuleSource("elmo", ELMO, weights), folder)
    return folder


def all_cases(encoder: ta.HubEncoder) -> dict:
    """Name → a function that does one step; each step is traced with its own groups frozen."""
    task = ta.Task("classification", labels=["no", "yes"])
    model = ta.build_model(task, encoder, "linear", "fine_tuning")
    optimizer = keras.optimizers.AdamW(1e-6)
    model.compile(ta.DiscriminativeOptimizer(optimizer, encoder), task.loss, jit_compile=False)
    model.optimizer.build(model.trainable_weights)
    words = ["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog"]
    texts = [" ".join(words[(row + n) % len(words)] for n in range(WORDS)) for row in range(TEXTS)]
    records = [(text, "yes") for text in texts]
    batch = next(iter(ta.batches(records, task, encoder, batch_size=TEXTS)))
    groups = encoder.adaptable_groups
    cases = {}
    for frozen in range(len(groups) + 1):
        name = f"frozen up to {groups[frozen - 1]}" if frozen else "nothing frozen"
        step = tf.function(model.train_step)
        cases[name] = lambda step=step, names=groups[frozen:]: (
            encoder.set_trainable_groups(names),
            step(batch),
        )
    forward = tf.function(lambda inputs: model(inputs, training=False))
    cases["forward pass alone"] = lambda: forward(batch[0])
    return cases


if __name__ == "__main__":
    main(*sys.argv[1:])
