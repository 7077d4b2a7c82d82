"""Run by test_language_model.py: what one and two logical CPU devices learn, as JSON.

Usage: distribution_language_child.py BERT_MODULE ELMO_MODULE, whose dropout is 0.
"""

import json
import sys

import keras
import numpy as np
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.models.language_model import build_language_model
from tf_adapt.models.language_objectives import language_model_objective
from tf_adapt.models.signals.auxiliary_loss import AuxiliaryLoss

# Five texts in batches of two: the shares are uneven in texts, in words and at the end.
TEXTS = ["the cat is what the a b c d e f g h", "a", "what is the cat", "b c", "the the is d"]


def auxiliary(handle):
    task = ta.Task("classification", labels=["no", "yes"])
    encoder = ta.HubEncoder(handle)
    losses = [AuxiliaryLoss(language_model_objective(encoder, num_samples=8), 0.5, 0.1, 4)]
    model = ta.build_model(task, encoder, "linear", head_dropout=0.0, auxiliaries=losses)
    data = [(text, "yes" if number % 2 else "no") for number, text in enumerate(TEXTS)]
    return task, model, data


def language_model(handle):
    task = ta.Task("language_model")
    return task, build_language_model(task, ta.HubEncoder(handle)), TEXTS


def run(make, handle, strategy=None):
    keras.utils.set_random_seed(3)
    with strategy.scope() if strategy else tf.init_scope():
        task, model, data = make(handle)
        optimizer = keras.optimizers.SGD(0.1)
        model.compile(optimizer, task.loss, metrics=task.metrics, jit_compile=False)
    batches = ta.batches(data, task, model.encoder, batch_size=2, shuffle=False)
    history = model.fit(batches, epochs=1, verbose=0, shuffle=False).history
    return {
        "weights": np.concatenate([w.numpy().ravel() for w in model.weights]).tolist(),
        "fit": {name: values[0] for name, values in history.items()},
        "evaluate": model.evaluate(batches, verbose=0, return_dict=True),
    }


def main():
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )
    two = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    results = {}
    for handle in sys.argv[1:]:
        for make in (auxiliary, language_model):
            name = f"{make.__name__} {handle[-4:]}"
            results[name] = {"one": run(make, handle), "two": run(make, handle, two)}
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
