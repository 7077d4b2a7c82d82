"""The models that a practitioner would try first, beside the cells of a comparison."""
