"""Configs: YAML to typed values, with helpful error messages."""
