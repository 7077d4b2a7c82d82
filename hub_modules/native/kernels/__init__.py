"""Operations of the native encoders with gradients, precision or memory of our own."""
