"""How things are measured: children that take turns, what is compared, and the page about it."""
