"""Bytes to an API server and back: the seam where tests put something of their own instead of the network.

Everything above asks a `Transport` and knows no socket. The real one, in `clientgo.rest.connections`, loads an HTTP
library and TLS: a program with fakes needs neither.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol

from clientgo.errors import ConnectionFailed

Headers = tuple[tuple[str, str], ...]
"""Request headers in order; a name may appear twice (Impersonate-Group does)."""


class IdleTimeout(ConnectionFailed):
    """Idle timeout: the server sent nothing for the time allowed, although the connection may be alive."""

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message, sent=sent, timeout=True)


class HTTPReply(NamedTuple):
    """A whole answer; header names are lower-case, the body is decompressed."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HTTPStream(Protocol):
    """An answer whose body is still coming.

    `idle_timeout` is how many seconds may pass without a byte before reading raises `IdleTimeout`; None for no limit.
    The reader may change it between two reads.
    """

    idle_timeout: float | None

    @property
    def status(self) -> int:
        """The HTTP status."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, their names lower-case."""

    def __iter__(self) -> Iterator[bytes]:
        """The body as it arrives; raises `ConnectionFailed` when it breaks off."""

    def close(self) -> None:
        """End it from any thread; a blocked reader returns at once, without an error. May be called again."""


class Transport(Protocol):
    """Carries requests to one server; safe for any number of threads.

    `target` is the path with its query, below the server's address. `timeout` is how many seconds the server may be
    silent.
    """

    def request(self, method: str, target: str, headers: Headers, body: bytes | None, timeout: float) -> HTTPReply:
        """The whole answer, whatever its status; raises `ConnectionFailed`."""

    def stream(self, method: str, target: str, headers: Headers, timeout: float, *, idle_timeout: float) -> HTTPStream:
        """The answer as soon as its head is there; `idle_timeout` limits each later read. Raises `ConnectionFailed`."""

    def reset(self) -> None:
        """Let later requests use new connections, for credentials have changed."""

    def close(self) -> None:
        """Close what is idle now and, when it is done, what is in use."""
