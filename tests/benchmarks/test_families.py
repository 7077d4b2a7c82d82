"""What is recorded of each family is within the tolerances of the tests."""

import json

from benchmarks.families import COLUMNS, FILE, FOLDERS, NAMES, REAL, SHIPPED

LARGEST = dict.fromkeys(COLUMNS, 1e-5) | {"groups": 20, "bfloat16": 0.05}


def test_every_family_is_measured_in_every_column():
    rows = json.loads(FILE.read_text("utf-8"))
    assert rows.keys() == {*NAMES.values(), *FOLDERS, *REAL, *SHIPPED}
    for family, row in rows.items():
        assert row.keys() == COLUMNS.keys(), family
        for column, value in row.items():
            assert isinstance(value, str) or 0 <= value <= LARGEST[column], f"{family}, {column}"
