"""Exports for CPUs: read and computed by openvino, tokenizers and NumPy. No TensorFlow."""

# `tf_adapt.light.light_model.LightModel(folder)` is to be the reader:
# `.tasks`: name → `ExportFile` (`task`, `data`);
# `.answer(columns, name="serving_default")`: {input: [text, …]} as `serving.kinds.KINDS[kind]` has
# `inputs` → {output: NumPy array, or nested lists of str}, as the SavedModel's signature; DataError
# for what the SavedModel refuses.
