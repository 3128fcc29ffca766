"""Limits of what a server, a file or a plugin may send and how often a request is repeated: sizes, times and counts.

docs/guide/rest.md lists them, with the options that change them. A server's Retry-After is limited where it is read
(`clientgo.errors.MAX_RETRY_AFTER`).
"""

import errno
import zlib
from pathlib import Path

from clientgo.clock import Clock
from clientgo.errors import ConnectionFailed
from clientgo.rest.limits import current_request
from clientgo.rest.transport import HTTPStream

MAX_RESPONSE_BYTES = 2 * 1024**3
"""Default limit of one response body: the default size of etcd's storage. With a lower one, the objects of one tenant
could make a list unreadable."""

MAX_ERROR_BYTES = 1024 * 1024
"""Bytes that are read of an error response to a watch or stream; a Status has some hundreds."""

MAX_FRAME = 64 * 1024 * 1024
"""Maximum size of a watch frame in bytes. etcd stores no object above 1.5 MiB, aggregated servers may."""

MAX_FILE_BYTES = 16 * 1024 * 1024
"""Maximum size of a file that a configuration names: a kubeconfig, a token, a certificate."""

MAX_PLUGIN_BYTES = 1024 * 1024
"""Maximum output of a credential plugin, and of its error messages, in bytes."""

MAX_PAGES = 100_000
"""Maximum number of pages of one list: with the default page size, more objects than a cluster can have."""

MAX_RETRIES = 10
"""Retries of one request (client-go's default)."""

MAX_REDIRECTS = 10
"""Redirects that one request follows (Go's default)."""

SILENCE = 75.0
"""Seconds that a server may be silent during a request by default; it ends ordinary requests after 60 s."""

MAX_WATCH_SECONDS = 3600.0
"""Longest watch without a requested duration (kube-apiserver's --min-request-timeout, twice)."""

END_GRACE = 15.0
"""Seconds by which a server may exceed the duration of a watch."""


def read_file(path: str | Path, limit: int = MAX_FILE_BYTES) -> bytes:
    """Return the content of a file; raise `OSError` if it cannot be read, or is larger than `limit` bytes."""
    with Path(path).open("rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"file is larger than {limit} bytes", str(path))
    return content


def read_error(stream: HTTPStream, limit: int, clock: Clock) -> bytes:
    """Return the start of an error's body, at most `limit` bytes, and close the stream.

    A server may send without end, or a byte now and then: reading ends after `SILENCE` seconds. The status has been
    received, and the body is only a message: it need not be complete.
    """
    pieces: list[bytes] = []
    remaining, end = limit, clock.now() + min(SILENCE, current_request().remaining())
    try:
        for piece in stream:
            pieces.append(piece[:remaining])
            remaining -= len(piece)
            if remaining <= 0 or clock.now() >= end:
                break
            stream.idle_timeout = end - clock.now()
    except ConnectionFailed:
        pass  # the server broke off its message
    finally:
        stream.close()
    body = b"".join(pieces)
    if stream.headers.get("content-encoding") != "gzip":
        return body
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(body, limit)
    except zlib.error:
        return b""
