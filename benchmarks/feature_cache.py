"""What keeping a frozen encoder's features saves: ten epochs of ❄ with them and without.

    python benchmarks/feature_cache.py mrpc modules/minilm_l6_h384 --data data/mrpc

trains the same head twice on the same batches, in turns, once with the encoder in every step and
once on features that are computed first (which is counted), and prints seconds, the ratio, and how
far the two heads' losses lie apart. AdamW, batches of 32, float32.
"""

import argparse
import time

import keras

import tf_adapt as ta
from tf_adapt.config_sections import DatasetConfig, FeaturesConfig
from tf_adapt.data.batches import batches_from, prepare
from tf_adapt.data.splits import load_splits
from tf_adapt.features import with_features
from tf_adapt.tasks import HEADS

LIMITS_MB = {"recomputed": 0, "kept": 100_000}


def main() -> None:
    """Trains and prints."""
    given = arguments()
    data = DatasetConfig(
        dataset=given.dataset, data_dir=given.data, train_examples=given.train_examples
    )
    splits = load_splits(data)
    task = ta.Task.of(splits)
    encoder = ta.HubEncoder(given.encoder, trainable=False)
    prepared = prepare(splits.examples["train"], task, encoder)
    units = 100 if HEADS[given.head].has_lstm else None
    models = {name: fresh_model(task, encoder, given.head, units) for name in LIMITS_MB}
    for model in models.values():  # the steps are traced before anything is timed
        for limit in LIMITS_MB.values():
            warm_up(model, with_features(prepared, encoder, FeaturesConfig(limit_mb=limit)))
    seconds, losses = dict.fromkeys(LIMITS_MB, 0.0), {}
    for name, limit in LIMITS_MB.items():
        model = fresh_weights(models[name], task, encoder, given.head, units)
        started = time.monotonic()
        ready = with_features(prepared, encoder, FeaturesConfig(limit_mb=limit))
        history = model.fit(batches_from(ready, 32), epochs=given.epochs, verbose=0).history
        seconds[name], losses[name] = time.monotonic() - started, history["loss"][-1]
        print(f"{name}: {seconds[name]:.1f} s, last loss {losses[name]:.5f}", flush=True)
    print(f"ratio: {seconds['recomputed'] / seconds['kept']:.1f}")


def fresh_model(task, encoder, head: str, units: int | None) -> keras.Model:
    """A compiled model with the same initial weights each time."""
    keras.utils.set_random_seed(0)
    model = ta.build_model(task, encoder, head=head, head_units=units, head_dropout=0.0)
    model.compile(keras.optimizers.AdamW(1e-3), task.loss, task.metrics, jit_compile=False)
    return model


def fresh_weights(model, task, encoder, head: str, units: int | None) -> keras.Model:
    """The same compiled model, at its start again."""
    for weight, start in zip(
        model.head.weights, fresh_model(task, encoder, head, units).head.weights, strict=True
    ):
        weight.assign(start)
    for variable in model.optimizer.variables:
        if "learning_rate" not in variable.path:
            variable.assign(keras.ops.zeros_like(variable))
    return model


def warm_up(model: keras.Model, prepared) -> None:
    """One short epoch."""
    model.fit(batches_from(prepared, 32).take(2), verbose=0)


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("dataset")
    parser.add_argument("encoder", help="a shipped module's name, or a folder")
    parser.add_argument("--data", required=True, help="the folder of the dataset's files")
    parser.add_argument("--head", default="linear")
    parser.add_argument("--train-examples", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=10)
    return parser.parse_args()


if __name__ == "__main__":
    main()
