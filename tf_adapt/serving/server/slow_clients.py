"""When a connection is closed: if its client neither sends nor reads, when there are too many, and
when the server ends.
"""

import asyncio
import resource
import sys

from uvicorn.protocols.http.h11_impl import CLOSE_HEADER, H11Protocol

from tf_adapt.serving.server.protocol_errors import error_answer

# Between two checks of a connection.
LOOK_SECONDS = 10.0
# The least that a client reads of a waiting answer between two checks.
READ_BYTES = 2**20
# How long an idle connection outlives the end of the server.
LAST_SECONDS = 1.0
# The open files of a process that are no connections: models, libraries.
OWN_FILES = 256


class PatientProtocol(H11Protocol):
    """HTTP/1.1 for clients that send headers, and read a megabyte, in ten to twenty seconds.

    uvicorn waits for others without a limit. When the server ends, uvicorn closes idle connections
    at once, and with them requests that have arrived and were not read yet: here they stay open
    for a moment, and what is answered then closes its connection. A client that has sent its
    request and closes its own half of the connection is answered.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._ends = self._is_half_closed = False
        self._look(before=(), unread=0)
        if len(self.connections) > _most_connections():
            transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._ends:
            self._close_after_answer()

    def eof_received(self) -> bool:
        """The client sends no more; true: the connection stays open for the answer."""
        waits = not self._is_over()
        self._is_half_closed = waits and not self.cycle.more_body
        if not self._is_half_closed and (waits or self.conn.trailing_data[0]):
            self.conn.receive_data(b"")  # by which h11 knows that the request is a part of one
            self.handle_events()
        return self._is_half_closed

    def on_response_complete(self) -> None:
        super().on_response_complete()  # goes on with a request that has come behind this one
        if self._is_half_closed and (self._is_over() or self.cycle.more_body):
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answers h11's error, which is being handled."""
        for part in error_answer(self.conn, sys.exception()):
            self.transport.write(part)
        if not self._is_over():
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()

    def shutdown(self) -> None:
        """The server ends."""
        self._ends = True
        self._close_after_answer()
        self.loop.call_later(LAST_SECONDS, self._end)

    def _end(self) -> None:
        if not self.transport.is_closing():
            super().shutdown()

    def _close_after_answer(self) -> None:
        if not self._is_over():
            self.cycle.keep_alive = False
            # As if the client had asked for it: so the answer says it too.
            if CLOSE_HEADER not in self.cycle.scope["headers"]:
                self.cycle.scope["headers"].append(CLOSE_HEADER)

    def connection_lost(self, exc: Exception | None) -> None:
        self._next_look.cancel()
        super().connection_lost(exc)

    def _look(self, before: tuple, unread: int) -> None:
        """`before`: request at the last check and whether it was over; `unread`: bytes that waited.

        A request is over as soon as its answer is in the transport's buffer.
        """
        is_over = self._is_over()
        now, waiting = (self.cycle, is_over), self.transport.get_write_buffer_size()
        # Of the same request in the same state, nothing was added to what waits.
        if now == before and unread:
            if waiting > max(0, unread - READ_BYTES):
                # Closing would wait until everything is read.
                self.transport.abort()
        elif now == before and is_over:
            self.transport.close()
        self._next_look = self.loop.call_later(LOOK_SECONDS, self._look, now, waiting)

    def _is_over(self) -> bool:
        return self.cycle is None or self.cycle.response_complete


def _most_connections() -> int:
    """Without a bound they take the files that a new version, or a request's model, has to open."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return max(files - OWN_FILES, files // 2)
