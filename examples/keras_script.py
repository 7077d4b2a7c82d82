"""Adapts a pretrained encoder in a plain Keras script: compile, fit, predict, export."""

import keras

import tf_adapt as ta

encoder = ta.HubEncoder("bert_small", trainable=True)
print("layer groups:", [name for name, _ in encoder.layer_groups])

labels = ["number", "person", "place", "time"]
task = ta.Task("classification", labels=labels)
train = ta.load_dataset("sample_classification", split="train", source="sample")
dev = ta.load_dataset("sample_classification", split="dev", source="sample")

model = ta.build_model(task, encoder, head="default", adaptation="fine_tuning")
model.compile(optimizer=keras.optimizers.AdamW(3e-4), loss=task.loss, metrics=task.metrics)
model.fit(
    ta.batches(train, task, encoder, batch_size=8),
    validation_data=ta.batches(dev, task, encoder, shuffle=False),
    epochs=5,
    verbose=2,
    callbacks=[keras.callbacks.TensorBoard("logs")],
)
for prediction in ta.predict(model, ["Who designed the old bridge ?", "The fee for a locker ?"]):
    print(prediction)
ta.export(model, "export/1")
