# `make check` is what the pre-commit hook and CI run: format, lint, tests.
VENV ?= .venv

.PHONY: check format lint test docs results notebooks install

check: lint test

install:
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet '.[test]'

format:
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

lint:
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .

test:
	$(VENV)/bin/pytest -n 2 --dist loadfile

# The site, into site/: strict (which --quiet would undo), and without a network.
docs:
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=. $(VENV)/bin/mkdocs build --strict

# The pages of results, from the answers in docs/results (see benchmarks/results).
results:
	$(VENV)/bin/python -m benchmarks.results write

# The outputs of examples/*.ipynb: all are run, a quarter of an hour (see benchmarks/notebooks.py).
notebooks:
	$(VENV)/bin/python -m benchmarks.notebooks
