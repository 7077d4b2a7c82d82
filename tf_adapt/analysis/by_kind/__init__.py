"""The vectors of layers that analyses look at, for each kind of task."""
