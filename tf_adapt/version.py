"""The version, which `setup.py` reads too."""

__version__ = "0.3.0"
