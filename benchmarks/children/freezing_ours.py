"""A training step by how much of the encoder is frozen; all cases share one model."""

import keras
import tensorflow as tf
from answering import Work, answer

import tf_adapt as ta

_WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog"]
_models: dict[str, tuple] = {}


def prepared(job: dict) -> Work:
    """`frozen`: the groups from the bottom up to this number, None: the forward pass alone."""
    model, batch = _models.get(job["module"]) or made(job)
    _models[job["module"]] = model, batch
    encoder, frozen = model.encoder, job["frozen"]
    if frozen is None:
        forward = tf.function(lambda inputs: model(inputs, training=False))
        return Work(lambda turn: forward(batch[0]).numpy(), lambda result: {})
    names = encoder.adaptable_groups[frozen:]
    step = tf.function(model.train_step)

    def run(turn):
        # The step is traced with its own groups frozen.
        encoder.set_trainable_groups(names)
        return {name: value.numpy() for name, value in step(batch).items()}

    return Work(run, lambda result: {})


def made(job: dict):
    """The compiled model and its batch."""
    task = ta.Task("classification", labels=["no", "yes"])
    encoder = ta.HubEncoder(job["module"])
    model = ta.build_model(task, encoder, "linear", "fine_tuning")
    optimizer = keras.optimizers.AdamW(1e-6)
    model.compile(ta.DiscriminativeOptimizer(optimizer, encoder), task.loss, jit_compile=False)
    model.optimizer.build(model.trainable_weights)
    texts, words = job["texts"], job["words"]
    texts = [
        " ".join(_WORDS[(row + n) % len(_WORDS)] for n in range(words)) for row in range(texts)
    ]
    records = [(text, "yes") for text in texts]
    return model, next(iter(ta.batches(records, task, encoder, batch_size=len(texts))))


if __name__ == "__main__":
    answer(prepared)
