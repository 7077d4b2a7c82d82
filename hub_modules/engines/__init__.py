"""What computes a forward pass that needs no gradients: TensorFlow, or OpenVINO on a CPU."""
