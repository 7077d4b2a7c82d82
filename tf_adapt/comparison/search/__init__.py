"""The search for the setting of each cell: its space, its trials from run folders, its results."""
