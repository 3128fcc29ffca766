"""Conversion of CronJob between v2 and v1, the hub."""

from clientgo.meta import from_dict, to_dict
from clientgo.webhook import Hub

from api.v1 import cronjob_types as v1
from api.v2 import cronjob_types as v2

FIELDS = ("minute", "hour", "dayOfMonth", "month", "dayOfWeek")


def to_hub(obj: v2.CronJob) -> v1.CronJob:
    """Convert to v1, the hub: the parts of the schedule become one text."""
    content = to_dict(obj)
    schedule: dict[str, str] = content["spec"].get("schedule") or {}
    content["spec"]["schedule"] = " ".join(schedule.get(field, "*") for field in FIELDS)
    return from_dict(v1.CronJob, content)


def from_hub(hub: v1.CronJob) -> v2.CronJob:
    """Convert from v1, the hub.

    Raises:
        ValueError: the schedule has not five parts, as no validated one.
    """
    content = to_dict(hub)
    values = hub.spec.schedule.split()
    if len(values) != len(FIELDS):
        raise ValueError(f"spec.schedule {hub.spec.schedule!r} has {len(values)} parts, and v2 five")
    content["spec"]["schedule"] = dict(zip(FIELDS, values, strict=True))
    return from_dict(v2.CronJob, content)


def add_to(hub: Hub[v1.CronJob]) -> None:
    """Register this version with the hub."""
    hub.spoke(v2.CronJob, to_hub=to_hub, from_hub=from_hub)
