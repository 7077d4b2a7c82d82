"""Reports of every example comparison, drawn and written once."""

import pytest
import report_contents

from tf_adapt.report.write import write_report

NAMES = ("complete", "incomplete", "one_cell", "hostile")


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    """A folder with a report for each of `NAMES`."""
    folder = tmp_path_factory.mktemp("reports")
    for name in NAMES:
        write_report(getattr(report_contents, name)(), folder / name)
    return folder


@pytest.fixture(scope="session")
def every(reports):
    return [reports / name for name in NAMES]
