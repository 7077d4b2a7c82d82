"""Encoders as Keras layers with the weights of a module, trainable or frozen."""
