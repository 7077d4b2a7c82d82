"""From the config of a comparison to its cells and their runs, before anything is trained."""
