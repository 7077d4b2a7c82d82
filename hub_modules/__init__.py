"""What a module is: native encoders, foreign weights, and how modules are written and read."""
