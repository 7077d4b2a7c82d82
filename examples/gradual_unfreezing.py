"""From the top down: one more layer group every few steps, each down at half the rate above."""

import keras

import tf_adapt as ta

encoder = ta.HubEncoder("elmo_small", trainable=True)
task = ta.Task("classification", labels=["number", "person", "place", "time"])
train = ta.load_dataset("sample_classification", split="train", source="sample")

adaptation = ta.gradual_unfreezing(every=10, unit="steps")
model = ta.build_model(task, encoder, adaptation=adaptation)
optimizer = ta.DiscriminativeOptimizer(keras.optimizers.AdamW(3e-3), encoder, decay=0.5)
print("factors:", optimizer.factors)
model.compile(optimizer=optimizer, loss=task.loss, metrics=task.metrics)
model.fit(
    ta.batches(train, task, encoder, batch_size=8),
    epochs=5,
    verbose=2,
    callbacks=[ta.Unfreezing(encoder, adaptation, say=print), keras.callbacks.TensorBoard("logs")],
)
print(ta.predict(model, ["Who designed the old bridge ?"]))
ta.export(model, "export/1")
