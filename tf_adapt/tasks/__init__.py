"""Kinds of task: losses, metrics, tag schemes, spans."""
