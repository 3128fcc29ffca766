"""Conditions of Jobs."""

from typing import NamedTuple

from clientgo_apiserver.api.conditions import conditions_of, other_conditions
from clientgo_apiserver.api.resources import Object

SUSPENDED = ("JobSuspended", "Job suspended")
RESUMED = ("JobResumed", "Job resumed")
SUCCESS = ("CompletionsReached", "Reached expected number of succeeded pods")
FAILURE = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")


class JobEnd(NamedTuple):
    """Condition that ends a Job: Complete or Failed, its reason and message."""

    kind: str
    reason: str
    message: str


def end_of(job: Object) -> Object | None:
    """Return the condition with which a Job has ended, Complete or Failed, or None."""
    for condition in conditions_of(job):
        if condition.get("type") in ("Complete", "Failed") and condition.get("status") == "True":
            return condition
    return None


def suspension(job: Object, status: str, reason: tuple[str, str], now: str) -> list[Object]:
    """Return the conditions of a Job that was suspended or resumed; `reason` has the message too."""
    return [*other_conditions(job, "Suspended"), job_condition("Suspended", status, reason, now)]


def job_condition(kind: str, status: str, reason: tuple[str, str], now: str) -> Object:
    """Return a condition of a Job; `reason` has the message too."""
    times = {"lastProbeTime": now, "lastTransitionTime": now}
    return {"type": kind, "status": status, **times, "reason": reason[0], "message": reason[1]}
