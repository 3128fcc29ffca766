"""Times of a cron schedule, as Kubernetes' CronJobs read it: five fields, or a descriptor such as `@daily`."""

from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo

from clientgo.internal import cron
from clientgo.internal.gotext import duration_seconds


def times_after(schedule: str, zone: str, after: float) -> Iterator[float]:
    """Yield the times of a valid schedule after `after`, in seconds since the epoch; `zone` is empty for UTC."""
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        name, _, schedule = schedule.partition(" ")
        zone = name.partition("=")[2]
    if schedule.startswith("@every "):
        # Rounded to nanoseconds, of which Go's durations are numbers.
        seconds = max(1, int(round(duration_seconds(schedule.removeprefix("@every ")), 9)))
        time = float(int(after))
        while True:
            time += seconds
            yield time
    yield from cron.times_after(schedule, _zone_of(zone), after)


def latest_time(schedule: str, zone: str, after: float, now: float) -> tuple[float | None, int]:
    """Return the last time of a schedule after `after` until `now`, and about how many have passed.

    As upstream's controller does, the number is estimated from the first two times, and only times from about the last
    but one are looked at: a schedule with long pauses may have none of them.
    """
    times = times_after(schedule, zone, after)
    first, second = next(times, None), next(times, None)
    if first is None or now < first:
        return None, 0
    if second is None or now < second:
        return first, 1
    interval = int(second - first)
    missed = int(now - first) // interval + 1
    latest = None
    for time in times_after(schedule, zone, first + (missed - 2) * interval):
        if time > now:
            break
        latest = time
    return latest, missed


def local_time(time: float, zone: str) -> str:
    """Format seconds since the epoch as RFC 3339 in a time zone; `zone` is empty for UTC."""
    local = datetime.fromtimestamp(int(time), _zone_of(zone))
    return local.isoformat().replace("+00:00", "Z")


def _zone_of(name: str) -> tzinfo:
    if not name:
        return UTC
    import zoneinfo  # noqa: PLC0415  # takes milliseconds, and few jobs have a time zone

    return zoneinfo.ZoneInfo(name)
