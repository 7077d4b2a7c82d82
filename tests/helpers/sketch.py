"""A drawing in the place of each figure of a report: all figures take a second to draw."""

from tf_adapt.report.figures.drawing import Drawing

SKETCH = Drawing(b'<svg viewBox="0 0 9 9"></svg>', b"")
