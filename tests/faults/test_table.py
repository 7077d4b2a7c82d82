"""Every fault case has a test that carries its number."""

import runpy
from pathlib import Path

TABLE = runpy.run_path(str(Path(__file__).with_name("table.py")))
FOUND = TABLE["table"]()


def test_a_case_has_a_test():
    assert [case for case in TABLE["CASES"] if not FOUND[case]] == []


def test_no_test_has_a_number_that_there_is_not():
    assert set(FOUND) <= set(TABLE["CASES"])


def test_numbers_of_a_name():
    cases_of = TABLE["cases_of"]
    assert cases_of("test_v1_v2_v3_the_page") == ["V1", "V2", "V3"]
    assert cases_of("test_i10_two_runs") == ["I10"]
    assert cases_of("test_one_seed") == cases_of("i9_a_helper") == []
