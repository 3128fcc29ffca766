"""Whether a streamed list says what a plain one says: a check for test runs, on only where the environment asks for it.

A streamed list comes from the server's watch cache, a list of exactly that version from its storage. Where they differ,
one of the two is wrong and every cache may be; so the program ends, loudly. client-go has this under the same variable.
"""

import logging
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from clientgo.clock import Clock
from clientgo.errors import ClientGoError
from clientgo.meta.codec import ObjectList, Undecodable
from clientgo.meta.listwatch import ListOptions
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import ApiObject

log = logging.getLogger(__name__)

T = TypeVar("T", bound=ApiObject)

VARIABLE = "KUBE_WATCHLIST_INCONSISTENCY_DETECTOR"
"""The environment variable that turns the check on."""

_TRUE = ("1", "t", "T", "true", "TRUE", "True")  # what Go's strconv.ParseBool takes for true

RETRY_SECONDS = 1.0
"""Seconds between tries of a list that fails (client-go)."""


class ListsDiffer(AssertionError):
    """The server streamed other objects than it lists at the same version."""


def check_wanted(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the environment asks for the check."""
    return environ.get(VARIABLE, "") in _TRUE


def check_streamed_list(
    name: str,
    version: str,
    streamed: Iterable[T],
    fetch: Callable[[ListOptions], ObjectList[T]],
    *,
    stop: threading.Event,
    clock: Clock,
) -> None:
    """Compare what was streamed with a list of exactly that version; a list that fails is tried again until `stop`.

    Raises:
        ListsDiffer: they are not the same.
    """
    log.warning("each streamed list is checked by a plain one, which costs a request", extra={"reflector": name})
    options = ListOptions(resource_version=version, resource_version_match="Exact")
    while not stop.is_set():
        try:
            listed = fetch(options)
        except (ClientGoError, Undecodable) as error:
            log.error("a streamed list can't be checked; will try again", extra={"reflector": name, "err": error})
            clock.sleep(stop, RETRY_SECONDS)
            continue
        if found := differences(streamed, listed.items):
            raise ListsDiffer(f"{name} at resourceVersion {version}: {found}")
        return


def differences(streamed: Iterable[T], listed: Iterable[T]) -> str:
    """In what two sets of objects differ, in words; empty if they don't. Their order is of no account."""
    ours, theirs = _by_name(streamed), _by_name(listed)
    words = {
        "streamed but not listed": ours.keys() - theirs.keys(),
        "listed but not streamed": theirs.keys() - ours.keys(),
        "different": {key for key in ours.keys() & theirs.keys() if ours[key] != theirs[key]},
    }
    return "; ".join(f"{what}: {', '.join(sorted(map(str, keys)))}" for what, keys in words.items() if keys)


def _by_name(objects: Iterable[T]) -> dict[ObjectName, T]:
    return {object_name(obj): obj for obj in objects}
