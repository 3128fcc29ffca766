"""Rules of jobs, cron jobs and autoscalers that relate several fields."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from clientgo_apiserver.api.conditions import is_true
from clientgo_apiserver.api.names import label_errors
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import Cause, duplicate, forbidden_field, invalid_value, required, too_long, too_many
from clientgo_apiserver.gotypes.gostructs import go_struct
from clientgo_apiserver.registry.jobindexes import IndexSet
from clientgo_apiserver.registry.validation.generic import IMMUTABLE
from clientgo_apiserver.registry.validation.pods.resources import amount, name_errors
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule
from clientgo_apiserver.registry.validation.workloads.controllers import is_convertible
from clientgo_apiserver.releases.release import current
from clientgo_apiserver.storage.selection import selects

_SOURCES = {
    "Object": "object", "External": "external", "Pods": "pods", "Resource": "resource",
    "ContainerResource": "containerResource",
}  # fmt: skip
_CHECKED_SOURCES = ("object", "external", "pods", "resource", "containerResource")
"""Sources in the order in which they are checked."""
_IMMUTABLE = ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
_SCHEDULING = ("nodeSelector", "tolerations", "schedulingGates")
_PREFIX = "batch.kubernetes.io/"


@rule()
def generated_selector(job: Object, scope: FieldScope) -> Iterator[Cause]:
    """Check the labels and the selector of a job that the server generated."""
    spec, meta = job.get("spec") or {}, job["metadata"]
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    uid, name = meta.get("uid") or "", meta.get("name") or ""
    expected = {"controller-uid": uid, "job-name": name}
    before = (((scope.old or {}).get("spec") or {}).get("template") or {}).get("metadata") or {}
    prefixed = {f"{_PREFIX}{key}": value for key, value in expected.items()}
    if scope.old is None or prefixed.keys() <= (before.get("labels") or {}).keys():
        expected |= prefixed
    for key, value in expected.items():
        field_path = f"spec.template.metadata.labels[{key}]"
        if key not in labels:
            yield required(field_path, f"must be '{value}'")
        elif labels[key] != value:
            yield invalid_value(field_path, dict(sorted(labels.items())), f"must be '{value}'")
    if is_convertible(selector) and not selects(selector, expected):
        yield invalid_value("spec.selector", selector, "`selector` not auto-generated")


@rule()
def job_template_labels(template: Object, scope: FieldScope) -> Iterator[Cause]:
    """Require that the selector matches the labels of the template; no selector matches nothing."""
    selector, labels = scope.value.get("selector"), (template.get("metadata") or {}).get("labels")
    if selector is None or (is_convertible(selector) and not selects(selector, labels or {})):
        yield invalid_value(
            "metadata.labels", labels and dict(sorted(labels.items())), "`selector` does not match template `labels`"
        )


@rule()
def indexed_pod_names(job: Object, _: FieldScope) -> Iterator[Cause]:
    """Require that the names of an indexed job's pods are DNS labels."""
    spec, name = job.get("spec") or {}, job["metadata"].get("name") or ""
    if spec.get("completionMode") == "Indexed" and (spec.get("completions") or 0) > 0:
        longest = f"{name}-{spec['completions'] - 1}"
        if label_errors(longest):
            reason = f"will not able to create pod with invalid DNS label: {longest}"
            yield invalid_value("metadata.name", name, reason)


@rule()
def indexed_limits(spec: Object, _: FieldScope) -> Iterator[Cause]:
    """Check the limits of indexed jobs that depend on each other."""
    completions, failed, parallel = (spec.get(field) for field in ("completions", "maxFailedIndexes", "parallelism"))
    if completions is not None and failed is not None and failed > completions:
        yield invalid_value("maxFailedIndexes", failed, "must be less than or equal to completions")
    if failed is not None and failed > 100_000:
        yield invalid_value("maxFailedIndexes", failed, "must be less than or equal to 100000")
    if completions is None or completions <= 100_000 or spec.get("backoffLimitPerIndex") is None:
        return
    reason = (
        "must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index"
    )
    if failed is None:
        yield required("maxFailedIndexes", "must be specified when completions is above 100000")
    if parallel is not None and parallel > 10_000:
        yield invalid_value("parallelism", parallel, reason)
    if failed is not None and failed > 10_000:
        yield invalid_value("maxFailedIndexes", failed, reason)


@rule()
def known_container(value: str, scope: FieldScope) -> Iterator[Cause]:
    """Require the name of a container of the job."""
    pod = ((scope.enclosing("JobSpec") or {}).get("template") or {}).get("spec") or {}
    if value not in [
        container.get("name") for field in ("containers", "initContainers") for container in pod.get(field) or ()
    ]:
        yield invalid_value("", value, "must be one of the container or initContainer names in the pod template")


@rule()
def exit_codes(value: Any, scope: FieldScope) -> Iterator[Cause]:
    """Check the exit codes of a failure policy."""
    codes = value or []
    if not codes:
        yield invalid_value("", None, "at least one value is required")
    elif len(codes) > 255:
        yield too_many("", len(codes), 255)
    for index, code in enumerate(codes):
        if code == 0 and scope.value.get("operator") == "In":
            yield invalid_value(f"[{index}]", code, "must not be 0 for the In operator")
        if code in codes[:index]:
            yield duplicate(f"[{index}]", code)
    if any(code > other for code, other in pairwise(codes)):
        yield invalid_value("", codes, "must be ordered")


@rule()
def success_rule(rule: Object, scope: FieldScope) -> Iterator[Cause]:
    """Check a rule of a job's success policy."""
    completions = (scope.enclosing("JobSpec") or {}).get("completions") or 0
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    total = 0
    if count is None and indexes is None:
        yield required("", "at least one of succeededCount or succeededIndexes must be specified")
    if indexes is not None:
        if len(indexes) > 64 * 1024:
            yield too_long("succeededIndexes", 64 * 1024)
        try:
            total = indexes_of(indexes, completions).size
        except ValueError as error:
            yield invalid_value("succeededIndexes", indexes, f"error parsing succeededIndexes: {error}")
    if count is None:
        return
    if count < 0:
        yield invalid_value("succeededCount", count, "must be greater than or equal to 0")
    limits = [(completions, "the number of specified completions")]
    if indexes is not None:
        limits.append((total, "the number of indexes in the specified succeededIndexes field"))
    for limit, word in limits:
        if count > limit:
            yield invalid_value("succeededCount", count, f"must be less than or equal to {limit} ({word})")


def indexes_of(text: str, completions: int) -> IndexSet:
    """Parse intervals of indexes such as `1,3-5`.

    Raises:
        ValueError: the text is invalid, in Kubernetes' words.
    """
    ranges: list[range] = []
    for interval in text.split(",") if text else ():
        limits = interval.split("-")
        if len(limits) > 2:
            reason = "violates the requirement that an index interval can have at most two parts separated by '-'"
            raise ValueError(f'the fragment "{interval}" {reason}')
        numbers = []
        for limit in limits:
            if not re.fullmatch(r"[+-]?\d+", limit):
                raise ValueError(f'cannot convert string to integer for index: "{limit}"')
            if int(limit) >= completions:
                raise ValueError(f'too large index: "{limit}"')
            numbers.append(int(limit))
        for previous, following in ((numbers[0], numbers[-1]),) if len(numbers) > 1 else ():
            if previous >= following:
                raise ValueError(f"non-increasing order, previous: {previous}, current: {following}")
        if ranges and ranges[-1][-1] >= numbers[0]:
            raise ValueError(f"non-increasing order, previous: {ranges[-1][-1]}, current: {numbers[0]}")
        ranges.append(range(numbers[0], numbers[-1] + 1))
    return IndexSet(ranges)


@rule()
def job_update(job: Object, scope: FieldScope) -> Iterator[Cause]:
    """Reject changes of immutable fields of a job."""
    if scope.old is None:
        return
    spec, old = job.get("spec") or {}, scope.old.get("spec") or {}
    before, after = old.get("completions"), spec.get("completions")
    if spec.get("completionMode") != "Indexed":
        if before != after:
            yield invalid_value("spec.completions", after, IMMUTABLE)
    elif after is not None and before != after and after != spec.get("parallelism"):
        yield invalid_value("spec.completions", after, "can only be modified in tandem with spec.parallelism")
    if spec.get("selector") != old.get("selector"):
        yield invalid_value("spec.selector", spec.get("selector"), IMMUTABLE)
    yield from _template_errors(spec.get("template") or {}, scope.old)
    for field in _IMMUTABLE:
        if spec.get(field) != old.get(field):
            struct = go_struct(field[0].upper() + field[1:], spec.get(field))
            yield invalid_value(f"spec.{field}", struct, IMMUTABLE)


def _template_errors(template: Object, old: Object) -> Iterator[Cause]:
    """Reject changes of a job's template, except of where and with which resources a suspended job runs."""
    before, status = old["spec"].get("template") or {}, old.get("status") or {}
    if not current().enabled("MutableSchedulingDirectivesForSuspendedJobs"):
        # Once a job has started, its template is fixed.
        status = {**status, "conditions": ()}
    suspended = is_true({"status": status}, "Suspended")
    if not old["spec"].get("suspend") or (status.get("startTime") and not suspended) or status.get("active"):
        if template != before:
            yield invalid_value("spec.template", go_struct("PodTemplateSpec", template), IMMUTABLE)
    elif _fixed(template.get("spec") or {}) != _fixed(before.get("spec") or {}):
        yield invalid_value("spec.template.spec", go_struct("PodSpec", template.get("spec") or {}), IMMUTABLE)


def _fixed(pod: Object) -> Object:
    """Return the parts of a suspended job's pods that an update may not change."""
    affinity = {key: member for key, member in (pod.get("affinity") or {}).items() if key != "nodeAffinity"}
    fixed = {field: value for field, value in pod.items() if field not in _SCHEDULING}
    for field in ("containers", "initContainers") if current().enabled("MutablePodResourcesForSuspendedJobs") else ():
        fixed[field] = [{**container, "resources": {}} for container in pod.get(field) or ()]
    return {**fixed, "affinity": affinity}


@rule()
def least_replicas(value: int, scope: FieldScope) -> Iterator[Cause]:
    """Require a replica, or none if the feature HPAScaleToZero is enabled or in use."""
    in_use = ((scope.root.old or {}).get("spec") or {}).get("minReplicas") == 0
    limit = 0 if in_use or current().enabled("HPAScaleToZero") else 1
    if value < limit:
        yield invalid_value("", value, f"must be greater than or equal to {limit}")


@rule()
def not_below_min(value: Any, scope: FieldScope) -> Iterator[Cause]:
    """Reject maxReplicas below minReplicas."""
    if (value or 0) < (scope.value.get("minReplicas") or 0):
        yield invalid_value("", value or 0, "must be greater than or equal to `minReplicas`")


@rule()
def object_metric(_: int, scope: FieldScope) -> Iterator[Cause]:
    """Require a metric that exists without pods, for scaling to zero."""
    if not any(metric.get("type") in ("Object", "External") for metric in scope.value.get("metrics") or ()):
        reason = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden_field("", reason)


@rule()
def group_version(value: Any, scope: FieldScope) -> Iterator[Cause]:
    """Check the apiVersion of the target of an autoscaler."""
    text, target = value or "", scope.value.get("scaleTargetRef") or {}
    before = ((scope.old or {}).get("scaleTargetRef")) or {}
    if before and all((before.get(field) or "") == (target.get(field) or "") for field in ("apiVersion", "kind")):
        return
    if text.count("/") > 1:
        yield invalid_value("", text, f"unexpected GroupVersion string: {text}")
    elif not text.rpartition("/")[0] and target.get("kind") != "ReplicationController":
        yield invalid_value("", text, "apiVersion must specify API group")


@rule()
def not_negative_quantity(value: Any, _: FieldScope) -> Iterator[Cause]:
    """Reject a negative quantity."""
    parsed = amount(value)
    if parsed is not None and parsed.value < 0:
        yield invalid_value("", str(parsed), "must be greater than or equal to 0")


@rule()
def container_resource_name(value: str, _: FieldScope) -> Iterator[Cause]:
    """Check the name of a resource of a container."""
    return name_errors(value, "container") if value else iter(())


@rule()
def generated_later(selector: Object, _: FieldScope) -> Iterator[Cause]:
    """Reject the selector of a job's template."""
    yield invalid_value("", go_struct("LabelSelector", selector), "`selector` will be auto-generated")


@rule()
def metric_source(metric: Object, scope: FieldScope) -> Iterator[Cause]:
    """Require exactly the source that a metric's type names, and check the first."""
    first = next((field for field in _CHECKED_SOURCES if metric.get(field) is not None), "")
    if first:
        yield from scope.errors_of("MetricSource", {first: metric[first]})
    expected = _SOURCES.get(metric.get("type") or "")
    if expected and metric.get(expected) is None:
        yield required(expected, "must populate information for the given metric source")
    sources = [field for field in _SOURCES.values() if metric.get(field) is not None]
    if len(sources) != 1:
        for field in sources:
            if field != expected:
                yield forbidden_field(field, "must populate the given metric source only")
