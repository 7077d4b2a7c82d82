"""`python -m benchmarks.notebooks [NAME …]`: runs notebooks of `examples` in an empty folder, keeps
their outputs, which the site shows, with a hash of the code that they are of."""

import hashlib
import json
import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import tf_adapt
from hub_modules.storage.files import write_text

EXAMPLES = Path(__file__).parents[1] / "examples"
INSTALLED = Path(tf_adapt.__file__).parents[1]
HASH = "outputs_of_code_sha256"
# What TensorFlow says on standard output while it saves a model.
_LOG = re.compile(r"^INFO:tensorflow:.*\n", re.MULTILINE)


def code_of(notebook: dict) -> list[str]:
    """The source of each code cell."""
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return ["".join(cell["source"]) for cell in code]


def code_hash(notebook: dict) -> str:
    """The SHA-256 of the code, whatever its outputs and the text between."""
    return hashlib.sha256(json.dumps(code_of(notebook)).encode("utf-8")).hexdigest()


def run(path: Path) -> str:
    """The notebook's file after a run of all cells.

    Raises:
        CellExecutionError: a cell raises.
    """
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    with TemporaryDirectory() as folder:
        nbclient.NotebookClient(
            notebook,
            timeout=1800,
            kernel_name="python3",
            record_timing=False,
            resources={"metadata": {"path": folder}},
        ).execute(env=os.environ | {"PYTHONPATH": str(INSTALLED)})
        return kept(json.loads(nbformat.writes(notebook)), folder)


def kept(notebook: dict, folder: str) -> str:
    """The file of a notebook that ran in a folder: without logs and places of the machine."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            told = [one for one in cell["outputs"] if one.get("name") != "stderr"]
            for output in told:
                if "text" in output:
                    output["text"] = _LOG.sub("", "".join(output["text"]))
            cell["outputs"] = [one for one in told if one.get("text") != ""]
    notebook["metadata"] = {
        "kernelspec": notebook["metadata"]["kernelspec"],
        "language_info": {"name": "python"},
        HASH: code_hash(notebook),
    }
    text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    return text.replace(f"{folder}/", "").replace(f"{INSTALLED}/", "")


def main(names: list[str]) -> None:
    """Runs the notebooks of these names, or all."""
    for path in sorted(EXAMPLES.glob("*.ipynb")):
        if not names or path.stem in names:
            write_text(path, run(path))
            print(f"{path.stem}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
