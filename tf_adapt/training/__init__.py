"""One run: building the model, plan, epochs and results; its callbacks and its state."""
