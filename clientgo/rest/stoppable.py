"""Open streams that a stop ends, of a server or of a fake."""

from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from clientgo.errors import ConnectionFailed
from clientgo.rest.limits import InFlightRequest
from clientgo.stopping import INTERRUPTED

S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)


class Closable(Protocol[S_co]):
    """Stream that `close` ends from any thread; a blocked reader returns at once, without an error."""

    def __iter__(self) -> Iterator[S_co]:
        """Iterate over the items as they arrive."""

    def close(self) -> None:
        """End the stream. May be called again."""


class Stoppable(Generic[S]):
    """Stream that ends with its request.

    After a stop, reading raises `ConnectionFailed`, and its `stopping` is True: a stream that only ended would look
    complete. A stream that its program forgets is closed, as a file is.
    """

    def __init__(self, stream: Closable[S], request: InFlightRequest) -> None:
        self._stream = stream
        self._request = request
        self._items = iter(stream)
        request.keep(stream.close)

    def __repr__(self) -> str:
        return repr(self._stream)

    def __del__(self) -> None:
        # Until then, the scopes of the request refer to its connection. No thread reads, so its locks are free.
        self.close()

    def __iter__(self) -> Iterator[S]:
        return self

    def __next__(self) -> S:
        try:
            return next(self._items)
        except StopIteration:
            self._request.end()
            if self._request.aborted:
                raise ConnectionFailed(INTERRUPTED, stopping=True) from None
            raise
        except ConnectionFailed as error:
            self._request.end()
            if (stopped := self._request.stopped(error)) is not None:
                raise stopped from error
            raise
        except BaseException:  # such as the error that a test gives to a fake
            self._request.end()
            raise

    def close(self) -> None:
        """End the stream from any thread; a blocked reader returns at once, without an error."""
        self._request.end()
        self._stream.close()
