"""What the sources of a family share: the shapes of our weights, names, and an ELMo's mix."""
