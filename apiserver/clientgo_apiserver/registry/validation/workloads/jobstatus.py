"""Rules of the status of jobs."""

from collections.abc import Iterator
from typing import Any

from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import Cause, duplicate, invalid_value, omitted_value, required
from clientgo_apiserver.gotypes.gostructs import go_struct
from clientgo_apiserver.registry.jobindexes import IndexSet
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule
from clientgo_apiserver.registry.validation.workloads.jobs import indexes_of

_TERMINAL = ("Failed", "Complete", "FailureTarget")


def _true(status: Object) -> set[str]:
    return {
        condition.get("type") or "" for condition in status.get("conditions") or () if condition.get("status") == "True"
    }


@rule()
def job_status(job: Object, scope: FieldScope) -> Iterator[Cause]:
    """Check an update of a job's status; what was wrong before stays allowed if it is not changed."""
    status, old = job.get("status") or {}, (scope.old or {}).get("status") or {}
    spec = job.get("spec") or {}
    yield from _uncounted_errors(status.get("uncountedTerminatedPods") or {})
    yield from _condition_errors(status, old, spec)
    yield from _index_errors(status, old, spec)
    yield from _change_errors(status, old, spec)


def _uncounted_errors(pods: Object) -> Iterator[Cause]:
    for field in ("succeeded", "failed"):
        seen: set[str] = set()
        for index, uid in enumerate(pods.get(field) or ()):
            field_path = f"status.uncountedTerminatedPods.{field}[{index}]"
            if not uid:
                yield invalid_value(field_path, uid, "must not be empty")
            elif uid in seen:
                yield duplicate(field_path, uid)
            seen.add(uid)


def _conditions(detail: str) -> Cause:
    return omitted_value("status.conditions", detail)


def _condition_errors(status: Object, old: Object, spec: Object) -> Iterator[Cause]:
    """Return the errors of conditions that contradict each other or the times and counters."""
    now, before = _true(status), _true(old)
    complete, failed, met = "Complete" in now, "Failed" in now, "SuccessCriteriaMet" in now
    finished = complete or failed
    changed = {name: (name in now) != (name in before) for name in (*_TERMINAL, "SuccessCriteriaMet")}
    ends = finished != bool(before & {"Complete", "Failed"})
    started, completed = status.get("startTime"), status.get("completionTime")
    uncounted = status.get("uncountedTerminatedPods") or {}
    empty = spec.get("suspend") is True and spec.get("completions") == 0
    checks: tuple[tuple[Any, Cause], ...] = (
        (complete and failed, _conditions("cannot set Complete=True and Failed=true conditions")),
        (complete and "FailureTarget" in now,
         _conditions("cannot set Complete=True and FailureTarget=true conditions")),
        (completed and not complete,
         invalid_value("status.completionTime", completed,
                       "cannot set completionTime when there is no Complete=True condition")),
        (complete and not completed,
         required("status.completionTime", "completionTime is required for Complete jobs")),
        (started and completed and completed < started,
         invalid_value("status.completionTime", completed, "must be equal to or after `startTime`")),
        (changed["Failed"] and failed and "FailureTarget" not in now,
         _conditions("cannot set Failed=True condition without the FailureTarget=true condition")),
        ((changed["Complete"] or changed["SuccessCriteriaMet"]) and complete and not met,
         _conditions("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")),
        (finished and (ends or status.get("active") != old.get("active")) and (status.get("active") or 0) > 0,
         invalid_value("status.active", status.get("active"), "active>0 is invalid for finished job")),
        (finished and (ends or started != old.get("startTime")) and not started and not empty,
         required("status.startTime", "startTime is required for finished job")),
        (finished and (uncounted.get("failed") or uncounted.get("succeeded")),
         invalid_value("status.uncountedTerminatedPods",
                       go_struct("UncountedTerminatedPods", uncounted),
                       "must be empty for finished job")),
        (finished and (status.get("terminating") or 0) > 0,
         invalid_value("status.terminating", status.get("terminating"), "terminating>0 is invalid for finished job")),
        (status.get("ready") is not None and status["ready"] > (status.get("active") or 0),
         invalid_value("status.ready", status.get("ready"), "cannot set more ready pods than active")),
        (met and failed, _conditions("cannot set SuccessCriteriaMet=True and Failed=true conditions")),
        (met and "FailureTarget" in now,
         _conditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")),
        (spec.get("successPolicy") is not None and not met and complete,
         _conditions("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")),
    )  # fmt: skip
    yield from (cause for fails, cause in checks if fails)


def _index_errors(status: Object, old: Object, spec: Object) -> Iterator[Cause]:
    """Return the errors of completedIndexes and failedIndexes."""
    completions = spec.get("completions")
    indexes: dict[str, IndexSet] = {}
    for field in ("completedIndexes", "failedIndexes"):
        text = status.get(field)
        needed = spec.get("backoffLimitPerIndex") if field == "failedIndexes" else completions
        if not text or completions is None or needed is None:
            continue
        try:
            indexes[field] = indexes_of(text, completions)
        except ValueError as error:
            if text != old.get(field):
                yield invalid_value(f"status.{field}", text, f"error parsing {field}: {error}")
    completed, failed = status.get("completedIndexes"), status.get("failedIndexes")
    if completed and completed != old.get("completedIndexes") and spec.get("completionMode") != "Indexed":
        reason = "cannot set non-empty completedIndexes when non-indexed completion mode"
        yield invalid_value("status.completedIndexes", completed, reason)
    if failed is not None and failed != old.get("failedIndexes") and spec.get("backoffLimitPerIndex") is None:
        reason = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        yield invalid_value("status.failedIndexes", failed, reason)
    both = indexes.get("completedIndexes", IndexSet()) & indexes.get("failedIndexes", IndexSet())
    if both and (completed, failed) != (old.get("completedIndexes"), old.get("failedIndexes")):
        reason = f"failedIndexes and completedIndexes overlap at index: {both.first}"
        yield invalid_value("status.failedIndexes", failed, reason)


def _change_errors(status: Object, old: Object, spec: Object) -> Iterator[Cause]:
    """Return the errors of changes that take back what happened."""
    now, before = _true(status), _true(old)
    for name in _TERMINAL:
        if name in before and name not in now:
            yield _conditions(f"cannot disable the terminal {name}=True condition")
    indexed = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    for field, fixed in (("failed", True), ("succeeded", not indexed)):
        if fixed and (status.get(field) or 0) < (old.get(field) or 0):
            yield invalid_value(f"status.{field}", status.get(field) or 0, f"cannot decrease the {field} counter")
    completed, started = status.get("completionTime"), status.get("startTime")
    if completed and old.get("completionTime") and completed != old["completionTime"]:
        yield invalid_value("status.completionTime", completed, "field is immutable")
    if old.get("startTime") and started != old["startTime"] and not spec.get("suspend") and "Suspended" not in before:
        yield invalid_value("status.startTime", started, "field is immutable for unsuspended job once set")
    if "SuccessCriteriaMet" in before - now:
        yield _conditions("cannot disable the SuccessCriteriaMet=True condition")
    if "Complete" in before and "SuccessCriteriaMet" in now - before:
        yield _conditions("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")
