"""The section of a report on checked causes, and the values that it shows."""
