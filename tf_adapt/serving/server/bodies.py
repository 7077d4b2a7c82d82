"""Bodies of requests, read within bounds of size, memory and time."""

import asyncio
import zlib

from starlette.requests import Request

from tf_adapt.serving.server.limits import Limits, RefusedError


class Bodies:
    """Reads bodies; knows how many bytes all that are being read hold together."""

    def __init__(self, limits: Limits):
        self._limits = limits
        self._held = 0

    async def read(self, request: Request) -> bytes:
        """The body of a request, unpacked.

        What is too large is read to its end, and not kept: a client that is cut off while it sends
        would not see why.

        Raises:
            RefusedError: too large (413), too slow (408), too many at once (429), or badly packed
                (400).
        """
        limits, chunks, size = self._limits, [], 0
        try:
            async with asyncio.timeout(limits.body_seconds):
                async for chunk in request.stream():
                    size += len(chunk)
                    if size <= limits.body_bytes:
                        self._held += len(chunk)
                        chunks.append(chunk)
                        if self._held > limits.bodies_bytes:
                            raise RefusedError(429, "too many requests at once; try again", 1)
        except TimeoutError:
            expected = f"the whole body within {limits.body_seconds:g} seconds"
            raise RefusedError(408, f"expected {expected}, got {size} bytes of it") from None
        finally:
            # From here on a request is text that waits, which the queue bounds.
            self._held -= sum(map(len, chunks))
        if size > limits.body_bytes:
            raise self._too_large(f"{size} bytes")
        body = b"".join(chunks)
        encoding = request.headers.get("content-encoding", "identity").lower()
        if encoding == "identity":
            return body
        if encoding != "gzip":
            raise RefusedError(415, "content-encoding: expected gzip or none, got another one")
        return self._unpacked(body)

    def _unpacked(self, body: bytes) -> bytes:
        unpacker = zlib.decompressobj(wbits=31)
        try:
            content = unpacker.decompress(body, self._limits.body_bytes + 1)
        except zlib.error:
            raise RefusedError(400, "expected a body packed with gzip, got another") from None
        if len(content) > self._limits.body_bytes:
            raise self._too_large("more once unpacked")
        if not unpacker.eof or unpacker.unused_data:
            raise RefusedError(400, "expected a whole body packed with gzip, got a part or more")
        return content

    def _too_large(self, got: str) -> RefusedError:
        expected = f"a body of at most {self._limits.body_bytes} bytes"
        return RefusedError(413, f"expected {expected}, got {got}; send several requests")
