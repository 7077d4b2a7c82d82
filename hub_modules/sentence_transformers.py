"""What sentence-transformers says of texts and their vectors, in files beside a model in
HuggingFace's format: read and written."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hub_modules.errors import ArtifactError
from hub_modules.sources.files.folder import read_json, read_json_value, setting

POOLING, PROMPTS, MODULES = (
    "1_Pooling/config.json",
    "config_sentence_transformers.json",
    "modules.json",
)
# Of earlier versions too; the first one that is there counts.
_LIMITS = tuple(
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "albert", "xlm-roberta")
)
# In its two forms.
_POOLINGS = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "first",
    "mean": "mean",
    "cls": "first",
}
_PACKAGE = "sentence_transformers.models"
_KINDS = ("Transformer", "Pooling", "Normalize")
_MODES = (
    "pooling_mode_mean_tokens",
    "pooling_mode_cls_token",
    "pooling_mode_max_tokens",
    "pooling_mode_mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens",
    "pooling_mode_lasttoken",
)
_LONGEST_PROMPT = 1000


class SentenceSettings(NamedTuple):
    """How a folder's texts are read, and their vectors made.

    Attributes:
        pooling: of the top states, "mean" or "first"; None: the vector is the encoder's own.
        prompts: what is put before each text by default, or nothing.
        pools_prompt: whether the states of a prompt count in the vector.
        longest: positions beyond which sentence-transformers cuts; None: those of the encoder.
        lower_case: whether texts are lower-cased there whatever the tokenizer does.
        normalized: whether the vector has the length 1 there.
    """

    pooling: str | None = None
    prompts: tuple[str, ...] = ()
    pools_prompt: bool = True
    longest: int | None = None
    lower_case: bool = False
    normalized: bool = False


def read_settings(folder: Path) -> SentenceSettings:
    """What the files of a folder say, if there are any.

    Raises:
        ArtifactError: a file is damaged, or the vector is made in another way.
    """
    kinds = _kinds_of(folder / MODULES)
    path = folder / POOLING
    given = read_json(path) if path.is_file() else {}
    limits = _limits(folder)
    return SentenceSettings(
        pooling=_pooling_of(given, path) if path.is_file() else None,
        prompts=_default_prompt(folder / PROMPTS),
        pools_prompt=setting(given, "include_prompt", "true or false", path, default=True),
        longest=limits["max_seq_length"],
        lower_case=limits["do_lower_case"],
        normalized="Normalize" in kinds,
    )


def settings_texts(
    settings: SentenceSettings, width: int, prompts: Mapping[str, Any]
) -> dict[str, str]:
    """The reverse of `read_settings` where texts have a pooled vector: files by name, as text.

    Args:
        width: of the vector.
        prompts: content of the file of prompts, as `named_prompts`; none: no file.
    """
    modes = {mode: _POOLINGS.get(mode) == settings.pooling for mode in _MODES}
    more = {} if settings.pools_prompt else {"include_prompt": False}
    kinds = _KINDS if settings.normalized else _KINDS[:-1]
    modules = [
        {
            "idx": index,
            "name": str(index),
            "path": f"{index}_{kind}" if index else "",
            "type": f"{_PACKAGE}.{kind}",
        }
        for index, kind in enumerate(kinds)
    ]
    limits = {"max_seq_length": settings.longest, "do_lower_case": settings.lower_case}
    texts = {
        POOLING: {"word_embedding_dimension": width, **modes, **more},
        MODULES: modules,
        _LIMITS[0]: limits,
        **({PROMPTS: prompts} if prompts else {}),
    }
    return {name: json.dumps(content, indent=1) for name, content in texts.items()}


def named_prompts(prompts: Sequence[str]) -> dict[str, Any]:
    """What is put before texts, as sentence-transformers names it: a single prompt by default; of
    two the first one is "query", the other one "document"."""
    if not prompts:
        return {}
    return {
        "prompts": {"query": prompts[0], "document": prompts[-1]},
        "default_prompt_name": "query" if len(prompts) == 1 else None,
    }


def stored_prompts(folder: Path) -> dict[str, Any]:
    """The prompts of a folder as they are named there, those that are no default too."""
    path = folder / PROMPTS
    stored = read_json(path) if path.is_file() else {}
    return {key: stored[key] for key in ("prompts", "default_prompt_name") if stored.get(key)}


def _pooling_of(given: dict, path: Path) -> str:
    modes = {name for name, value in given.items() if name in _MODES and value is True}
    asked = given.get("pooling_mode")
    modes |= {asked} if isinstance(asked, str) else set()
    poolings = {_POOLINGS.get(mode) for mode in modes}
    if len(poolings) != 1 or None in poolings:
        raise ArtifactError(
            f"{path}: expected one of the poolings {', '.join(_POOLINGS)}, got "
            f"{', '.join(sorted(modes)) or 'none'}; remove the file to read the encoder without it"
        )
    return poolings.pop()


def _default_prompt(path: Path) -> tuple[str, ...]:
    given = read_json(path) if path.is_file() else {}
    name = given.get("default_prompt_name")
    if name is None:
        return ()
    prompts = given.get("prompts")
    prompt = prompts.get(name) if isinstance(prompts, dict) and isinstance(name, str) else None
    if not isinstance(prompt, str) or len(prompt) > _LONGEST_PROMPT:
        raise ArtifactError(
            f"{path}: default_prompt_name: expected the name of one of its prompts, a text of at "
            f"most {_LONGEST_PROMPT} characters, got {str(name)[:100]!r}; correct it, or set it to "
            "null to read texts without a prompt"
        )
    return (prompt,) if prompt else ()


def _limits(folder: Path) -> dict[str, Any]:
    path = next((folder / name for name in _LIMITS if (folder / name).is_file()), None)
    given = {} if path is None else read_json(path)
    limits = {"max_seq_length": None, "do_lower_case": False}
    for key, kind in (("max_seq_length", "a positive integer"), ("do_lower_case", "true or false")):
        if given.get(key) is not None:
            limits[key] = setting(given, key, kind, path)
    return limits


def _kinds_of(path: Path) -> list[str]:
    """The modules of a folder; refuses what sentence-transformers makes of the pooled vector, but
    for its length."""
    modules = read_json_value(path) if path.is_file() else []
    modules = modules if isinstance(modules, list) else [modules]
    types = [str(one.get("type") if isinstance(one, dict) else one) for one in modules]
    kinds = [kind.split(".")[-1] for kind in types]
    others = [one for one, kind in zip(types, kinds, strict=True) if kind not in _KINDS]
    if others:
        raise ArtifactError(
            f"{path}: expected the modules {', '.join(_KINDS)}, got {others[0][:100]}: the "
            "vector of such a sentence-transformers model is not computed here; remove the file to "
            "read the encoder without it"
        )
    return kinds
