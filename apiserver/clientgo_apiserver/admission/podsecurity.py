"""Pod Security admission: limits on pods, set by labels of their namespace.

`pod-security.kubernetes.io/enforce` rejects pods, `warn` and `audit` report them. Workloads (Deployments and others)
are never rejected: their pods are, later.
"""

from functools import lru_cache
from typing import Any

import msgspec

from clientgo.internal.patterns import lazy_pattern
from clientgo_apiserver.admission.podsecuritychecks import CheckResult, described, violations
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import Cause, forbidden, invalid, invalid_value
from clientgo_apiserver.registry.write import Write
from clientgo_apiserver.releases.release import current
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.keys import NAMESPACES, PODS

_PREFIX = "pod-security.kubernetes.io/"
_LEVELS = ("privileged", "baseline", "restricted")
_VERSION = lazy_pattern(r"v1\.(0|[1-9][0-9]*)")
_MAX_CHECKED = 3000  # pods checked when a namespace becomes stricter


class _Level(msgspec.Struct, frozen=True):
    """A level and the release that defines it."""

    name: str = "privileged"
    version: str = "latest"

    def __str__(self) -> str:
        return f"{self.name}:{self.version}"

    def broken(self, meta: Object, spec: Object) -> list[CheckResult]:
        """Return the violations of a pod."""
        newest = current().minor
        minor = newest if self.version == "latest" else min(newest, int(self.version.removeprefix("v1.")))
        return violations(self.name, minor, meta, spec)

    def broken_by(self, meta: Object, spec: Object) -> str:
        """Return the violations of a pod in one line, or ""."""
        return described(self.broken(meta, spec))


class _Policy(msgspec.Struct, frozen=True):
    """Levels of a namespace, and the errors of its labels."""

    enforce: _Level
    audit: _Level
    warn: _Level
    faults: tuple[Cause, ...] = ()


def check_pod(state: State, write: Write, new: Object, old: Object | None) -> None:
    """Check a pod against the level its namespace enforces (403)."""
    if old is not None and _images(new) == _images(old):
        return  # no other relevant field of a pod can change
    policy = _policy_of(state, write.namespace)
    meta, spec = new["metadata"], new.get("spec") or {}
    wrong = policy.enforce.broken_by(meta, spec)
    _report(write, policy, meta, spec, warn=not wrong)
    if wrong:
        raise forbidden(write.resource, meta["name"], f'violates PodSecurity "{policy.enforce}": {wrong}')


def check_workload(state: State, write: Write, new: Object, _: Object | None) -> None:
    """Warn of workloads whose pods would violate a level of their namespace."""
    spec = new.get("spec") or {}
    if new.get("kind") == "CronJob":
        spec = (spec.get("jobTemplate") or {}).get("spec") or {}
    template = (new if new.get("kind") == "PodTemplate" else spec).get("template")
    if template:
        _report(write, _policy_of(state, write.namespace), template.get("metadata") or {}, template.get("spec") or {})


def check_namespace(state: State, write: Write, new: Object, old: Object | None) -> None:
    """Check the labels of a namespace, and warn of pods that violate a new level (422)."""
    before, policy = _policy(old or {}), _policy(new)
    if policy.faults and (old is None or policy.faults != before.faults):
        raise invalid("Namespace", "", new["metadata"]["name"], policy.faults)
    if old is None or policy.enforce == before.enforce or policy.enforce.name == "privileged":
        return
    eased = _LEVELS.index(policy.enforce.name) <= _LEVELS.index(before.enforce.name)
    if policy.enforce.version != before.enforce.version or not eased:
        write.request.warnings.extend(_pod_warnings(state, new["metadata"]["name"], policy.enforce))


def _pod_warnings(state: State, namespace: str, level: _Level) -> list[str]:
    pods_by_reasons: dict[str, list[str]] = {}
    for pod in state.store.list(PODS, namespace)[:_MAX_CHECKED]:
        broken = [reason for reason, _ in level.broken(pod["metadata"], pod.get("spec") or {})]
        if broken:
            pods_by_reasons.setdefault(", ".join(broken), []).append(pod["metadata"]["name"])
    if not pods_by_reasons:
        return []
    head = f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level "{level}"'
    lines = []
    for reasons, names in pods_by_reasons.items():
        more = f" (and {len(names) - 1} other pod{'' if len(names) == 2 else 's'})" if len(names) > 1 else ""
        lines.append(f"{min(names)}{more}: {reasons}")
    return [head, *sorted(lines)]


def _report(write: Write, policy: _Policy, meta: Object, spec: Object, *, warn: bool = True) -> None:
    if policy.audit.name == policy.warn.name == _LEVELS[0]:
        return  # nothing breaks it
    wrong = policy.audit.broken_by(meta, spec)
    if wrong:
        violation = f'would violate PodSecurity "{policy.audit}": {wrong}'
        write.request.annotations[f"{_PREFIX}audit-violations"] = violation
    wrong = policy.warn.broken_by(meta, spec) if warn else ""
    if wrong:
        write.request.warnings.append(f'would violate PodSecurity "{policy.warn}": {wrong}')


def _policy_of(state: State, namespace: str) -> _Policy:
    return _policy(state.store.get(NAMESPACES, "", namespace) or {})


def _policy(namespace: Object) -> _Policy:
    labels: dict[str, str] = (namespace.get("metadata") or {}).get("labels") or {}
    return _policy_by(tuple(label for label in labels.items() if label[0].startswith(_PREFIX)))


@lru_cache(maxsize=64)
def _policy_by(items: tuple[tuple[str, str], ...]) -> _Policy:
    labels = dict(items)
    faults: list[Cause] = []
    enforce = _level(labels, "enforce", "restricted", faults)
    valid = labels.get(f"{_PREFIX}enforce") in _LEVELS
    audit = _level(labels, "audit", "privileged", faults)
    warn = _level(labels, "warn", "privileged", faults)
    # An enforced level is also warned of, unless the namespace sets another.
    if valid and f"{_PREFIX}warn" not in labels and enforce.name != "privileged":
        warn = _Level(enforce.name, warn.version if f"{_PREFIX}warn-version" in labels else enforce.version)
    return _Policy(enforce, audit, warn, tuple(faults))


def _level(labels: dict[str, str], mode: str, otherwise: str, faults: list[Cause]) -> _Level:
    """Return the level of a mode, `otherwise` if its label is invalid; errors are appended."""
    name, version = labels.get(_PREFIX + mode, "privileged"), labels.get(f"{_PREFIX}{mode}-version", "latest")
    if name not in _LEVELS:
        reason = f"must be one of {', '.join(_LEVELS)}"
        faults.append(invalid_value(f"metadata.labels[{_PREFIX}{mode}]", name, reason))
        name = otherwise
    if version != "latest" and not _VERSION.fullmatch(version):
        reason = 'must be "latest" or "v1.x"'
        faults.append(invalid_value(f"metadata.labels[{_PREFIX}{mode}-version]", version, reason))
        version = "latest"
    return _Level(name, version)


def _images(pod: Object) -> list[tuple[Any, Any]]:
    spec = pod.get("spec") or {}
    fields = ("containers", "initContainers", "ephemeralContainers")
    return [(field, container.get("image")) for field in fields for container in spec.get(field) or ()]
