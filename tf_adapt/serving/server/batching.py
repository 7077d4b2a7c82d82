"""Requests of a few milliseconds become one call of a model, behind a queue with a bound."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field

from tf_adapt.serving.server.answer_json import Outputs
from tf_adapt.serving.server.limits import Limits, RefusedError
from tf_adapt.serving.server.request_json import Columns, Settings


@dataclass(frozen=True)
class _Size:
    """The size of some rows of a call.

    Attributes:
        longest: characters of the longest sentence of words, or a quarter of those of the longest
            text, of which a model takes a bounded part.
    """

    rows: int = 0
    longest: int = 0

    def __add__(self, other: "_Size") -> "_Size":
        return _Size(self.rows + other.rows, max(self.longest, other.longest))

    def fits(self, limits: Limits) -> bool:
        characters = self.rows * self.longest
        return self.rows <= limits.batch_rows and characters <= limits.batch_characters


@dataclass(eq=False)
class _Job:
    """Rows of one request, at most a batch of them."""

    columns: Columns
    size: _Size
    characters: int
    settings: Settings
    answer: asyncio.Future[Outputs]
    arrived: float = field(default_factory=time.monotonic)
    waits: bool = True


class Batcher:
    """Calls one signature, with the rows of several requests at once.

    A batch with an error is called again in halves, so that one request's error is not another's.
    All but the call itself happens on the event loop.
    """

    def __init__(
        self,
        call: Callable[[Columns], Outputs],
        executor: Executor,
        limits: Limits,
        observe: Callable[[int], None] = lambda rows: None,
    ):
        """`observe` is told the rows of each call."""
        self._call = call
        self._executor = executor
        self._limits = limits
        self._observe = observe
        self._jobs: deque[_Job] = deque()
        self._full = asyncio.Event()
        self._worker: asyncio.Task | None = None
        self.waiting_rows = 0
        self._waiting_characters = 0

    async def answer(self, columns: Columns, settings: Settings | None = None) -> Outputs:
        """The outputs for the rows of one request; a call has requests of equal settings alone.

        Raises:
            RefusedError: the queue is full (429), the answer is late (504), or the model refuses
                (400).
        """
        loop = asyncio.get_running_loop()
        parts = _parts(columns, self._limits)
        jobs = [_Job(*part, settings or {}, loop.create_future()) for part in parts]
        rows = self.waiting_rows + sum(job.size.rows for job in jobs)
        characters = self._waiting_characters + sum(job.characters for job in jobs)
        is_full = rows > self._limits.queue_rows or characters > self._limits.queue_characters
        if self.waiting_rows and is_full:
            raise RefusedError(429, "the queue of this model is full; try again in a second", 1)
        self._jobs.extend(jobs)
        self.waiting_rows, self._waiting_characters = rows, characters
        if self.waiting_rows >= self._limits.batch_rows:
            self._full.set()
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        try:
            async with asyncio.timeout(self._limits.seconds):
                answers = await asyncio.gather(
                    *(job.answer for job in jobs), return_exceptions=True
                )
        except TimeoutError:
            raise RefusedError(504, f"no answer within {self._limits.seconds:g} seconds") from None
        finally:
            for job in jobs:  # one that still waits is not computed any more
                job.answer.cancel()
                self._leave(job)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return {name: [row for answer in answers for row in answer[name]] for name in answers[0]}

    async def _work(self) -> None:
        while self._jobs:
            await self._fill()
            batch = self._take()
            if batch:
                await self._run(batch)

    async def _fill(self) -> None:
        """Waits until there is a whole batch, or the first of it has waited long enough."""
        left = self._jobs[0].arrived + self._limits.batch_wait_ms / 1000 - time.monotonic()
        if left <= 0 or self.waiting_rows >= self._limits.batch_rows:
            return
        self._full.clear()
        try:
            async with asyncio.timeout(left):
                await self._full.wait()
        except TimeoutError:
            pass

    def _take(self) -> list[_Job]:
        batch: list[_Job] = []
        size = _Size()
        while self._jobs and (not batch or self._joins(self._jobs[0], batch[0], size)):
            job = self._jobs.popleft()
            self._leave(job)
            if not job.answer.done():
                size += job.size
                batch.append(job)
        return batch

    def _joins(self, job: _Job, first: _Job, size: _Size) -> bool:
        return job.settings == first.settings and (size + job.size).fits(self._limits)

    def _leave(self, job: _Job) -> None:
        if job.waits:
            self.waiting_rows -= job.size.rows
            self._waiting_characters -= job.characters
            job.waits = False

    async def _run(self, batch: list[_Job]) -> None:
        loop = asyncio.get_running_loop()
        columns = _merged([job.columns for job in batch]) | batch[0].settings
        self._observe(sum(job.size.rows for job in batch))
        try:
            outputs = await loop.run_in_executor(self._executor, self._call, columns)
        except Exception as error:
            middle = len(batch) // 2
            for part in (batch[:middle], batch[middle:]):
                left = [job for job in part if not job.answer.done()]
                if left and middle:
                    await self._run(left)
                elif left:
                    left[0].answer.set_exception(error)
            return
        start = 0
        for job in batch:
            if not job.answer.done():
                job.answer.set_result(_rows_of(outputs, start, job))
            start += job.size.rows


def _parts(columns: Columns, limits: Limits) -> Iterator[tuple[Columns, _Size, int]]:
    """The rows of a request as parts that fit in a call, each with its size and characters."""
    rows = list(zip(*columns.values(), strict=True))
    start, size, characters = 0, _Size(), 0
    for number, row in enumerate(rows):
        more, length = _measured(row)
        if number > start and not (size + more).fits(limits):
            yield _slice(columns, start, number), size, characters
            start, size, characters = number, _Size(), 0
        size, characters = size + more, characters + length
    yield _slice(columns, start, len(rows)), size, characters


def _measured(row: tuple) -> tuple[_Size, int]:
    """Size and characters of a row."""
    if isinstance(row[0], list):
        # As in `Limits.characters`; what a request pads with counts, too.
        characters = sum(sum(map(len, texts)) + len(texts) for texts in row)
        return _Size(1, characters), characters
    characters = sum(map(len, row))
    return _Size(1, characters // 4), characters


def _slice(columns: Columns, start: int, end: int) -> Columns:
    return {name: values[start:end] for name, values in columns.items()}


def _merged(all_columns: list[Columns]) -> Columns:
    """The rows of all; sentences are padded at their end to the longest."""
    merged = {
        name: [row for columns in all_columns for row in columns[name]] for name in all_columns[0]
    }
    for name, rows in merged.items():
        if isinstance(rows[0], list):
            width = max(map(len, rows))
            merged[name] = [row + [""] * (width - len(row)) for row in rows]
    return merged


def _rows_of(outputs: Outputs, start: int, job: _Job) -> Outputs:
    """The rows of one job, without padding words."""
    of_job = {name: rows[start : start + job.size.rows] for name, rows in outputs.items()}
    (first, *_) = job.columns.values()
    if all(isinstance(rows[0], list) for rows in (first, *of_job.values())):
        of_job = {name: [row[: len(first[0])] for row in rows] for name, rows in of_job.items()}
    return of_job
