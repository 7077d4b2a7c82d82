"""Closes connections whose requests do not come: uvicorn waits for headers without a limit."""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

# From one look at a connection to the next; it is closed if it waits for headers at both.
HEADERS_SECONDS = 10.0


class PatientProtocol(H11Protocol):
    """HTTP/1.1 for clients that send a request's headers in ten to twenty seconds."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._look(before=())

    def connection_lost(self, exc: Exception | None) -> None:
        self._next_look.cancel()
        super().connection_lost(exc)

    def _look(self, before: tuple) -> None:
        """`before`: the request that was over at the last look, `()` where one was going on."""
        is_over = self.cycle is None or self.cycle.response_complete
        now = (self.cycle,) if is_over else ()
        if now and now == before:
            self.transport.close()
        self._next_look = self.loop.call_later(HEADERS_SECONDS, self._look, now)
