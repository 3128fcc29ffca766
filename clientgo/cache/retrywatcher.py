"""A watch that goes on by itself where the last one ended, until it can't without missing something.

It stands beside the caches and not in a package of its own, because it is the part of a reflector that someone needs
who wants the changes and no store: same source, same seam, and nothing else is imported for it. It has no thread:
whoever iterates opens and reads.
"""

import logging
import threading
from collections.abc import Iterator
from typing import Generic, TypeVar

from msgspec.structs import replace

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ApiError, ConnectionFailed, Forbidden, InternalError, Unauthorized
from clientgo.meta.listwatch import BadEvent, Bookmark, ListerWatcher, ListOptions, Watch, WatchEvent
from clientgo.meta.objects import ApiObject

log = logging.getLogger(__name__)

T = TypeVar("T", bound=ApiObject)

RESTART_DELAY = 1.0
"""Seconds from the opening of one watch to that of the next, at least (client-go)."""

GONE_TRIES = 3
"""Attempts to open a watch that may be answered with 410 in a row; of several API servers, another may keep more."""


class RetryWatcher(Generic[T]):
    """The changes of `source` after `resource_version`, across any number of watches. Iterate it once.

    Iterating raises what ends it: `Gone` when the server no longer has what comes next, `Unauthorized` or `Forbidden`
    when a watch may not be opened, `InternalError` for events that make no sense. Everything else is tried again.
    Bookmarks move it on and are not handed out. `close` ends it from any thread.

    Raises:
        ValueError: the version is "" or "0", from where a watch would begin anywhere.
    """

    def __init__(
        self,
        source: ListerWatcher[T],
        resource_version: str,
        *,
        options: ListOptions = ListOptions(),  # noqa: B008  # options are a value
        restart_delay: float = RESTART_DELAY,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        if resource_version in ("", "0"):
            raise ValueError(f'initial RV "{resource_version}" is not supported due to issues with underlying WATCH')
        self.resource_version = resource_version
        self._source = source
        self._options = options
        self._restart_delay = restart_delay
        self._clock = clock
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._watch: Watch[T] | None = None  # guarded by _lock
        self._gone = 0  # how many attempts in a row to open a watch were answered with 410

    def __repr__(self) -> str:
        return f"<RetryWatcher {self._source.kind.__name__} at {self.resource_version}>"

    def __iter__(self) -> Iterator[WatchEvent[T] | BadEvent]:
        while not self._stop.is_set():
            # Not sliding: a watch that lasted longer than the delay is followed by the next one at once.
            next_start = self._clock.now() + self._restart_delay
            watch = self._open()
            pause = 0.0
            if watch is not None:
                try:
                    yield from self._read(watch)
                except ApiError as error:
                    if _is_gone(error) or isinstance(error, _Nonsense):
                        raise
                    log.debug("watch failed; watching again", extra={"version": self.resource_version, "err": error})
                    pause = error.retry_after or 0.0
                except ConnectionFailed as error:
                    log.debug("watch lost; watching again", extra={"version": self.resource_version, "err": error})
                finally:
                    watch.close()
            self._clock.sleep(self._stop, max(next_start - self._clock.now(), pause))

    def close(self) -> None:
        """End it; what was not read yet is dropped. May be called again."""
        self._stop.set()
        with self._lock:
            watch = self._watch
        if watch is not None:
            watch.close()

    def _open(self) -> Watch[T] | None:
        options = replace(self._options, resource_version=self.resource_version, allow_watch_bookmarks=True, watch=True)
        try:
            watch = self._source.watch_from(options)
        except (Unauthorized, Forbidden):
            raise
        except (ApiError, ConnectionFailed) as error:
            self._gone = self._gone + 1 if _is_gone(error) else 0
            if self._gone == GONE_TRIES:
                raise
            log.info("watch can't be opened; trying again", extra={"version": self.resource_version, "err": error})
            return None
        self._gone = 0
        with self._lock:
            self._watch = watch
        if self._stop.is_set():  # close() came while the watch was being opened, and could not see it
            watch.close()
        return watch

    def _read(self, watch: Watch[T]) -> Iterator[WatchEvent[T] | BadEvent]:
        for event in watch:
            if self._stop.is_set():
                return
            version = _version_of(event)
            if not isinstance(event, Bookmark):
                yield event
            # After it was handed out: a reader that fails on it and reads again may see it twice, but never miss it.
            self.resource_version = version


class _Nonsense(InternalError):
    """The watch said something that a server does not say."""


def _is_gone(error: Exception) -> bool:
    return isinstance(error, ApiError) and error.code == 410


def _version_of(event: object) -> str:
    version: str
    match event:
        case WatchEvent(_, obj):
            version = obj.metadata.resource_version
        case BadEvent(_, error):
            version = error.metadata.resource_version
        case Bookmark(version):
            pass
        case _:
            raise _Nonsense(f"the watch handed out {event!r}, which is no event")
    if not version:
        raise _Nonsense(f"the watch handed out an object without a resourceVersion: {event!r}")
    return version
