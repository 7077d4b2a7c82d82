"""Closes connections that neither send nor read: uvicorn waits for them without a limit."""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

# From one look at a connection to the next.
LOOK_SECONDS = 10.0
# Of an answer that still waits, what is read from one look to the next at least.
READ_BYTES = 2**20


class PatientProtocol(H11Protocol):
    """HTTP/1.1 for clients that send headers, and read a megabyte, in ten to twenty seconds."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._look(before=(), unread=0)

    def connection_lost(self, exc: Exception | None) -> None:
        self._next_look.cancel()
        super().connection_lost(exc)

    def _look(self, before: tuple, unread: int) -> None:
        """`before`: request of the last look and whether it was over; `unread`: bytes that waited.

        A request is over as soon as its answer is in the transport's buffer.
        """
        is_over = self.cycle is None or self.cycle.response_complete
        now, waiting = (self.cycle, is_over), self.transport.get_write_buffer_size()
        # Of the same request in the same state, nothing was added to what waits.
        if now == before and unread:
            if waiting > max(0, unread - READ_BYTES):
                # Closing would wait until everything is read.
                self.transport.abort()
        elif now == before and is_over:
            self.transport.close()
        self._next_look = self.loop.call_later(LOOK_SECONDS, self._look, now, waiting)
