"""Exports for CPUs: read and computed by openvino, tokenizers and NumPy. No TensorFlow."""
