"""A comparison within minutes: cells are screened, finalists are scored."""
