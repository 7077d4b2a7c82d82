"""Requests of a few milliseconds become one call of a model, behind a queue with a bound."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field

from tf_adapt.serving.server.answer_json import Outputs
from tf_adapt.serving.server.limits import Limits, RefusedError
from tf_adapt.serving.server.request_json import Columns


@dataclass(eq=False)
class _Job:
    """Rows of one request, at most a batch of them."""

    columns: Columns
    answer: asyncio.Future[Outputs]
    arrived: float = field(default_factory=time.monotonic)

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())))


class Batcher:
    """Calls one signature, with the rows of several requests at once.

    A batch with an error is called again request by request, so that one request's error is not
    another's. All but the call itself happens on the event loop.
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

    async def answer(self, columns: Columns) -> Outputs:
        """The outputs for the rows of one request.

        Raises:
            RefusedError: the queue is full (429), the answer is late (504), or the model refuses
                (400).
        """
        rows = len(next(iter(columns.values())))
        if self.waiting_rows and self.waiting_rows + rows > self._limits.queue_rows:
            raise RefusedError(429, "the queue of this model is full; try again in a second", 1)
        loop = asyncio.get_running_loop()
        parts = _parts(columns, self._limits.batch_rows)
        jobs = [_Job(part, loop.create_future()) for part in parts]
        self._jobs.extend(jobs)
        self.waiting_rows += rows
        if self.waiting_rows >= self._limits.batch_rows:
            self._full.set()
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        try:
            async with asyncio.timeout(self._limits.seconds):
                found = await asyncio.gather(*(job.answer for job in jobs), return_exceptions=True)
        except TimeoutError:
            raise RefusedError(504, f"no answer within {self._limits.seconds:g} seconds") from None
        finally:
            for job in jobs:  # one that still waits is not computed any more
                job.answer.cancel()
        for one in found:
            if isinstance(one, BaseException):
                raise one
        return {name: [row for one in found for row in one[name]] for name in found[0]}

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
        rows = 0
        while self._jobs and rows + self._jobs[0].rows <= self._limits.batch_rows:
            job = self._jobs.popleft()
            self.waiting_rows -= job.rows
            if not job.answer.done():
                rows += job.rows
                batch.append(job)
        return batch

    async def _run(self, batch: list[_Job]) -> None:
        loop = asyncio.get_running_loop()
        columns = _merged([job.columns for job in batch])
        self._observe(sum(job.rows for job in batch))
        try:
            outputs = await loop.run_in_executor(self._executor, self._call, columns)
        except Exception as error:
            if len(batch) > 1:
                for job in batch:
                    await self._run([job])
            elif not batch[0].answer.done():
                batch[0].answer.set_exception(error)
            return
        start = 0
        for job in batch:
            if not job.answer.done():
                job.answer.set_result(_rows_of(outputs, start, job))
            start += job.rows


def _parts(columns: Columns, rows: int) -> Iterator[Columns]:
    count = len(next(iter(columns.values())))
    for start in range(0, count, rows):
        yield {name: values[start : start + rows] for name, values in columns.items()}


def _merged(all_columns: list[Columns]) -> Columns:
    """The rows of all; sentences are padded at their end to the longest."""
    merged = {name: [row for one in all_columns for row in one[name]] for name in all_columns[0]}
    for name, rows in merged.items():
        if isinstance(rows[0], list):
            width = max(map(len, rows))
            merged[name] = [row + [""] * (width - len(row)) for row in rows]
    return merged


def _rows_of(outputs: Outputs, start: int, job: _Job) -> Outputs:
    """The rows of one job, without what its sentences were padded with."""
    found = {name: rows[start : start + job.rows] for name, rows in outputs.items()}
    (first, *_) = job.columns.values()
    if isinstance(first[0], list):
        found = {name: [row[: len(first[0])] for row in rows] for name, rows in found.items()}
    return found
