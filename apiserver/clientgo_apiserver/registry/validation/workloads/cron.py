"""Rules of cron schedules and time zones."""

from collections.abc import Iterator
from functools import lru_cache

from clientgo.internal.cron import DESCRIPTORS, FIELDS, part_values
from clientgo.internal.patterns import lazy_pattern
from clientgo_apiserver.api.formats import is_go_duration
from clientgo_apiserver.api.status import Cause, invalid_value
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule

_ZONE_PART = lazy_pattern(r"[A-Za-z.\-_0-9+]{1,14}")


@rule()
def cron_schedule(value: str, scope: FieldScope) -> Iterator[Cause]:
    """Reject an invalid schedule, and one with a time zone."""
    if not value:
        return
    reason = schedule_error(value)
    if reason:
        yield invalid_value("", value, reason)
    if "TZ" not in value:
        return
    before = (scope.old or {}).get("schedule") or ""
    if "TZ" not in before:
        yield invalid_value("", value, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
    elif scope.value.get("timeZone") is not None:
        yield invalid_value("", value, "cannot use both timeZone field and TZ or CRON_TZ in schedule")


def schedule_error(text: str) -> str:
    """Return the error of a cron schedule, or ""."""
    if text.startswith(("TZ=", "CRON_TZ=")):
        zone, space, text = text.partition(" ")
        zone = zone.partition("=")[2]
        if not space:
            return "invalid schedule format: runtime error: slice bounds out of range [:-1]"
        if zone and not _known_zone(zone):
            return f"provided bad location {zone}: unknown time zone {zone}"
        text = text.strip()
    if text.startswith("@"):
        return _descriptor_error(text)
    fields = text.split()
    if len(fields) != len(FIELDS):
        return f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
    try:
        for field, bounds in zip(fields, FIELDS, strict=True):
            for part in filter(None, field.split(",")):
                part_values(part, bounds)
    except ValueError as error:
        return str(error)
    return ""


def _descriptor_error(text: str) -> str:
    every = text.removeprefix("@every ")
    if text in DESCRIPTORS or (every != text and is_go_duration(every)):
        return ""
    if every != text:
        return f'failed to parse duration {text}: time: invalid duration "{every}"'
    return f"unrecognized descriptor: {text}"


@rule()
def time_zone(value: str, scope: FieldScope) -> Iterator[Cause]:
    """Reject an unknown time zone, unless it was there before."""
    if scope.old is not None and scope.old.get("timeZone") == value:
        return
    if not value:
        yield invalid_value("", value, "timeZone must be nil or non-empty string")
        return
    for part in value.split("/"):
        if part in (".", "..") or part.startswith("-") or not _ZONE_PART.fullmatch(part):
            yield invalid_value("", value, f"unknown time zone {value}")
            return
    if value.lower() == "local":
        reason = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield invalid_value("", value, reason)
    if value == "local" or not _known_zone(value):
        yield invalid_value("", value, f"unknown time zone {value}")


@lru_cache(maxsize=256)
def _known_zone(name: str) -> bool:
    """Return whether the time zone exists; any does on a machine without a database of time zones."""
    import zoneinfo  # noqa: PLC0415  # takes milliseconds, and few jobs have a time zone

    try:
        zoneinfo.ZoneInfo(name)  # also `posix/UTC`, which is not an available time zone
    except (OSError, ValueError, zoneinfo.ZoneInfoNotFoundError):
        return name == "Local" or not zoneinfo.available_timezones()
    return True
