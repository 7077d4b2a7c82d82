"""The runs of a comparison: their folders and commands.

A run is one call of `tf-adapt train`; its folder tells whether it has finished. A diverged run is
marked by a file beside its folder, since it would diverge again.
"""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from hub_modules.storage.files import write_text
from hub_modules.storage.strict_yaml import float_text
from tf_adapt.comparison.plan.cells import Cell
from tf_adapt.comparison.plan.signal_cells.members import arguments_of
from tf_adapt.config.sections import EncoderConfig
from tf_adapt.errors import ArtifactError
from tf_adapt.runs.ensemble_folder import PROBABILITIES, VOTES, WEIGHTS

# The first seed of the members of ensembles: beyond all others.
MEMBERS_SEED = 2000
# Of `tf-adapt ensemble`.
_COMBINE = {
    PROBABILITIES: [],
    VOTES: ["--combine", VOTES],
    WEIGHTS: ["--average", WEIGHTS],
}


@dataclass(frozen=True)
class Fold:
    """A fold of a cross-validation, as the config's `data.fold`."""

    of: int
    leave_out: int | None
    seed: int


@dataclass(frozen=True)
class Setting:
    """What a trial of a search sets; runs with the chosen one set the same.

    Attributes:
        number: of the trial.
        values: by key of a run's config.
        stop_below: as in the config; empty: the run trains to its end.
        of_fold: the fold in which it was chosen, in a run on all examples.
    """

    number: int
    values: tuple[tuple[str, Any], ...]
    stop_below: tuple[float | None, ...] = ()
    of_fold: int | None = None

    @property
    def values_by_key(self) -> dict[str, Any]:
        """Its values."""
        return dict(self.values)

    @property
    def name(self) -> str:
        """`trial_7`, for folders."""
        fold = "" if self.of_fold is None else f"fold_{self.of_fold}_"
        return f"{fold}trial_{self.number}"

    @property
    def in_words(self) -> str:
        """`trial 7 (training.learning_rate 0.0001, training.epochs 3)`."""
        values = ", ".join(f"{key} {_text(value)}" for key, value in self.values)
        return f"trial {self.number} ({values})"

    @property
    def arguments(self) -> list[str]:
        """Its keys but the learning rate, for `tf-adapt train`."""
        keys = [(key, value) for key, value in self.values if key != "training.learning_rate"]
        keys += [("training.stop_below", list(self.stop_below))] if self.stop_below else []
        return [part for key, value in keys for part in ("--set", f"{key}={_text(value)}")]


def _text(value: Any) -> str:
    """A value as YAML writes it."""
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return float_text(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class CellRun:
    """A run: a cell with one learning rate, one seed and a number of training examples.

    Attributes:
        examples: the number of training examples, drawn with the seed; None: all.
        start: the folder of the run that is trained before it, in place of the config that it
            starts from.
        teacher: the run whose answers it learns from, in place of the signal that its config names.
        together: the number of its members, whose answers are averaged; 0: it is a training.
        drawn: the seed of the parts of train; None: its own.
        left_out: the part of train that a member does without; None: it has all.
        member: its number among members that differ in more than their seeds; None: it is none.
        fold: which fold it is trained without, and answers; None: its data have a test split.
        folds: the runs whose answers together are those to all examples; it is then no training.
        setting: what a search sets in it, the learning rate too; None: there is no search.
    """

    cell: Cell
    rate: float
    seed: int
    out: Path
    examples: int | None = None
    start: Path | None = None
    teacher: "CellRun | None" = None
    together: int = 0
    drawn: int | None = None
    left_out: int | None = None
    member: int | None = None
    fold: Fold | None = None
    folds: "tuple[CellRun, ...]" = ()
    setting: Setting | None = None

    @property
    def members(self) -> "list[CellRun]":
        """The trainings of an ensemble, with seeds that no other run has, on its part of train.

        Weights are averaged of members that differ in other keys than their seed, where they do.
        """
        first, differ = MEMBERS_SEED + self.seed * self.together, bool(self.cell.member_values)
        step = 0 if differ and self.cell.combine == WEIGHTS else 1
        members = [
            replace(
                self,
                seed=first + step * number,
                together=0,
                drawn=self.seed,
                member=number if differ else None,
            )
            for number in range(self.together)
        ]
        if self.cell.parts is None:
            return members
        return [replace(member, left_out=number) for number, member in enumerate(members)]

    @property
    def of_one_model(self) -> "list[CellRun]":
        """The trainings that it consists of: of folds and members, else itself."""
        parts = [*self.folds, *self.members]
        return [one for part in parts for one in part.of_one_model] or [self]

    @property
    def encoder(self) -> EncoderConfig:
        """The section `encoder` of its config; of an ensemble that of its cell."""
        own = self.cell.config if self.member is None else self.cell.member_configs[self.member]
        return own.encoder

    @cached_property
    def folder(self) -> Path:
        """The run folder."""
        home = self.out / "runs" / self.cell.name
        if self.cell.more_epochs is not None:
            home /= f"epochs_{self.cell.more_epochs}"
        if self.examples is not None:
            home /= f"examples_{self.examples}"
        if self.folds:
            return home / f"repeat_{self.seed}"
        if self.fold is not None:
            number = self.fold.leave_out
            home /= "all_examples" if number is None else f"fold_{number}"
        if self.member is not None:
            home /= f"member_{self.member}"
        return home / self.choice / f"seed_{self.seed}"

    @property
    def whole(self) -> Setting | None:
        """Its setting for runs that train to their end."""
        return self.setting and replace(self.setting, stop_below=())

    @property
    def choice(self) -> str:
        """`rate_0.001`, or with a search `trial_7`: what was chosen for it, for folders."""
        return self.setting.name if self.setting else f"rate_{float_text(self.rate)}"

    @property
    def config(self) -> Path:
        """The config of the cell, for `tf-adapt train`."""
        return self.out / config_name(self.cell)

    @property
    def log(self) -> Path:
        """The file of the run's stdout and stderr."""
        return self.folder.with_suffix(".log")

    @property
    def failure(self) -> Path:
        """The file with the reason why the run diverged; exists only if it did."""
        return self.folder.with_suffix(".failed")

    def arguments(self, cache: Path | None = None) -> list[str]:
        """The arguments of `tf-adapt` for this run."""
        if self.together:
            trust = ["--trust"] if self.cell.config.encoder.trust else []
            members = [str(member.folder) for member in self.members]
            combine = _COMBINE[self.cell.combine]
            return ["ensemble", *members, "--out", str(self.folder), *combine, *trust]
        arguments = ["train", str(self.config), "--out", str(self.folder)]
        arguments += ["--set", f"training.learning_rate={float_text(self.rate)}"]
        arguments += self.setting.arguments if self.setting else []
        if self.cell.more_epochs is not None:
            arguments += ["--set", f"training.epochs={self.cell.more_epochs}"]
        if self.member is not None:  # its own keys come last, so that they hold
            arguments += arguments_of(self.cell.member_values[self.member])
        if self.start is not None:
            start = json.dumps(str(self.start), ensure_ascii=False)
            arguments += ["--set", f"start.run={start}", "--set", "start.config=null"]
        if self.teacher is not None:
            teacher = json.dumps(str(self.teacher.folder), ensure_ascii=False)
            arguments += ["--set", f"teacher.run={teacher}"]
        if self.fold is not None:
            fold = json.dumps(asdict(self.fold))
            # A fold may have no example of a slice; slices are scored on all answers together.
            arguments += ["--set", f"{self._data}.fold={fold}", "--set", "slices={}"]
        if self.left_out is not None:
            part = {"of": self.cell.parts, "part": self.left_out, "seed": self.drawn}
            arguments += ["--set", f"data.leave_out={json.dumps(part)}"]
        if self.examples is not None:
            arguments += ["--set", f"{self._data}.train_examples={self.examples}"]
            drawn = self.seed if self.drawn is None else self.drawn
            arguments += ["--set", f"{self._data}.train_examples_seed={drawn}"]
        if cache is not None:
            arguments += ["--set", f"features.cache={json.dumps(str(cache), ensure_ascii=False)}"]
        return [*arguments, "--seed", str(self.seed)]

    @property
    def _data(self) -> str:
        """The section of its data in the config."""
        target = self.cell.config.target
        return "data" if target is None else f"tasks.{target}.data"


def config_name(cell: Cell) -> str:
    """The path of a cell's config in the comparison's folder."""
    return f"cells/{cell.name}.yaml"


def remember_failure(run: CellRun, message: str) -> None:
    """Marks a run as diverged."""
    write_text(run.failure, message + "\n")


@contextlib.contextmanager
def log_of(run: CellRun) -> Iterator[IO[bytes]]:
    """A run's log, opened for appending."""
    try:
        run.log.parent.mkdir(parents=True, exist_ok=True)
        with open(run.log, "ab") as log:
            yield log
    except OSError as error:
        raise ArtifactError(
            f"{run.log}: the run cannot be started ({error.strerror}); free space or memory, or "
            "choose another --out"
        ) from None
