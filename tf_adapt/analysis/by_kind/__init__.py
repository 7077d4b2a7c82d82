"""The vectors that analyses read from each layer, by kind of task."""
