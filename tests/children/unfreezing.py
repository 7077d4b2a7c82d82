"""What changes in each phase of an adaptation; as a program, on two devices and in half precision.

A process of its own, because logical devices can only be made before TensorFlow starts.
"""

import contextlib
import hashlib
import json
import sys

import keras
import numpy as np
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.adaptation import adaptations as adaptation
from tf_adapt.adaptation.unfreezing import Unfreezing
from tf_adapt.training.plan import groups_with_weights

STEPS = 2
ADAPTATIONS = {
    "feature_extraction": adaptation.feature_extraction(),
    "fine_tuning": adaptation.fine_tuning(),
    "two_stage": adaptation.two_stage(),
    "top_layers": adaptation.top_layers(),
    "gradual_unfreezing": adaptation.gradual_unfreezing(every=STEPS, unit="steps"),
    "chain_thaw": adaptation.chain_thaw(every=STEPS, unit="steps"),
    "sequential_unfreezing": adaptation.sequential_unfreezing(),
    "adapters": adaptation.adapters(),
}
CASES = [
    ("gradual_unfreezing", "float32", 2),
    ("chain_thaw", "mixed_bfloat16", 2),
    ("adapters", "float32", 2),
    ("adapters", "mixed_bfloat16", 1),
    ("top_layers", "mixed_bfloat16", 1),
]
BERT = ["embeddings", "layer_0", "layer_1", "pooler", "head"]
ELMO = ["char_cnn", "lstm_0", "lstm_1", "head"]
TEXTS = [("ab cd", "yes"), ("e", "no"), ("the who is", "yes"), ("what", "no")]


def expected_groups(name: str, groups: list[str]) -> list[tuple[str, ...]]:
    """The groups of each phase, the encoder's adapters among them where it has some."""
    if name == "adapters":
        groups = [*groups[:-1], "adapters", "head"]
    return [phase.groups for phase in ADAPTATIONS[name].phases(groups)]


def make_model(handle: str, name, **options):
    """A compiled model, and two batches an epoch."""
    keras.utils.set_random_seed(3)
    made = ta.adapters(size=4) if name == "adapters" else ADAPTATIONS.get(name, name)
    task = ta.Task("classification", labels=["no", "yes"])
    encoder = ta.HubEncoder(handle, **options)
    model = ta.build_model(task, encoder, "linear", made)
    inner = keras.optimizers.AdamW(1e-2, weight_decay=0.1, global_clipnorm=1.0)
    optimizer = ta.DiscriminativeOptimizer(inner, encoder, decay=0.5)
    model.compile(optimizer, task.loss, jit_compile=False)
    return model, ta.batches(TEXTS, task, encoder, batch_size=2)


def observed(handle: str, name: str, with_callback=True, **options) -> list[dict]:
    """For each phase: groups whose weights and slots changed in its two steps, and the slots.

    Without the callback `fit` adds its own.
    """
    model, batches = make_model(handle, name, **options)
    phases = len(ADAPTATIONS[name].phases([*model.encoder.adaptable_groups, "head"]))
    watch = _Watch(model)
    given = [Unfreezing(model.encoder, ADAPTATIONS[name])] if with_callback else []
    model.fit(batches, epochs=phases, verbose=0, callbacks=[*given, watch])
    return watch.phases


class _Watch(keras.callbacks.Callback):
    """Compares weights and slots before and after every two steps, which are an epoch."""

    def __init__(self, model):
        super().__init__()
        self.groups = groups_with_weights(model)
        self.phases = []

    def on_train_begin(self, logs=None):
        self.before = self._values()

    def on_epoch_end(self, epoch, logs=None):
        before, after = self.before, self._values()
        changed = {
            group: [path for path in values if not same(before[0][group][path], values[path])]
            for group, values in after[0].items()
        }
        self.phases.append(
            {
                "changed": [group for group, paths in changed.items() if paths],
                "unchanged_within": [
                    path
                    for group, paths in changed.items()
                    for path in after[0][group]
                    # A sum over all positions of one sentence does not see the key's bias.
                    if paths and path not in paths and not path.endswith("key/bias")
                ],
                "slots_changed": [
                    group for group, value in after[1].items() if value != before[1][group]
                ],
                "slots": after[1],
            }
        )
        self.before = after

    def _values(self):
        weights = {
            group: {weight.path: weight.numpy() for weight in those} for group, those in self.groups
        }
        return weights, {group: self._slots(those) for group, those in self.groups}

    def _slots(self, weights) -> str:
        optimizer, digest = self.model.optimizer, hashlib.sha256()
        for weight in weights:
            known = optimizer._weights.get(optimizer._var_key(weight))
            for slot in known.optimizer.variables if known else ():
                digest.update(np.asarray(slot).tobytes())
        return digest.hexdigest()


def same(one, other) -> bool:
    return np.array_equal(one, other)


def main(handle: str) -> dict:
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, 2 * [tf.config.LogicalDeviceConfiguration()])
    results = {}
    for name, precision, devices in CASES:
        keras.config.set_dtype_policy(precision)
        # One for each case: what is summed over devices has other shapes.
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
        with strategy.scope() if devices == 2 else contextlib.nullcontext():
            results[f"{name} {precision} {devices}"] = observed(handle, name, devices == 1)
    return results


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
