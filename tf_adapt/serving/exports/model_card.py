"""The model card (`README.md`) of an export or an exported module: plain values → Markdown.

Data, scores, adaptation, costs, limits, licence, and how to call it.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from hub_modules.licence_notes import licence_notes
from hub_modules.shipped import PRETRAINED, shipped_names
from tf_adapt.printing import words
from tf_adapt.runs import ensemble_folder
from tf_adapt.serving.exports.card_sections import (
    Origin,
    OverSeeds,
    adaptation_text,
    costs_text,
    data_text,
    label_scores_text,
    scores_text,
)
from tf_adapt.serving.kinds import KINDS

CARD = "README.md"
_NOT_CALIBRATED = "- Probabilities are the model's own; they were not calibrated.\n"
_LIMITS = (
    "- The scores are those of one dataset. Texts of another kind (topic, time, length, language) "
    "were not tried.\n"
    f"{_NOT_CALIBRATED}"
    "- What the data and the pretrained text say of people, the model may repeat."
)
_LICENCE = (
    "The weights derive from the pretrained module and from the training data: their licences "
    "apply."
)
_UNKNOWN_LICENCE = f"{_LICENCE} This card does not know them."
_USE = """\
```python
import tf_adapt as ta

encoder = ta.HubEncoder("THIS_FOLDER", trainable=True)
```"""


class Written(NamedTuple):
    """What an encoder is written as: its files in words, how to use them, and what stands above the
    card."""

    files: str
    use: str = _USE
    header: str = ""


MODULE = Written(
    "A module: `encoder/` (SavedModel; its text is prepared as `preprocess/` does, if there is "
    "such a folder, else by itself); `manifest.json` has the SHA-256 of each file."
)
PEFT = Written(
    "LoRA as PEFT reads it: `adapter_config.json`, `adapter_model.safetensors`. It belongs to the "
    "module named below, in HuggingFace's format (`tf-adapt module export MODULE --format "
    "huggingface --out DIR` writes another one so).",
    """\
```python
from peft import PeftModel
from transformers import AutoModel

encoder = PeftModel.from_pretrained(AutoModel.from_pretrained("DIR"), "THIS_FOLDER")
```""",
)


def with_precision(card: str, precision: str | None) -> str:
    """A card of an export that computes in half precision; None: the card as it is."""
    if precision is None:
        return card
    text = f"The model computes in {precision}; the scores above are those in float32."
    return f"{card}\n{section('Precision', text)}\n"


def with_calibration(card: str, text: str) -> str:
    """A card of an export whose probabilities are calibrated, as the text says."""
    return f"{card.replace(_NOT_CALIBRATED, '')}\n{section('Calibration', text)}\n"


def light_card(card: str, kinds: dict[str, str], precision: str | None) -> str:
    """The card of a SavedModel as that of a light export with the same tasks.

    Args:
        kinds: signature → kind of task.
        precision: "int8", or None.
    """
    for signature, kind in kinds.items():
        card = card.replace(_call(kind, signature), _light_call(kind, signature))
    card = card.replace(
        "A SavedModel: text in,", "A graph of OpenVINO with its tokenizer: text in,"
    )
    if precision is None:
        return card
    text = f"The weights are in {precision}; the scores above are those in float32."
    return f"{card}\n{section('Precision', text)}\n"


def export_card(
    origin: Origin,
    task: dict[str, Any],
    metrics: dict[str, Any] | None,
    over_seeds: OverSeeds | None = None,
) -> str:
    """The card of a run's export.

    Args:
        task: `Task.get_config()`.
        metrics: the run's `metrics.json`; None if it is not finished.
        over_seeds: score over all seeds, if the run is part of a comparison.
    """
    return _card(
        f"# {_title(origin)}",
        f"A SavedModel: text in, {KINDS[task['kind']].out} out "
        f"({task['kind'].replace('_', ' ')}). Written by tf_adapt.",
        section("How to call it", _call(task["kind"])),
        section("Labels", _labels(task)),
        section("Data", data_text(origin, metrics)),
        section("Scores", scores_text(metrics, over_seeds)),
        section("Scores of each label", label_scores_text(metrics)),
        section("Adaptation", adaptation_text(origin, metrics)),
        section("Costs", costs_text(metrics)),
        section("Limits", f"{_length(origin)}\n{_LIMITS}"),
        section("Licence", _licence(origin)),
    )


def plain_card(task: dict[str, Any]) -> str:
    """The card of an export of which only the task is known."""
    return _card(
        f"# A model for {task['kind'].replace('_', ' ')}",
        "A SavedModel: text in, answers out. Written by tf_adapt from a model in memory: data, "
        "scores and costs are not on record.",
        section("How to call it", _call(task["kind"])),
        section("Labels", _labels(task)),
        section("Limits", _LIMITS),
        section("Licence", _UNKNOWN_LICENCE),
    )


def shared_card(kinds: dict[str, str]) -> str:
    """The card of several tasks in one SavedModel.

    Args:
        kinds: signature → kind of task.
    """
    return _card(
        f"# {len(kinds)} tasks on one encoder",
        "A SavedModel: text in, answers out; one signature a task. Written by tf_adapt. Weights of "
        "the encoder that the tasks have in common are in it once.",
        *(section(f"How to call `{name}`", _call(kind, name)) for name, kind in kinds.items()),
        section("Limits", _LIMITS),
        section("Licence", _UNKNOWN_LICENCE),
    )


def ensemble_card(ensemble: ensemble_folder.EnsembleFile) -> str:
    """The card of an ensemble's export."""
    task = ensemble.task.model_dump()
    return _card(
        f"# An ensemble for {task['kind'].replace('_', ' ')}",
        "A SavedModel: text in, answers out. Written by tf_adapt.",
        section("How to call it", _call(task["kind"])),
        section("Labels", _labels(task)),
        section("Members", members_table(ensemble)),
        section("Limits", _LIMITS),
        section("Licence", _UNKNOWN_LICENCE),
    )


def members_table(ensemble: ensemble_folder.EnsembleFile) -> str:
    """Members with weights and scores, and what the scores are worth."""
    names = list(ensemble.results)
    lines = [
        f"| member | weight | {' | '.join(names)} |",
        "| --- | --- |" + " --- |" * len(names),
    ]
    for number, member in enumerate(ensemble.members):
        reached = [words.score(ensemble.results[name].members[number]) for name in names]
        shown = words.visible(Path(member.run).name)
        lines.append(f"| {shown} | {member.weight:.2f} | {' | '.join(reached)} |")
    reached = [words.score(ensemble.results[name].ensemble) for name in names]
    lines.append(f"| together | | {' | '.join(reached)} |")
    what = {"probabilities": "probabilities", "votes": "votes", "weights": "the models' weights"}
    text = f"\n\nAveraged: {what[ensemble.combine]}. Scores: {words.metric_name(ensemble.metric)}"
    text += " × 100."
    if ensemble.chosen_on_dev:
        text += " The weights were chosen on dev: the score there is too good."
    return "\n".join(lines) + text


def module_card(origin: Origin, metrics: dict[str, Any] | None, written: Written = MODULE) -> str:
    """The card of a run's encoder; of several tasks with the target's data.

    Args:
        written: `MODULE`, `PEFT`, or of `written_for_huggingface`.
    """
    others = ", ".join(origin.other_tasks)
    together = f" It learned other tasks too: {others}." if others else ""
    return _card(
        written.header,
        f"# Encoder of {_title(origin)}",
        f"{written.files} The encoder learned with the task below; its head is not part of it."
        f"{together}",
        section("How to use it", written.use),
        section("Prompts", _prompts(origin)),
        section("Data", data_text(origin, metrics)),
        section("Scores of the whole model", scores_text(metrics, None)),
        section("Adaptation", adaptation_text(origin, metrics)),
        section("Limits", _LIMITS),
        section("Licence", _licence(origin)),
    )


def huggingface_card(handle: str, folder: Path, written: Written) -> str:
    """The card of a module, from its folder, in HuggingFace's format."""
    name = _last_name(handle)
    return _card(
        written.header,
        f"# {name}, in HuggingFace's format",
        f"{written.files} Written by tf_adapt.",
        section("How to use it", written.use),
        section("Licence", _own_licence(name, folder) or _UNKNOWN_LICENCE),
    )


def _card(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def section(title: str, text: str) -> str:
    """A section of a card; nothing without a text."""
    return f"## {title}\n\n{text}" if text else ""


def _title(origin: Origin) -> str:
    return f"{words.visible(origin.data)}: {_module(origin)}, {origin.adaptation}"


def _module(origin: Origin) -> str:
    return _last_name(origin.encoder)


def _last_name(handle: str) -> str:
    return words.visible(handle.rstrip("/").split("/")[-1])


def _call(kind: str, signature: str = "serving_default") -> str:
    chosen = "" if signature == "serving_default" else f" --signature {signature}"
    return f"""\
```python
import tensorflow_text  # first: it registers the operations that read text
import tensorflow as tf

model = tf.saved_model.load("THIS_FOLDER")
print(model.signatures["{signature}"]({KINDS[kind].call}))
```

Or `tf-adapt predict THIS_FOLDER{chosen} --input FILE --output FILE`, or TensorFlow Serving with \
`--model_base_path` the folder above this one."""


def _light_call(kind: str, signature: str) -> str:
    named, chosen = "", ""
    if signature != "serving_default":
        named, chosen = f', "{signature}"', f" --signature {signature}"
    row = KINDS[kind]
    texts = {
        key: [row.sample[key].split() if rank == 2 else row.sample[key]]
        for key, rank in row.inputs.items()
    }
    return f"""\
```python
from tf_adapt.light.light_model import LightModel  # pip install 'tf_adapt[light]'

print(LightModel("THIS_FOLDER").answer({json.dumps(texts)}{named}))
```

Or `tf-adapt predict THIS_FOLDER{chosen} --input FILE --output FILE`, or `tf-adapt serve` the \
folder above this one. Nothing of it needs TensorFlow."""


def _labels(task: dict[str, Any]) -> str:
    if not task.get("labels"):
        return KINDS[task["kind"]].no_labels
    return ", ".join(f"`{words.visible(label)}`" for label in task["labels"])


def _prompts(origin: Origin) -> str:
    """What a user of the encoder puts before texts, which is no part of it."""
    if not origin.prompts:
        return ""
    shown = words.visible(json.dumps(origin.prompts, ensure_ascii=False))
    where = "the two texts of a pair" if len(origin.prompts) > 1 else "each text"
    return (
        f"The encoder learned with `{shown}` before {where}, which is no part of it: put it there "
        f"too (`ta.HubEncoder(…, prompts={shown})`; sentence-transformers finds it in "
        "`config_sentence_transformers.json`, if there is one)."
    )


def _licence(origin: Origin) -> str:
    """Whose licences apply; of a module in a folder with what its README says."""
    handle = origin.encoder
    folder = PRETRAINED / handle if handle in shipped_names() else Path(handle)
    said = _own_licence(_module(origin), folder)
    if not said:
        return _UNKNOWN_LICENCE
    return f"{_LICENCE} {said}\n\nThose of the training data this card does not know."


def _own_licence(module: str, folder: Path) -> str:
    """What a module says of its licence, or ""."""
    notes = licence_notes(folder)
    if notes is None:
        return ""
    quoted = "\n".join(f"> {words.visible(line)}".rstrip() for line in notes.split("\n"))
    return f"Of its own, the module {module} says:\n\n{quoted}"


def _length(origin: Origin) -> str:
    limit = "the encoder's limit" if origin.max_length is None else f"{origin.max_length} tokens"
    what = (
        "are cut"
        if origin.truncate
        else "are refused (in tagging: read in parts; contexts: in windows)"
    )
    return f"- Texts beyond {limit} {what}."
