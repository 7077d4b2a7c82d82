"""Why a cell is worse or better than it should be: causes that were checked by counter-runs."""
