"""What one server takes at most, and the error that a request beyond it gets."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds of a server; what is beyond one is refused with an HTTP status that says so.

    Attributes:
        batch_rows: texts in one call of a model.
        batch_characters: of the sentences to tag in one call, all padded to the longest; one alone
            may have more. Of texts four times as many.
        batch_wait_ms: how long a text waits for others to join its batch.
        queue_rows, queue_characters: of texts that wait for one signature of a model; beyond it
            requests get 429.
        seconds: from a request's last byte to its answer; beyond it 504.
        body_bytes: of one request, after gzip; beyond it 413.
        bodies_bytes: of all requests being read; beyond it 429.
        body_seconds: for a client to send a body; beyond it 408.
        request_rows: texts in one request; beyond it 400.
        characters: of one text, or of one sentence's words with a space after each; beyond it 400.
    """

    batch_rows: int = 32
    batch_characters: int = 20_000
    batch_wait_ms: float = 2.0
    queue_rows: int = 1024
    queue_characters: int = 4 * 2**20
    seconds: float = 30.0
    body_bytes: int = 2**20
    bodies_bytes: int = 64 * 2**20
    body_seconds: float = 10
    request_rows: int = 256
    characters: int = 20_000


class RefusedError(Exception):
    """A request that is answered with an error: HTTP status, message, seconds until another try."""

    def __init__(self, status: int, message: str, retry_after: int | None = None):
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after
