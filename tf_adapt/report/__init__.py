"""A comparison's report: `report.md`, one-file `report.html`, figures. Imports no TensorFlow."""
