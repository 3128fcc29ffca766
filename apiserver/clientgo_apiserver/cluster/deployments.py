"""Deployments: rollouts by ReplicaSets, with Kubernetes' arithmetic, revisions and conditions.

A template has one ReplicaSet; a rolling update moves replicas from the earlier ones to the current one, within
`maxSurge` and `maxUnavailable`. While a rollout runs, a change of `spec.replicas` is distributed in proportion.
"""

from collections.abc import Mapping
from typing import NamedTuple

from clientgo_apiserver.api.conditions import condition_of, conditions_of, other_conditions
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.cluster.base import annotation, is_deleting
from clientgo_apiserver.cluster.internal import InReview
from clientgo_apiserver.cluster.owned import controller_of
from clientgo_apiserver.cluster.podcontrol import FINISHED, WorkloadController, phase_of, seconds_of
from clientgo_apiserver.cluster.rollout import (
    DEFAULT_HISTORY,
    DESIRED,
    HASH_LABEL,
    REVISION,
    REVISION_HISTORY,
    condition,
    copied_annotations,
    count_of,
    int32,
    is_saturated,
    max_replicas,
    max_unavailable,
    new_replica_set,
    revision_of,
    rolls,
    share_of,
    shrink,
    size_annotations,
    stamped,
    template_hash,
    wanted_replicas,
)
from clientgo_apiserver.storage.keys import DEPLOYMENTS, PODS, REPLICA_SETS
from clientgo_apiserver.storage.stored import Key, name_of

_DEADLINE_SECONDS = 600.0  # apps/v1's progressDeadlineSeconds
_NO_DEADLINE = 2**31 - 1
_CREATED, _COMPLETE = "NewReplicaSetCreated", "NewReplicaSetAvailable"
_TIMED_OUT = "ProgressDeadlineExceeded"
_PAUSED, _RESUMED = "DeploymentPaused", "DeploymentResumed"


class _Sets(NamedTuple):
    """ReplicaSets of a Deployment: of the current template, and the earlier ones, the oldest first."""

    current: Object | None
    earlier: list[Object]

    @property
    def all(self) -> list[Object]:
        return [*self.earlier, *([self.current] if self.current is not None else [])]

    def total(self, field: str) -> int:
        return sum(count_of(replica_set, field) for replica_set in self.all)


class DeploymentController(WorkloadController):
    """Rolls out Deployments."""

    _service_account = "deployment-controller"
    _sources = (DEPLOYMENTS,)
    _further = (PODS,)
    _kind = "Deployment"
    _child = REPLICA_SETS
    _rank = 2
    _own_annotations = (REVISION,)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key != PODS:
            super()._changed(kind, key, old, new)
            return
        owner = controller_of(old) if new is None else None
        if owner is not None and owner["kind"] == "ReplicaSet":  # Recreate waits for the last pod
            namespace = (old or {})["metadata"]["namespace"]
            deployment = controller_of(self._store.get(REPLICA_SETS, namespace, owner["name"]))
            if deployment is not None and deployment["kind"] == self._kind:
                self._schedule(namespace, deployment["name"])

    def _reconcile(self, obj: Object, children: list[Object]) -> None:
        sets = _sets(obj, children)
        if is_deleting(obj):
            self._write(obj, sets)
            return
        obj = self._note_pause(obj)
        annotations: dict[str, str] = {}
        if sets.current is None and self._may_create(obj, sets):
            sets = self._create(obj, sets)
            if len(sets.all) == 1:
                return  # the first status of the ReplicaSet syncs it again
        elif sets.current is not None:
            annotations = self._update(obj, sets.current, _next_revision(sets))
        obj = self._stored(obj)
        if obj["spec"].get("paused") or self._is_scaled(obj, sets):
            self._scale_in_proportion(obj, sets)
        elif rolls(obj):
            self._roll(obj, sets)
        else:
            self._recreate(obj, sets)
        sets = _sets(obj, self._owned.by(obj, REPLICA_SETS))
        self._write(obj, sets, annotations)
        self._clean_up(obj, sets)

    def _may_create(self, obj: Object, sets: _Sets) -> bool:
        return not obj["spec"].get("paused") and (rolls(obj) or not self._recreate(obj, sets))

    def _create(self, obj: Object, sets: _Sets) -> _Sets:
        revision = _next_revision(sets)
        replica_set = new_replica_set(obj, template_hash(obj), revision)
        replica_set["metadata"]["annotations"] |= size_annotations(obj)
        replica_set["spec"]["replicas"] = _new_size(obj, sets)
        try:
            stored = self._internal.create(REPLICA_SETS, obj["metadata"]["namespace"], replica_set, derived=True)
        except InReview:
            raise
        except ApiFailure as failure:
            self._report_rejection(obj, replica_set["metadata"]["name"], failure)
            raise
        self._record_scaling(obj, stored, 0, wanted_replicas(stored))
        name = stored["metadata"]["name"]
        created = condition("Progressing", "True", _CREATED, f'Created new replica set "{name}"')
        self._update_status(obj, self._with_progress(obj, created), {REVISION: str(revision)})
        return sets._replace(current=stored)

    def _report_rejection(self, obj: Object, name: str, failure: ApiFailure) -> None:
        reason, message = "ReplicaSetCreateError", f'Failed to create new replica set "{name}": {failure.message}'
        self._update_status(obj, self._with_progress(obj, condition("Progressing", "False", reason, message)))
        self._events.record(obj, reason, message, kind="Warning")

    def _note_pause(self, obj: Object) -> Object:
        """Record that a rollout was paused or resumed; return the stored Deployment."""
        before, is_paused = condition_of(obj, "Progressing").get("reason"), bool(obj["spec"].get("paused"))
        if before != _TIMED_OUT and is_paused != (before == _PAUSED):
            reason, text = (_PAUSED, "Deployment is paused") if is_paused else (_RESUMED, "Deployment is resumed")
            self._update_status(obj, self._with_progress(obj, condition("Progressing", "Unknown", reason, text)))
        return self._stored(obj)

    def _with_progress(self, obj: Object, new: Object) -> Object:
        """Return the status with a new condition Progressing, which is left out without a deadline."""
        if obj["spec"].get("progressDeadlineSeconds") == _NO_DEADLINE:
            return {}
        progress = stamped(new, conditions_of(obj), self._now())
        return {"conditions": [*other_conditions(obj, "Progressing"), progress]}

    def _stored(self, obj: Object) -> Object:
        return self._store.get(DEPLOYMENTS, *name_of(obj)) or obj

    def _update(self, obj: Object, replica_set: Object, revision: int) -> dict[str, str]:
        """Give the current ReplicaSet the Deployment's annotations and `minReadySeconds`, and its revision.

        Return the annotations of the Deployment.
        """
        annotations, before = copied_annotations(obj), annotation(replica_set, REVISION)
        if revision_of(replica_set) < revision:
            annotations[REVISION] = str(revision)
            if before:
                history = annotation(replica_set, REVISION_HISTORY)
                annotations[REVISION_HISTORY] = f"{history},{before}" if history else before
        changed = {name: text for name, text in annotations.items() if annotation(replica_set, name) != text}
        patch: Object = {"metadata": {"annotations": changed}} if changed else {}
        seconds = obj["spec"].get("minReadySeconds") or 0
        if seconds != (replica_set["spec"].get("minReadySeconds") or 0):
            patch["spec"] = {"minReadySeconds": seconds}
        if patch:
            self._internal.patch(REPLICA_SETS, *name_of(replica_set), patch)
        return {REVISION: annotations.get(REVISION, before)}

    def _is_scaled(self, obj: Object, sets: _Sets) -> bool:
        desired = str(wanted_replicas(obj))
        return any(annotation(each, DESIRED) not in ("", desired) for each in sets.all if wanted_replicas(each))

    def _scale_in_proportion(self, obj: Object, sets: _Sets) -> None:
        active = [each for each in sets.all if wanted_replicas(each)]
        desired = wanted_replicas(obj)
        if len(active) < 2:
            latest = active or sets.all[-1:]
            for each in latest:
                self._scale(obj, each, desired)
            return
        if sets.current is not None and is_saturated(obj, sets.current):
            for each in sets.earlier:
                self._scale(obj, each, 0)
            return
        remaining = (max_replicas(obj) if desired else 0) - sum(map(wanted_replicas, active))
        # The largest first; of those of one size the newest grows first, and the oldest shrinks first.
        by_age = sorted(active, key=_age, reverse=remaining > 0)
        ordered = sorted(by_age, key=lambda each: -wanted_replicas(each))
        sizes = {}
        unassigned = remaining
        for each in ordered:
            share = share_of(obj, each, remaining, unassigned)
            sizes[each["metadata"]["name"]] = wanted_replicas(each) + share
            unassigned -= share
        for each in ordered:
            size = sizes[each["metadata"]["name"]] + (unassigned if each is ordered[0] else 0)
            self._scale(obj, each, max(0, size))

    def _recreate(self, obj: Object, sets: _Sets) -> bool:
        """Scale the earlier ReplicaSets down and, once their pods are gone, the current one up.

        Return whether pods of earlier ones remain.
        """
        for each in sets.earlier:
            self._scale(obj, each, 0)
        pods = (pod for each in sets.earlier for pod in self._owned.by(each, PODS))
        remaining = any(phase_of(pod) not in FINISHED for pod in pods)
        if not remaining and sets.current is not None:
            self._scale(obj, sets.current, wanted_replicas(obj))
        return remaining

    def _roll(self, obj: Object, sets: _Sets) -> None:
        assert sets.current is not None, "created above"
        size = _new_size(obj, sets)
        if size != wanted_replicas(sets.current):
            self._scale(obj, sets.current, size)
            return
        unavailable = size - count_of(sets.current, "availableReplicas")
        minimum = wanted_replicas(obj) - max_unavailable(obj)
        removable = sum(map(wanted_replicas, sets.all)) - minimum - unavailable
        sizes = {each["metadata"]["name"]: wanted_replicas(each) for each in sets.earlier}
        available = {each["metadata"]["name"]: count_of(each, "availableReplicas") for each in sets.earlier}
        # Unhealthy replicas first, whose removal reduces no service.
        removable = shrink(sizes, removable, {name: size - available[name] for name, size in sizes.items()})
        removable = min(removable, sets.total("availableReplicas") - minimum)
        shrink(sizes, removable, dict(sizes))
        for each in sets.earlier:
            self._scale(obj, each, sizes[each["metadata"]["name"]])

    def _scale(self, obj: Object, replica_set: Object, replicas: int) -> None:
        limits = size_annotations(obj)
        is_limited = not replicas or all(annotation(replica_set, name) == text for name, text in limits.items())
        if wanted_replicas(replica_set) == replicas and is_limited:
            return
        patch = {"metadata": {"annotations": limits}, "spec": {"replicas": replicas}}
        self._internal.patch(REPLICA_SETS, *name_of(replica_set), patch)
        self._record_scaling(obj, replica_set, wanted_replicas(replica_set), replicas)

    def _record_scaling(self, obj: Object, replica_set: Object, before: int, after: int) -> None:
        if before != after:
            direction, name = "up" if after > before else "down", replica_set["metadata"]["name"]
            text = f"Scaled {direction} replica set {name} from {before} to {after}"
            self._events.record(obj, "ScalingReplicaSet", text)

    def _clean_up(self, obj: Object, sets: _Sets) -> None:
        """Delete the earliest revisions beyond the history limit, unless they have replicas."""
        limit = obj["spec"].get("revisionHistoryLimit")
        if not _is_complete(obj, sets) and not obj["spec"].get("paused"):
            return
        earlier = [each for each in sets.earlier if not is_deleting(each)]
        surplus = max(0, len(earlier) - (DEFAULT_HISTORY if limit is None else int(limit)))
        for each in sorted(earlier, key=lambda each: (revision_of(each), *_age(each)))[:surplus]:
            is_observed = count_of(each, "observedGeneration") >= each["metadata"].get("generation", 1)
            if is_observed and not wanted_replicas(each) and not count_of(each, "replicas"):
                self._delete(each)

    def _write(self, obj: Object, sets: _Sets, annotations: Mapping[str, str] | None = None) -> None:
        counts = {
            "replicas": sets.total("replicas"),
            "updatedReplicas": count_of(sets.current, "replicas"),
            "readyReplicas": sets.total("readyReplicas"),
            "availableReplicas": sets.total("availableReplicas"),
        }
        unavailable = int32(sum(map(wanted_replicas, sets.all)) - counts["availableReplicas"])
        counts["unavailableReplicas"] = max(0, unavailable)
        status = {
            "observedGeneration": obj["metadata"].get("generation", 1),
            **{name: count or None for name, count in counts.items()},
            "terminatingReplicas": sets.total("terminatingReplicas"),
        }
        self._update_status(obj, {**status, "conditions": self._conditions(obj, sets, counts)}, annotations)

    def _conditions(self, obj: Object, sets: _Sets, counts: dict[str, int]) -> list[Object]:
        before, now = conditions_of(obj), self._now()
        is_enough = counts["availableReplicas"] >= wanted_replicas(obj) - max_unavailable(obj)
        available = condition(
            "Available",
            str(is_enough),
            "MinimumReplicasAvailable" if is_enough else "MinimumReplicasUnavailable",
            f"Deployment {'has' if is_enough else 'does not have'} minimum availability.",
        )
        conditions = [stamped(available, before, now)]
        if (progressing := self._progressing(obj, sets, counts)) is not None:
            conditions.append(progressing)
        failing = [failure for each in sets.all if (failure := condition_of(each, "ReplicaFailure"))]
        if failing and not _is_complete(obj, sets):
            failure = {field: failing[-1][field] for field in ("type", "status", "reason", "message")}
            conditions.append(stamped(failure, before, now))
        return conditions

    def _progressing(self, obj: Object, sets: _Sets, counts: dict[str, int]) -> Object | None:
        spec, before, now = obj["spec"], conditions_of(obj), self._now()
        if spec.get("progressDeadlineSeconds") == _NO_DEADLINE:
            return None
        last = condition_of(obj, "Progressing") or None
        name = (sets.current or obj)["metadata"]["name"]
        label = f'ReplicaSet "{name}"' if sets.current is not None else f'Deployment "{name}"'
        if spec.get("paused") or (last is not None and last.get("reason") == _COMPLETE and _is_complete(obj, sets)):
            return last
        if _is_complete(obj, sets):
            done = condition("Progressing", "True", _COMPLETE, f"{label} has successfully progressed.")
            return stamped(done, before, now)
        if last is not None and last.get("reason") == _COMPLETE and not _is_rolling(sets):
            return last  # scaling is not a rollout: the condition of the last rollout remains
        if last is None or last.get("status") == "Unknown" or _has_progressed(obj, counts):
            running = condition("Progressing", "True", "ReplicaSetUpdated", f"{label} is progressing.")
            updated = {**stamped(running, before, now), "lastUpdateTime": now}
            return self._with_deadline(obj, updated)
        return self._with_deadline(obj, last, f"{label} has timed out progressing.")

    def _with_deadline(self, obj: Object, last: Object, late: str = "") -> Object:
        """Return the condition, or that of a rollout past its deadline, at which the Deployment is synced again."""
        seconds = obj["spec"].get("progressDeadlineSeconds")
        due = seconds_of(last["lastUpdateTime"]) + (_DEADLINE_SECONDS if seconds is None else float(seconds))
        if last.get("reason") == _TIMED_OUT:
            return last
        if late and self._state.clock.time() >= due:
            timed_out = condition("Progressing", "False", _TIMED_OUT, late)
            return stamped(timed_out, conditions_of(obj), self._now())
        self._again_at(max(due, self._state.clock.time() + 1), *name_of(obj))
        return last


def _sets(obj: Object, children: list[Object]) -> _Sets:
    oldest_first = sorted(children, key=_age)
    template = _comparable(obj["spec"]["template"])
    current = next((each for each in oldest_first if _comparable(each["spec"]["template"]) == template), None)
    return _Sets(current, [each for each in oldest_first if each is not current])


def _age(replica_set: Object) -> tuple[str, str]:
    return replica_set["metadata"]["creationTimestamp"], replica_set["metadata"]["name"]


def _comparable(template: Object) -> Object:
    meta = template.get("metadata") or {}
    labels = {name: value for name, value in (meta.get("labels") or {}).items() if name != HASH_LABEL}
    return {**template, "metadata": {**meta, "labels": labels}}


def _next_revision(sets: _Sets) -> int:
    """Return the revision of the current template: an earlier one that is used again becomes the newest."""
    newest = max(map(revision_of, sets.earlier), default=0)
    current = revision_of(sets.current) if sets.current is not None else 0
    return current if current > newest else newest + 1


def _new_size(obj: Object, sets: _Sets) -> int:
    """Return the replicas of the current ReplicaSet: what the others leave of the maximum."""
    desired, size = wanted_replicas(obj), wanted_replicas(sets.current) if sets.current is not None else 0
    if not rolls(obj) or size >= desired:
        return desired
    total = sum(map(wanted_replicas, sets.all))
    return size + max(0, min(max_replicas(obj) - total, desired - size))


def _is_complete(obj: Object, sets: _Sets) -> bool:
    desired = wanted_replicas(obj)
    is_observed = sets.current is not None and all(
        count_of(each, "observedGeneration") >= each["metadata"].get("generation", 1) for each in sets.all
    )
    counts = {count_of(sets.current, "replicas"), sets.total("replicas"), sets.total("availableReplicas")}
    return bool(is_observed) and counts == {desired}


def _is_rolling(sets: _Sets) -> bool:
    return sets.current is None or any(wanted_replicas(each) or count_of(each, "replicas") for each in sets.earlier)


def _has_progressed(obj: Object, counts: dict[str, int]) -> bool:
    before: dict[str, int] = obj.get("status") or {}
    removed = before.get("replicas", 0) - before.get("updatedReplicas", 0)
    is_new = condition_of(obj, "Progressing").get("reason") == _CREATED  # of a ReplicaSet that began without replicas
    return (
        counts["updatedReplicas"] > (0 if is_new else before.get("updatedReplicas", 0))
        or counts["replicas"] - counts["updatedReplicas"] < removed
        or counts["readyReplicas"] > before.get("readyReplicas", 0)
        or counts["availableReplicas"] > before.get("availableReplicas", 0)
    )
