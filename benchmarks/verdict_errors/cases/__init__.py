"""What is simulated: one file a case.

Each has `ABOUT`, `COLUMNS` (what a comparison tells), `ROWS` (settings, as keyword arguments) and
`simulated(random, **settings)`: one comparison, as `{column: value}`; None where a column does not
apply.
"""
