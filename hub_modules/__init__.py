"""TF Hub modules: native encoders, foreign weights, and how modules are written and read."""
