"""A comparison as files for people: `report.md`, one-file `report.html`, figures; no TensorFlow."""
