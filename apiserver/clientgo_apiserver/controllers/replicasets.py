"""ReplicaSets of Deployments, one for each template: what `kubectl rollout history` and `undo` read.

Enabled by an option: a test that counts a namespace's objects does not expect them. The replicas of earlier templates
are removed at once; `deployments` makes the new ones available.
"""

from collections.abc import Iterable
from typing import Any

from clientgo_apiserver.controllers.base import InternalController, annotation, controller_reference, is_deleting
from clientgo_apiserver.controllers.deployments import DEPLOYMENTS, REPLICA_SETS
from clientgo_apiserver.controllers.rollout import template_hash, wanted_replicas
from clientgo_apiserver.resources import Object
from clientgo_apiserver.storage.stored import Key, name_of

HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MAXIMUM = "deployment.kubernetes.io/max-replicas"
_NOT_COPIED = ("kubectl.kubernetes.io/last-applied-configuration", REVISION, REVISION_HISTORY, DESIRED, MAXIMUM)
DEFAULT_HISTORY = 10
"""ReplicaSets kept for earlier templates: apps/v1's revisionHistoryLimit."""


class ReplicaSetSimulation(InternalController):
    """Keeps the ReplicaSets of every Deployment."""

    _sources = (DEPLOYMENTS,)

    def _watched(self) -> Iterable[Key] | None:
        return (DEPLOYMENTS, REPLICA_SETS)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key == DEPLOYMENTS and new is not None:
            if old is None or old["metadata"].get("generation") != new["metadata"].get("generation"):
                self._schedule(*name_of(new))
        elif key == REPLICA_SETS and new is None and old is not None:
            for owner in old["metadata"].get("ownerReferences") or ():
                if owner.get("kind") == "Deployment":
                    self._schedule(old["metadata"]["namespace"], owner["name"])

    def _sync(self, *names: str) -> None:
        deployment = self._store.get(DEPLOYMENTS, *names)
        if deployment is not None and not is_deleting(deployment):
            self._attempt("write replica sets", name_of(deployment), lambda: self._reconcile(deployment))

    def _reconcile(self, deployment: Object) -> None:
        namespace, _ = name_of(deployment)
        uid, limit = deployment["metadata"]["uid"], deployment["spec"].get("revisionHistoryLimit")
        mine = [
            replica_set
            for replica_set in self._store.list(REPLICA_SETS, namespace)
            if any(owner.get("uid") == uid for owner in replica_set["metadata"].get("ownerReferences") or ())
        ]
        mine.sort(key=revision_of)
        digest = template_hash(deployment)
        current = next(
            (replica_set for replica_set in mine if replica_set["metadata"]["labels"].get(HASH_LABEL) == digest), None
        )
        earlier = [replica_set for replica_set in mine if replica_set is not current]
        newest = max((revision_of(replica_set) for replica_set in earlier), default=0)
        # An earlier template that is used again becomes the newest revision; the current one keeps its revision.
        revision = revision_of(current) if current is not None and revision_of(current) > newest else newest + 1
        paused = bool(deployment["spec"].get("paused"))
        if current is None and not paused:
            self._internal.create(REPLICA_SETS, namespace, new_replica_set(deployment, digest, revision))
        elif current is not None:
            self._scale(current, wanted_replicas(deployment), revision)
        if paused and current is None:
            return
        for replica_set in earlier:
            self._scale(replica_set, 0, revision_of(replica_set))
        for replica_set in earlier[: max(0, len(earlier) - (DEFAULT_HISTORY if limit is None else int(limit)))]:
            self._internal.delete(REPLICA_SETS, *name_of(replica_set), uid=replica_set["metadata"]["uid"])
        if annotation(deployment, REVISION) != str(revision):
            self._write_status(DEPLOYMENTS, deployment, {}, annotations={REVISION: str(revision)})

    def _scale(self, replica_set: Object, replicas: int, revision: int) -> None:
        if (wanted_replicas(replica_set), revision_of(replica_set)) == (replicas, revision):
            return
        patch = {"metadata": {"annotations": {REVISION: str(revision)}}, "spec": {"replicas": replicas}}
        self._internal.patch(REPLICA_SETS, *name_of(replica_set), patch)


def new_replica_set(deployment: Object, digest: str, revision: int) -> Object:
    """Return the ReplicaSet of a Deployment's template, as it is to be created."""
    meta, spec = deployment["metadata"], deployment["spec"]
    template: dict[str, Any] = spec["template"]
    labels = {**(template["metadata"].get("labels") or {}), HASH_LABEL: digest}
    selector = {**spec["selector"], "matchLabels": {**(spec["selector"].get("matchLabels") or {}), HASH_LABEL: digest}}
    new_spec: Object = {
        "replicas": wanted_replicas(deployment),
        "selector": selector,
        "template": {**template, "metadata": {**template["metadata"], "labels": labels}},
    }
    if spec.get("minReadySeconds"):
        new_spec["minReadySeconds"] = spec["minReadySeconds"]
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{meta['name']}-{digest}",
            "namespace": meta["namespace"],
            "labels": labels,
            "annotations": {**copied_annotations(deployment), REVISION: str(revision)},
            "ownerReferences": [controller_reference(deployment)],
        },
        "spec": new_spec,
    }


def copied_annotations(deployment: Object) -> dict[str, str]:
    """Return the annotations of a Deployment that its ReplicaSets get."""
    annotations = deployment["metadata"].get("annotations") or {}
    return {name: text for name, text in annotations.items() if name not in _NOT_COPIED}


def revision_of(replica_set: Object) -> int:
    """Return the revision in the annotation of a ReplicaSet; 0 without one."""
    text = annotation(replica_set, REVISION)
    return int(text) if text.isdecimal() else 0
