"""Construction of events: object references, names and timestamps."""

import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from clientgo.clock import Clock
from clientgo.internal.forks import fork_safe
from clientgo.internal.patterns import lazy_pattern
from clientgo.internal.uids import random_uuid
from clientgo.kubernetes.types.core_events import Event, EventSource, ObjectReference
from clientgo.meta.codec import replace
from clientgo.meta.objects import EMPTY_MAP, MicroTime, ObjectMeta
from clientgo.meta.scheme import ApiType, gvk_of

NORMAL = "Normal"
"""Event type for expected activity."""

WARNING = "Warning"
"""Event type for problems that may need attention."""

TYPES = (NORMAL, WARNING)
"""Event types accepted by the API server."""

DEFAULT_NAMESPACE = "default"
"""Namespace of events about cluster-scoped objects."""

NANOSECONDS = 1_000_000_000

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = lazy_pattern(rf"{_LABEL}(\.{_LABEL})*\Z")
_MAX_NAME = 253

MAX_NOTE = 1024
MAX_WORD = 128
"""Maximum bytes of a note, and of a reason, an action and a reporting instance: the server rejects longer ones in
events with an event time (`NoteLengthLimit` and others of its validation). It limits no others."""

_CUT = "..."


class UniqueTimestamps:
    """Strictly increasing timestamps; thread-safe. An event's name contains one, so two must never be equal."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = fork_safe(threading.Lock())
        self._last = 0

    def next(self) -> int:
        """Return nanoseconds since the epoch, later than every earlier result."""
        with self._lock:
            self._last = max(self._last + 1, nanoseconds(self._clock.time()))
            return self._last


class Occurrence:
    """A recorder call, which a consumer's thread turns into an `Event`: building one would slow the caller down."""

    __slots__ = ("_build", "_event")

    def __init__(self, build: Callable[[], Event]) -> None:
        self._build: Callable[[], Event] | None = build
        self._event: Event | None = None

    def event(self) -> Event:
        """Return the event, building it on the first call; raise `TypeError` if its object has no kind."""
        # Two threads may both build one; the results are equal. Afterwards the object is not kept alive any more.
        if (build := self._build) is not None:
            self._event = build()
            self._build = None
        assert self._event is not None
        return self._event


def make_event(
    obj: object,
    *,
    event_type: str,
    reason: str,
    message: str,
    at: int,
    source: EventSource,
    annotations: Mapping[str, str] = EMPTY_MAP,
    action: str = "",
    instance: str = "",
    related: object | None = None,
) -> Event:
    """Return a new event about `obj` that happened `at` nanoseconds since the epoch.

    An `action` makes it one as of events.k8s.io/v1: reported by `instance`, with an event time in place of count,
    timestamps and source, and with texts shortened to the limits that the server has for these.
    """
    involved = reference_to(obj)
    event = Event(
        metadata=ObjectMeta(
            name=event_name(involved.name or "", at),
            namespace=involved.namespace or DEFAULT_NAMESPACE,
            annotations=annotations,
        ),
        involved_object=involved, related=reference_to(related) if related is not None else None,
        type=event_type, reason=reason, message=message,
        reporting_component=source.component or "", reporting_instance=source.host or "",
    )  # fmt: skip
    if not action:
        when = moment(at)
        return replace(event, source=source, count=1, first_timestamp=when, last_timestamp=when)
    return replace(
        event, action=shortened(action), reason=shortened(reason), message=shortened(message, MAX_NOTE),
        reporting_instance=instance, event_time=micro_time(at),
    )  # fmt: skip


def event_name(involved: str, at: int) -> str:
    """Return `<object name>.<time in hex>`, or a random UUID if that is not a valid name (`system:node`)."""
    name = f"{involved}.{at:x}"
    return name if len(name) <= _MAX_NAME and _SUBDOMAIN.match(name) else random_uuid()


def shortened(text: str, limit: int = MAX_WORD) -> str:
    """Return the text, or its beginning with `...` if it is longer than `limit` bytes in UTF-8."""
    data = text.encode(errors="replace")
    return text if len(data) <= limit else data[: limit - len(_CUT)].decode(errors="ignore") + _CUT


def moment(at: int) -> datetime:
    """Convert nanoseconds since the epoch to whole seconds, the precision of metav1.Time."""
    return datetime.fromtimestamp(at // NANOSECONDS, UTC)


def micro_time(at: int) -> MicroTime:
    """Convert nanoseconds since the epoch to metav1.MicroTime."""
    return MicroTime.of(datetime.fromtimestamp(0, UTC) + timedelta(microseconds=at // 1000))


def nanoseconds(seconds: float) -> int:
    """Convert seconds since the epoch to whole nanoseconds."""
    return int(seconds * NANOSECONDS)


def reference_to(obj: object, *, field_path: str | None = None) -> ObjectReference:
    """Return the reference to `obj`; an `ObjectReference` is returned unchanged.

    `obj` may be of a class marked with `@api_type`, a dict with apiVersion and kind, or an object of the official
    client's models. `field_path` names a part of the object, such as `spec.containers[2]`.

    Raises:
        TypeError: `obj` has no kind.
    """
    if isinstance(obj, ObjectReference):
        return obj
    kind, api_version = _kind_of(obj)
    meta = getattr(obj, "metadata", None)
    if type(meta) is not ObjectMeta and isinstance(obj, Mapping):
        meta = obj.get("metadata") or {}
    return ObjectReference(
        kind=kind,
        api_version=api_version,
        namespace=_field(meta, "namespace"),
        name=_field(meta, "name"),
        uid=_field(meta, "uid"),
        resource_version=_field(meta, "resource_version", "resourceVersion"),
        field_path=field_path,
    )


def _kind_of(obj: object) -> tuple[str, str]:
    if isinstance(vars(type(obj)).get("__api_type__"), ApiType):
        gvk = gvk_of(obj)
        return gvk.kind, gvk.api_version
    if isinstance(obj, Mapping):
        kind, api_version = obj.get("kind"), obj.get("apiVersion")
    else:
        kind, api_version = getattr(obj, "kind", None), getattr(obj, "api_version", None)
    if not kind or not api_version:
        raise TypeError(f"cannot refer to {type(obj).__qualname__}: it has no kind; mark the class with @api_type")
    return str(kind), str(api_version)


def _field(meta: Any, attribute: str, key: str = "") -> str | None:
    # Empty values read as absent, so that equal references compare equal for every kind of input.
    if type(meta) is ObjectMeta:  # the common case; an isinstance check against Mapping takes far longer
        return getattr(meta, attribute) or None
    value = meta.get(key or attribute) if isinstance(meta, Mapping) else getattr(meta, attribute, None)
    return str(value) if value else None
