"""The client of served models; the standard library alone."""
