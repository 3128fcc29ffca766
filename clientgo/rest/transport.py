"""Transport interface: sends bytes to an API server and returns its response; tests replace it with a fake.

The real one, in `clientgo.rest.connections`, loads TLS, which a program with fakes does not need.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

from clientgo.errors import ApiError, ConnectionFailed, error_from_response
from clientgo.rest.limits import InFlightRequest, OpenStream, Stoppable
from clientgo.stop.stopping import INTERRUPTED

S = TypeVar("S")

Headers = tuple[tuple[str, str], ...]
"""Request headers in order; a name may appear twice (Impersonate-Group does)."""


def too_large(limit: int) -> str:
    """Return the message for a response above the limit of `Config.max_response_bytes`."""
    return f"the response is larger than {limit} bytes: raise Config.max_response_bytes to allow it"


class IdleTimeout(ConnectionFailed):
    """The server sent nothing within the idle timeout, although the connection may be alive."""

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message, sent=sent, timeout=True)


class HTTPReply(NamedTuple):
    """A whole response; header names are lower-case, the body is decompressed."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def error(self) -> ApiError:
        """Return the error that the response describes."""
        return error_from_response(self.status, self.body, self.headers)

    @property
    def lags(self) -> bool:
        """True if the server has not reached the requested resourceVersion yet."""
        return self.status == 504 and self.error().is_resource_version_too_large


class AnyResponse(Protocol):
    """Status and headers of a response."""

    @property
    def status(self) -> int:
        """The HTTP status."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, with lower-case names."""


class HTTPStream(AnyResponse, OpenStream[bytes], Protocol):
    """A response with a streamed body.

    Reading raises `IdleTimeout` after `idle_timeout` seconds without data; None means no limit. The reader may change
    it between two reads.
    """

    idle_timeout: float | None


class StoppableStream(Stoppable[bytes]):
    """Response with a streamed body that a stop ends. Implements `HTTPStream`.

    Reading raises `ConnectionFailed` beyond `max_bytes`; 0 means unlimited.
    """

    def __init__(self, stream: HTTPStream, request: InFlightRequest, *, max_bytes: int = 0) -> None:
        super().__init__(stream, request)
        self.status = stream.status
        self.headers = stream.headers
        self._response = stream
        self._max_bytes = max_bytes
        self._received = 0

    @property
    def idle_timeout(self) -> float | None:
        """Seconds without data after which reading raises `IdleTimeout`; None for no limit."""
        return self._response.idle_timeout

    @idle_timeout.setter
    def idle_timeout(self, seconds: float | None) -> None:
        self._response.idle_timeout = seconds

    def __next__(self) -> bytes:
        chunk = super().__next__()
        self._received += len(chunk)
        if self._max_bytes and self._received > self._max_bytes:
            self.close()
            raise ConnectionFailed(too_large(self._max_bytes), broken=False)
        return chunk


class Received(Generic[S]):
    """Items that have been received, as a stream."""

    def __init__(self, *items: S) -> None:
        self._items = items

    def __iter__(self) -> Iterator[S]:
        return iter(self._items)

    def close(self) -> None:
        """Do nothing: no connection is open."""


class Duplex(AnyResponse, Protocol):
    """A connection that has switched protocols: one thread receives while others send.

    A thread that receives answers by `post`, which does not wait for those that send. All raise `ConnectionFailed` if
    the connection breaks, or `close` was called.
    """

    def receive(self, timeout: float | None) -> bytes:
        """Return bytes as they arrive, empty at the end; raise `IdleTimeout` after `timeout` seconds without data."""

    def send(self, data: bytes) -> None:
        """Send all bytes; wait while the peer does not read."""

    def post(self, data: bytes) -> None:
        """Send bytes after the message in progress, without waiting for the peer.

        If the peer does not read, a few posted messages are kept, and earlier ones dropped.
        """

    def close(self) -> None:
        """Close the connection from any thread; a blocked thread returns at once. May be called again."""


class StoppableDuplex:
    """Connection that has switched protocols, and that a stop closes. Implements `Duplex`.

    Receiving and sending raise `ConnectionFailed` then, and its `stopping` is True.
    """

    def __init__(self, duplex: Duplex, request: InFlightRequest) -> None:
        self.status = duplex.status
        self.headers = duplex.headers
        self._duplex = duplex
        self._request = request
        request.keep(duplex.close)

    def __repr__(self) -> str:
        return repr(self._duplex)

    def __del__(self) -> None:
        self.close()  # as in `Stoppable`

    def receive(self, timeout: float | None) -> bytes:
        """Return bytes as they arrive, empty at the end; raise `IdleTimeout` after `timeout` seconds without data."""
        with self._stoppable():
            return self._duplex.receive(timeout)

    def send(self, data: bytes) -> None:
        """Send all bytes; wait while the peer does not read."""
        with self._stoppable():
            self._duplex.send(data)

    def post(self, data: bytes) -> None:
        """Send bytes after the message in progress, without waiting for the peer."""
        with self._stoppable():
            self._duplex.post(data)

    def close(self) -> None:
        """Close the connection from any thread; a blocked thread returns at once. May be called again."""
        self._request.end()
        self._duplex.close()

    @contextmanager
    def _stoppable(self) -> Iterator[None]:
        try:
            yield
        except ConnectionFailed as error:
            if self._request.aborted:
                raise ConnectionFailed(INTERRUPTED, stopping=True) from error
            raise


@runtime_checkable
class UpgradeTransport(Protocol):
    """A transport whose connections can switch protocols."""

    def upgrade(self, target: str, headers: Headers, timeout: float) -> HTTPReply | Duplex:
        """Return a connection that has switched protocols, or the response of another status than 101."""


def upgradable(transport: object) -> UpgradeTransport:
    """Return the transport; raise `TypeError` if its connections cannot switch protocols."""
    if not isinstance(transport, UpgradeTransport):
        raise TypeError(f"{transport!r} cannot switch protocols: add a method upgrade(target, headers, timeout)")
    return transport


class Transport(Protocol):
    """Sends requests to one server; thread-safe.

    `target` is the path and query below the server's address. `timeout` limits the silence of the server, in seconds.
    """

    def request(self, method: str, target: str, headers: Headers, body: bytes | None, timeout: float) -> HTTPReply:
        """Return the whole response of any status; raise `ConnectionFailed`."""

    def stream(self, method: str, target: str, headers: Headers, timeout: float, *, idle_timeout: float) -> HTTPStream:
        """Return the response once its head has arrived; `idle_timeout` limits each later read."""

    def reset(self) -> None:
        """Close idle connections, so that later requests use new ones with the current credentials."""

    def close(self) -> None:
        """Close idle connections now, and others once their request is done."""
