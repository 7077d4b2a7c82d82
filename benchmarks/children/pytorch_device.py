"""Where PyTorch computes: as TensorFlow does by itself, on the GPU where one is to be seen."""

import torch

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
