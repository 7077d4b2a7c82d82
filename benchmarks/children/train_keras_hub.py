"""The same steps with keras-hub's classifier, every pair padded to the longest of all."""

import json
from pathlib import Path

import keras
import keras_hub
import numpy as np
from answering import Work, answer
from keras_hub_length import LongestOfAll


def prepared(job: dict) -> Work:
    """All weights learn."""
    keras.utils.set_random_seed(0)
    keras.config.set_dtype_policy(f"mixed_{job['precision']}" if job["precision"] else "float32")
    backbone = keras_hub.models.BertBackbone.from_preset(job["huggingface"])
    tokenizer = keras_hub.models.BertTokenizer.from_preset(job["huggingface"])
    model = keras_hub.models.BertTextClassifier(
        backbone, num_classes=2, preprocessor=None, dropout=0.1
    )
    with np.load(job["head"]) as head:
        model.output_dense.set_weights([head["kernel"], head["bias"]])
    for layer in model._flatten_layers():
        if isinstance(layer, keras.layers.Dropout) and not job["dropout"]:
            layer.rate = 0.0
    optimizer = keras.optimizers.AdamW(
        job["rate"], weight_decay=0.01, epsilon=1e-8, global_clipnorm=1.0
    )
    optimizer.exclude_from_weight_decay(var_names=["bias", "layer_norm", "gamma", "beta"])
    model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    pairs = json.loads(Path(job["pairs"]).read_text("utf-8"))[: job["examples"]]
    first, second, labels = map(list, zip(*pairs, strict=True))
    inputs = LongestOfAll(tokenizer, [first, second])(first, second)

    def run(turn):
        history = model.fit(inputs, np.array(labels), batch_size=32, shuffle=False, verbose=0)
        return history.history["loss"][-1]

    def outputs(loss):
        logits = model.predict({name: one[:32] for name, one in inputs.items()}, verbose=0)
        return {"loss": np.array(loss), "logits": np.asarray(logits, "float32")}

    return Work(run, outputs)


if __name__ == "__main__":
    answer(prepared)
