"""Heads on a frozen encoder, on real data: its features are computed once, then a head a minute.

    python examples/frozen_heads.py sick_e elmo_small --data ../shared/data/sick

prints the best dev score of the paper's head and of the simplest one, with the other scores of that
epoch, over 15 epochs on 2,000 training examples (float32; AdamW, rate 3e-3 with warm-up and linear
decay, batches of 32). `--head` names others, `--seed` another start. The settings are those of
configs/table2/*_frozen.yaml.
"""

import argparse
import time

import keras
import numpy as np
import tensorflow as tf

import tf_adapt as ta
from tf_adapt.config_sections import DatasetConfig
from tf_adapt.data.batches import batches_from, prepare
from tf_adapt.data.splits import load_splits
from tf_adapt.schedules import LinearDecay
from tf_adapt.tasks import HEADS, PAPER_HEADS, build_head

BATCH_SIZE, RATE, WARMUP = 32, 3e-3, 0.1


def main() -> None:
    """Trains each head and prints a line for it."""
    given = arguments()
    data = DatasetConfig(
        dataset=given.dataset, data_dir=given.data, train_examples=given.train_examples
    )
    splits = load_splits(data)
    task = ta.Task.of(splits)
    encoder = ta.HubEncoder(given.encoder, trainable=False)
    started = time.monotonic()
    train = features(splits.examples["train"], task, encoder, shuffle=True)
    dev = features(splits.examples["dev"], task, encoder, shuffle=False)
    print(f"features: {time.monotonic() - started:.0f} s", flush=True)
    simplest = "linear_tagger" if task.is_tagging else "linear"
    for name in given.head or (PAPER_HEADS[task.kind, encoder.family][0], simplest):
        started = time.monotonic()
        keras.utils.set_random_seed(given.seed)
        units = given.units if HEADS[name].has_lstm else None
        head = build_head(name, task, encoder.family, frozen=True, units=units)
        scores = trained(head, task, train, dev, given.epochs, given.seed)
        best = int(np.argmax([found[task.metric] for found in scores]))
        shown = [f"{metric} {100 * score:.1f}" for metric, score in scores[best].items()]
        print(
            f"{given.dataset} {given.encoder} {name} seed {given.seed}: {shown[0]} in epoch "
            f"{best + 1} of {given.epochs}, {''.join(f'{other}, ' for other in shown[1:])}"
            f"{time.monotonic() - started:.0f} s",
            flush=True,
        )


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("dataset")
    parser.add_argument("encoder", help="a shipped module's name, or a folder")
    parser.add_argument("--data", required=True, help="folder of the dataset's files")
    parser.add_argument("--head", action="append", help="a head's name, instead of the two")
    parser.add_argument("--train-examples", type=int, default=2000)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--units", type=int, default=100, help="width of LSTMs")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def features(records: list, task: ta.Task, encoder, shuffle: bool) -> list[tuple]:
    """Batches of (encoder outputs, inputs, targets); examples stay in their batch."""
    encode = tf.function(
        lambda inputs: [encoder(inputs[name], training=False) for name in sorted(inputs)],
        reduce_retracing=True,
    )
    batches = batches_from(prepare(records, task, encoder), BATCH_SIZE, shuffle=shuffle)
    return [(encode(inputs), inputs["a"], targets) for inputs, targets in batches]


def trained(
    head, task: ta.Task, train: list, dev: list, epochs: int, seed: int
) -> list[dict[str, float]]:
    """Trains the head and returns its dev scores after each epoch, the task's metric first."""
    head(*train[0][:2])
    optimizer = keras.optimizers.AdamW(RATE, weight_decay=0.01, global_clipnorm=1.0)
    optimizer.build(head.trainable_weights)
    total = epochs * len(train)
    schedule = LinearDecay(RATE, total, round(WARMUP * total))
    order = np.random.default_rng(seed)

    @tf.function(reduce_retracing=True)
    def step(encoded, inputs, targets):
        with tf.GradientTape() as tape:
            outputs = head(encoded, inputs, training=True)
            own_loss = isinstance(outputs, dict)
            loss = head.loss(targets, outputs) if own_loss else task.loss(targets, outputs)
            loss += sum(head.losses)
        gradients = tape.gradient(loss, head.trainable_weights)
        optimizer.apply_gradients(zip(gradients, head.trainable_weights, strict=True))

    predict = tf.function(lambda *batch: head(*batch, training=False), reduce_retracing=True)
    scores = []
    for epoch in range(epochs):
        for number, index in enumerate(order.permutation(len(train))):
            optimizer.learning_rate.assign(schedule.rate(epoch * len(train) + number))
            step(*train[index])
        metrics = task.metrics
        for encoded, inputs, targets in dev:
            outputs = predict(encoded, inputs)
            if isinstance(outputs, dict):
                outputs = tf.one_hot(outputs["tags"], task.num_outputs)
            for metric in metrics:
                metric.update_state(targets, outputs)
        scores.append({metric.name: float(metric.result()) for metric in metrics})
    return scores


if __name__ == "__main__":
    main()
