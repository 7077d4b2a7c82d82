"""The config of a run, resolved once into its parts. Folders below take values."""
