"""The outputs that notebooks are committed with, and what is kept of a run."""

import json

import pytest

from benchmarks.notebooks import EXAMPLES, HASH, INSTALLED, code_hash, kept, run

LARGEST_BYTES = 300_000


def test_committed_outputs_are_of_the_committed_code():
    """Otherwise: `make notebooks`."""
    shown = []
    for path in sorted(EXAMPLES.glob("*.ipynb")):
        notebook = json.loads(path.read_text("utf-8"))
        outputs = [cell["outputs"] for cell in notebook["cells"] if cell.get("outputs")]
        assert notebook["metadata"].get(HASH) == (code_hash(notebook) if outputs else None), path
        assert path.stat().st_size < LARGEST_BYTES, path
        ids = [cell["id"] for cell in notebook["cells"]]
        assert len(set(ids)) == len(ids), path
        shown += [path.stem] if outputs else []
    assert {"quick_start", "your_own_dataframe"} <= set(shown)


@pytest.mark.slow
def test_a_notebook_runs_in_an_empty_folder_with_this_library(tmp_path):
    code = "import os, tf_adapt\nprint(os.listdir(), tf_adapt.__file__)"
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": code, "outputs": []}
    notebook = {
        "cells": [cell | {"execution_count": None}],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (tmp_path / "one.ipynb").write_text(json.dumps(notebook))
    found = json.loads(run(tmp_path / "one.ipynb"))
    assert found["cells"][0]["outputs"][0]["text"] == "[] tf_adapt/__init__.py\n"
    assert found["metadata"][HASH] == code_hash(notebook)


def test_logs_and_places_are_not_kept():
    outputs = [
        {"output_type": "stream", "name": "stderr", "text": "W0000 a warning"},
        {"output_type": "stream", "name": "stdout", "text": "INFO:tensorflow:Assets written\n"},
        {
            "output_type": "stream",
            "name": "stdout",
            "text": f"/tmp/x/runs/1 {INSTALLED}/tf_adapt\n",
        },
    ]
    code = {"cell_type": "code", "source": "a", "outputs": outputs}
    notebook = {"cells": [code], "metadata": {"kernelspec": {}, "other": 1}}
    found = json.loads(kept(notebook, "/tmp/x"))
    assert [one["text"] for one in found["cells"][0]["outputs"]] == ["runs/1 tf_adapt\n"]
    assert found["metadata"].keys() == {"kernelspec", "language_info", HASH}
    assert code_hash(found) != code_hash({"cells": [code | {"source": "b"}]})
