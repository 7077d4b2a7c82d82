"""`benchmarks` is no part of the installed package: it is imported from this tree."""

import importlib.util
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "benchmarks"

if "benchmarks" not in sys.modules:
    specification = importlib.util.spec_from_file_location(
        "benchmarks", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
    )
    package = importlib.util.module_from_spec(specification)
    sys.modules["benchmarks"] = package
    specification.loader.exec_module(package)
