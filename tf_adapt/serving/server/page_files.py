"""The page's files, and what it shows of the models."""

import html
import re
from pathlib import Path
from typing import Any

from starlette.responses import Response

from tf_adapt.serving.kinds import KINDS
from tf_adapt.serving.server.limits import RefusedError
from tf_adapt.serving.server.versions import Model
from tf_adapt.tasks.task import Task

_FILES = {
    "index.html": "text/html",
    "page.css": "text/css",
    "page.js": "text/javascript",
    "chat.js": "text/javascript",
}
# Sample texts by dataset, where the one of the kind of task does not fit. Exports hold no texts of
# the training data: they may be private.
_SAMPLES_OF = {
    **dict.fromkeys(("sst2", "sst2_sentences"), "Warm, funny and far too short."),
    **dict.fromkeys(("trec", "sample_classification"), "Who designed the old bridge?"),
    **dict.fromkeys(
        ("sample_multilabel_classification", "sample_regression"), KINDS["tagging"].sample["tokens"]
    ),
    "cola": "The committee have gave the prize to nobody.",
}


def page_file(name: str) -> Response:
    """One of the page's files.

    Raises:
        RefusedError: there is no such file.
    """
    if name not in _FILES:
        raise RefusedError(404, "Not found: no such file of the page")
    return Response((Path(__file__).parent / "page" / name).read_bytes(), media_type=_FILES[name])


def shown_models(models: dict[str, Model]) -> list[dict[str, Any]]:
    """One entry for each task of each model."""
    return [
        {
            "model": name,
            "version": str(model.current.number),
            "signature": signature,
            "kind": served.task.kind,
            "inputs": list(served.inputs),
            "labels": list(served.task.labels or ()),
            "range": list(served.task.label_range or ()),
            "sample": _sample(served.task, served.dataset),
            "card": model.current.export.card,
            "verdict": _verdict(model.current.export.report),
            "report": model.current.export.report,
        }
        for name, model in models.items()
        for signature, served in model.current.export.of_tasks.items()
    ]


def _verdict(report: str) -> str:
    """The sentence that heads a comparison's report, without Markdown's escapes; "" for none."""
    heading = re.search(r"^# (.+)", report, re.MULTILINE)
    return html.unescape(re.sub(r"\\(.)", r"\1", heading[1])) if heading else ""


def _sample(task: Task, dataset: str | None) -> dict[str, str]:
    sample = KINDS[task.kind].sample
    fitting = {"text": _SAMPLES_OF[dataset]} if dataset in _SAMPLES_OF else {}
    return {name: fitting.get(name, text) for name, text in sample.items()}
