"""`ta.compare`: `tf-adapt compare` for scripts and notebooks, also on data in memory."""

import contextlib
import hashlib
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from hub_modules.storage import records
from hub_modules.storage.files import sha256
from hub_modules.storage.strict_yaml import KeyPath, read_yaml
from tf_adapt.comparison import comparing, record
from tf_adapt.comparison.budget.checks import check_budget, check_minutes
from tf_adapt.comparison.budget.clock import Clock
from tf_adapt.comparison.comparison_result import ComparisonResult
from tf_adapt.comparison.execution.executors import (
    Resources,
    check_cpus_per_run,
    check_gpus_per_run,
    check_resources,
)
from tf_adapt.comparison.extending import outcomes_of
from tf_adapt.comparison.plan.settings import comparison_from
from tf_adapt.config.plain_values import plain_values
from tf_adapt.data.in_memory.files import Form, file_columns, file_text
from tf_adapt.data.in_memory.kinds import KINDS
from tf_adapt.errors import ConfigError, DataError
from tf_adapt.printing.words import did_you_mean
from tf_adapt.runs import run_folder
from tf_adapt.tasks.kinds import labelled_kinds

_OPTIONS = re.compile(r"--(gpus-per-run|cpus-per-run|cluster|slurm|jobs)\b")


def compare(
    config: str | Path | Mapping[str, Any],
    out: str | Path,
    *,
    seeds: int | None = None,
    jobs: int | None = None,
    train: Any = None,
    dev: Any = None,
    test: Any = None,
    kind: str | None = None,
    columns: Mapping[str, str] | None = None,
    search: Mapping[str, Any] | None = None,
    gpus_per_run: float | None = None,
    slurm: Mapping[str, Any] | None = None,
    minutes: float | None = None,
    cluster: str | None = None,
    cpus_per_run: float | None = None,
    export_anyway: bool = False,
    final: bool = False,
) -> ComparisonResult:
    """To tune or not to tune: trains every cell of a config, tests, and recommends one.

    Runs are subprocesses, as with `tf-adapt compare`: the same config gives the same scores, and
    finished runs in `out` are kept. A config given in Python is written to `out/compare.yaml`, data
    given in Python to `out/data/`.

        result = ta.compare(
            {
                "compare": {"encoders": ["bert_small"], "adaptations": ["freeze", "tune"]},
                "training": {"epochs": 3, "batch_size": 32},
            },
            "comparison",
            train=reviews,
            kind="classification",
            columns={"text": "review", "label": "stars"},
        )
        result.headline, result.frame, result.winner

    Args:
        config: a YAML file, or a dict with the same keys.
        out: the folder of the comparison: a new one, or one of the same data and config, to which
            cells, learning rates and seeds may be added.
        seeds: overrides `compare.seeds`.
        jobs: runs at a time; by default as many as cores, cells, free memory (3 GB each) and GPUs
            allow. Scores do not depend on it.
        train, dev, test: data in memory instead of the config's, in the forms that `ta.batches`
            takes: a pandas frame, a dict of columns, rows in a list, `(texts, labels)`. Without
            `dev`, a part of train serves as dev; without `test`, dev is scored. The config's
            section `data` may then only have `labels`, `label_range`, `scheme`, `held_out`,
            `leave_out` and `train_examples`.
        kind: of data in memory: classification, regression, pair_classification, pair_regression,
            multilabel_classification or tagging.
        columns: of data in memory: the names of the columns, by `text` (pairs: `text_a`, `text_b`),
            `label`, and `group` for related examples. Other columns are ignored.
        search: the section `compare.search`, such as `{"trials": 20, "space": "paper"}`, where the
            config has none.
        gpus_per_run: by default as many as training.devices, else 1; 0.5 lets two runs share one.
        slurm: options of `sbatch` (`{"partition": "gpu", "time": 120}`, minutes): runs are jobs of
            a Slurm cluster.
        minutes: a budget, from this call on: cells are screened and dropped, the best are scored;
            see `tf-adapt compare --minutes`.
        cluster: runs are tasks of a Ray cluster: its address, or `auto`: the running one, else one
            on this machine.
        cpus_per_run: cores that a node of it keeps free for a run; by default its threads.
        export_anyway: exports even if no cell is shown to be above the baseline.
        final: one analysis at the whole level of 5 %, after which nothing may be added.

    Raises:
        ConfigError: as `load_comparison`; arguments contradict the config or each other; the folder
            belongs to another comparison.
        DataError: the data are wrong, or have changed since the comparison was started.
        ArtifactError, TrainingError: a run failed; the folder holds other files.
        KeyboardInterrupt: once the runs have saved their state; the same call resumes them.
    """
    clock = None
    if minutes is not None:
        check_minutes("minutes", minutes)
        clock = Clock(minutes)
    with _as_arguments():
        resources = _resources(jobs, gpus_per_run, slurm, cluster, cpus_per_run)
    out = Path(out).absolute()
    content, where, locations = _read(config)
    texts = _file_texts({"train": train, "dev": dev, "test": test}, content, kind, columns)
    if search is not None:
        content = _with_search(content, search, where)
    if texts and isinstance(content, dict):
        content = content | {"data": _data_section(content, texts, kind, where, out)}
    comparison = comparison_from(content, where, locations, seeds=seeds)
    if minutes is not None:
        with _as_arguments():
            check_budget("minutes", comparison, slurm, cluster)
        comparison = replace(comparison, minutes=float(minutes))
    with _as_arguments():  # before the data are written
        check_resources(resources, len(comparison.cells), comparison.threads, comparison.devices)
    is_own = bool(texts) or isinstance(config, Mapping) or search is not None
    path = out / record.CONFIG if is_own else config
    command = ["tf-adapt", "compare", str(path), "--out", str(out)]
    command += [] if seeds is None else ["--seeds", str(seeds)]
    command += [] if minutes is None else ["--minutes", f"{minutes:g}"]
    command += ["--export-anyway"] if export_anyway else []
    command += ["--final"] if final else []
    if texts:
        with run_folder.locked(out):
            _keep(texts, content["data"], out)
    compared = comparing.compare(
        comparison,
        out,
        resources,
        command=shlex.join(command),
        export_anyway=export_anyway,
        final=final,
        clock=clock,
    )
    if is_own:
        with run_folder.locked(out):
            text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
            records.write(out, record.CONFIG, text)
    # As the comparison settled them, so that the data are not read again.
    comparison = replace(comparison, folds=compared.folds or 0, seeds=tuple(compared.seeds))
    return ComparisonResult(compared, outcomes_of(record.as_begun(comparison, out), out))


@contextlib.contextmanager
def _as_arguments() -> Iterator[None]:
    """Messages about the command's options name the arguments."""
    try:
        yield
    except ConfigError as error:
        text = _OPTIONS.sub(lambda found: found[1].replace("-", "_"), str(error))
        raise ConfigError(text) from None


def _resources(
    jobs: int | None,
    gpus_per_run: float | None,
    slurm: Mapping[str, Any] | None,
    cluster: str | None,
    cpus_per_run: float | None,
) -> Resources:
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1):
        raise ConfigError(f"jobs: expected a whole number from 1, or None, got {jobs!r}")
    check_gpus_per_run("gpus_per_run", gpus_per_run)
    if slurm is not None and not isinstance(slurm, Mapping):
        raise ConfigError(
            'slurm: expected a dict such as {"partition": "gpu", "time": 120}, or None, got '
            f"{slurm!r}"
        )
    check_cpus_per_run("cpus_per_run", cpus_per_run)
    if cluster is not None and not isinstance(cluster, str):
        raise ConfigError(
            'cluster: expected "auto", an address such as "10.0.0.1:6379", or None, got '
            f"{cluster!r}"
        )
    options = None if slurm is None else dict(slurm)
    return Resources(jobs, gpus_per_run, options, cluster, cpus_per_run)


def _read(config: str | Path | Mapping) -> tuple[Any, str, dict[KeyPath, str]]:
    """A config's content, its name in messages, and the locations of its keys."""
    if isinstance(config, Mapping):
        return plain_values(config, "config"), "config", {}
    if not isinstance(config, (str, Path)):
        raise ConfigError(
            f"config: expected the path of a YAML file or a dict, got {type(config).__name__}"
        )
    content, lines = read_yaml(config)
    return content, str(config), {key: f"{config}:{line}" for key, line in lines.items()}


def _with_search(content: Any, search: Mapping[str, Any], where: str) -> Any:
    """The config's content with a section `compare.search`.

    Raises:
        ConfigError: it has one.
    """
    section = content.get("compare") if isinstance(content, dict) else None
    if not isinstance(section, dict):
        return content  # which is refused later
    if section.get("search") is not None:
        raise ConfigError(
            f"{where}: compare.search: expected no such key together with search=, which says it; "
            "leave one of them out"
        )
    return content | {"compare": section | {"search": plain_values(search, "search")}}


def _file_texts(
    given: dict[str, Any], content: Any, kind: str | None, columns: Mapping[str, str] | None
) -> dict[str, str]:
    """The file content of data given in Python, by split; empty if there are none."""
    given = {name: data for name, data in given.items() if data is not None}
    if not given:
        for name, value in (("kind", kind), ("columns", columns)):
            if value is not None:
                raise ConfigError(
                    f"{name}: expected None without train=, got {value!r}; the config's section "
                    "data says it"
                )
        return {}
    if "train" not in given:
        raise ConfigError(f"train: expected data as for {', '.join(given)}, got none; give all")
    kinds = labelled_kinds()
    if kind not in kinds:
        hint = did_you_mean(kind, kinds) if isinstance(kind, str) else ""
        raise ConfigError(f"kind: expected one of {', '.join(kinds)}, got {kind!r}{hint}")
    instead = KINDS[kind].no_file
    if instead:
        raise ConfigError(f"kind: expected another one with train=, got {kind}; {instead}")
    form = _form(content, kind)
    texts = {name: file_text(data, form, columns, name) for name, data in given.items()}
    headers = {name: file_columns(text, form) for name, text in texts.items()}
    for name, header in headers.items():
        if header != headers["train"]:
            raise DataError(
                f"{name}: expected {', '.join(headers['train'])} as in train, got "
                f"{', '.join(header)}"
            )
    return texts


def _form(content: Any, kind: str) -> Form:
    section = content.get("data") if isinstance(content, dict) else None
    section = section if isinstance(section, dict) else {}
    labels, scheme = section.get("labels"), section.get("scheme")
    return Form(
        kind,
        tuple(labels) if isinstance(labels, list) else (),
        scheme if isinstance(scheme, str) else "IOB2",
    )


def _data_section(
    content: dict[str, Any], texts: dict[str, str], kind: str, where: str, out: Path
) -> dict[str, Any]:
    """The config's section `data` for the files that `_keep` writes."""
    form = _form(content, kind)
    written = {
        **form.section,
        **{name: str(_file(out, name, form.file_format)) for name in texts},
        "columns": file_columns(texts["train"], form),
    }
    section = content.get("data") or {}
    if not isinstance(section, dict):
        raise ConfigError(f"{where}: data: expected a section, got {section!r}")
    for key in (*written, "dev", "test"):
        if key in section and key != "scheme":
            raise ConfigError(
                f"{where}: data.{key}: expected no such key together with train=, which says it; "
                "leave one of them out"
            )
    return section | written


def _file(out: Path, name: str, form: str) -> Path:
    return out / record.DATA / f"{name}.{form}"


def _keep(texts: dict[str, str], section: dict[str, Any], out: Path) -> None:
    """Writes the data files into the comparison's folder, or checks that they are unchanged."""
    names = {split: f"{record.DATA}/{Path(section[split]).name}" for split in texts}
    if record.is_begun(out):
        kept = {split: name for split, name in names.items() if name in records.names(out)}
        for name in kept.values():
            records.check(out, name)
        before = {split: sha256(out / name) for split, name in kept.items()}
        now = {split: hashlib.sha256(text.encode()).hexdigest() for split, text in texts.items()}
        record.check_same("the data", before, now, out, DataError)
        return
    for split, name in names.items():
        records.write(out, name, texts[split])
