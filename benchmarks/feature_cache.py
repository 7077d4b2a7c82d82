"""What keeping a frozen encoder's features saves: ten epochs of ❄ with them and without.

    python benchmarks/feature_cache.py mrpc modules/minilm_l6_h384 --data data/mrpc

trains the same head twice on the same batches, once with the encoder in every step and once on
features that are computed first (which is counted), and prints seconds, the last epoch's losses,
and the ratio. AdamW, batches of 32, float32.
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
    records = splits.examples["train"]
    seconds, losses = {}, {}
    for name, limit in LIMITS_MB.items():
        model = compiled_model(task, encoder, given.head)
        start = [variable.numpy() for variable in variables(model)]
        trained(model, records[:64], limit, epochs=1)  # all steps are traced before the clock runs
        for variable, value in zip(variables(model), start, strict=True):
            variable.assign(value)
        started = time.monotonic()
        losses[name] = trained(model, records, limit, given.epochs)
        seconds[name] = time.monotonic() - started
        print(f"{name}: {seconds[name]:.1f} s, last loss {losses[name]:.6f}", flush=True)
    print(f"ratio: {seconds['recomputed'] / seconds['kept']:.1f}")


def compiled_model(task, encoder, head: str) -> keras.Model:
    """A model with the same initial weights each time, and its optimizer's slots made."""
    keras.utils.set_random_seed(0)
    units = 100 if HEADS[head].has_lstm else None
    model = ta.build_model(task, encoder, head=head, head_units=units, head_dropout=0.0)
    optimizer = keras.optimizers.AdamW(1e-3)
    model.compile(optimizer, task.loss, metrics=task.metrics, jit_compile=False)
    model.optimizer.build(model.trainable_variables)
    return model


def variables(model: keras.Model) -> list:
    """All that training changes."""
    return [*model.head.weights, *model.optimizer.variables]


def trained(model: keras.Model, records: list, limit_mb: int, epochs: int) -> float:
    """Trains on batches of 32, features included; returns the last epoch's loss."""
    prepared = prepare(records, model.task, model.encoder)
    ready = with_features(prepared, model.encoder, FeaturesConfig(limit_mb=limit_mb))
    return model.fit(batches_from(ready, 32), epochs=epochs, verbose=0).history["loss"][-1]


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
