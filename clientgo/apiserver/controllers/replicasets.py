"""Deployments have ReplicaSets, one for each template they have had: what `kubectl rollout history` and `undo` read.

Only where the server was told to: a test that counts a namespace's objects does not expect them. The replicas of an
earlier template go at once; how the new ones become available is the business of `simulation.deployments`.
"""

import logging
from collections.abc import Callable
from typing import Any

from clientgo.apiserver.controllers.cluster import Cluster, Key, Object
from clientgo.apiserver.controllers.deployments import DEPLOYMENTS, REPLICA_SETS
from clientgo.apiserver.controllers.rollout import template_hash, wanted_replicas
from clientgo.apiserver.http.status import ApiFailure

HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
_OWN = ("kubectl.kubernetes.io/last-applied-configuration", REVISION)  # not handed on to ReplicaSets
_DEFAULT_HISTORY = 10  # apps/v1's revisionHistoryLimit

_log = logging.getLogger(__name__)


class ReplicaSetSimulation:
    """Keeps the ReplicaSets of every Deployment, from `start` to `stop`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._unsubscribe: Callable[[], None] | None = None

    def __repr__(self) -> str:
        return f"<ReplicaSetSimulation {'started' if self._unsubscribe is not None else 'stopped'}>"

    def start(self) -> None:
        """Bring what is stored up to date, and follow every change from now on."""
        self._unsubscribe = self._cluster.subscribe(self._changed)
        for obj in self._cluster.list(DEPLOYMENTS):
            self._cluster.call_soon(self._sync, *_place(obj))

    def stop(self) -> None:
        """Write nothing more."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key == DEPLOYMENTS and new is not None:
            if old is None or old["metadata"].get("generation") != new["metadata"].get("generation"):
                self._cluster.call_soon(self._sync, *_place(new))
        elif key == REPLICA_SETS and new is None and old is not None:
            for owner in old["metadata"].get("ownerReferences") or ():
                if owner.get("kind") == "Deployment":
                    self._cluster.call_soon(self._sync, old["metadata"]["namespace"], owner["name"])

    def _sync(self, namespace: str, name: str) -> None:
        deployment = self._cluster.get(DEPLOYMENTS, namespace, name)
        if self._unsubscribe is None or deployment is None or "deletionTimestamp" in deployment["metadata"]:
            return
        try:
            self._bring_up_to_date(deployment)
        except ApiFailure as failure:
            if failure.code >= 500:
                raise  # to be tried again
            # What a client has changed meanwhile comes back as a change of its own.
            _log.warning("replica sets not written", extra={"object": (namespace, name), "reason": failure.message})

    def _bring_up_to_date(self, deployment: Object) -> None:
        namespace, _ = _place(deployment)
        mine = sorted(self._owned(deployment), key=_revision)
        digest = template_hash(deployment)
        current = next((one for one in mine if one["metadata"]["labels"].get(HASH_LABEL) == digest), None)
        earlier = [one for one in mine if one is not current]
        newest = max((_revision(one) for one in earlier), default=0)
        # Returning to an earlier template makes it the newest revision; going on with the same one does not.
        revision = _revision(current) if current is not None and _revision(current) > newest else newest + 1
        paused = bool(deployment["spec"].get("paused"))
        if current is None and not paused:
            self._cluster.create(REPLICA_SETS, namespace, _replica_set(deployment, digest, revision))
        elif current is not None:
            self._scale(current, wanted_replicas(deployment), revision)
        if paused and current is None:
            return
        for one in earlier:
            self._scale(one, 0, _revision(one))
        self._prune(deployment, earlier)
        if (deployment["metadata"].get("annotations") or {}).get(REVISION) != str(revision):
            patch = {"metadata": {"annotations": {REVISION: str(revision)}}}
            self._cluster.patch(DEPLOYMENTS, *_place(deployment), patch)

    def _owned(self, deployment: Object) -> list[Object]:
        uid, namespace = deployment["metadata"]["uid"], deployment["metadata"]["namespace"]
        return [
            one
            for one in self._cluster.list(REPLICA_SETS, namespace)
            if any(owner.get("uid") == uid for owner in one["metadata"].get("ownerReferences") or ())
        ]

    def _scale(self, replica_set: Object, replicas: int, revision: int) -> None:
        if (wanted_replicas(replica_set), _revision(replica_set)) == (replicas, revision):
            return
        patch = {"metadata": {"annotations": {REVISION: str(revision)}}, "spec": {"replicas": replicas}}
        self._cluster.patch(REPLICA_SETS, *_place(replica_set), patch)

    def _prune(self, deployment: Object, earlier: list[Object]) -> None:
        limit = deployment["spec"].get("revisionHistoryLimit")
        kept = _DEFAULT_HISTORY if limit is None else int(limit)
        for one in earlier[: max(0, len(earlier) - kept)]:
            self._cluster.delete(REPLICA_SETS, *_place(one), uid=one["metadata"]["uid"])


def _replica_set(deployment: Object, digest: str, revision: int) -> Object:
    meta, spec = deployment["metadata"], deployment["spec"]
    template: dict[str, Any] = spec["template"]
    labels = {**(template["metadata"].get("labels") or {}), HASH_LABEL: digest}
    annotations = {name: text for name, text in (meta.get("annotations") or {}).items() if name not in _OWN}
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": meta["name"], "uid": meta["uid"]}
    selector = {**spec["selector"], "matchLabels": {**(spec["selector"].get("matchLabels") or {}), HASH_LABEL: digest}}
    made: Object = {
        "replicas": wanted_replicas(deployment),
        "selector": selector,
        "template": {**template, "metadata": {**template["metadata"], "labels": labels}},
    }
    if spec.get("minReadySeconds"):
        made["minReadySeconds"] = spec["minReadySeconds"]
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{meta['name']}-{digest}",
            "namespace": meta["namespace"],
            "labels": labels,
            "annotations": {**annotations, REVISION: str(revision)},
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        },
        "spec": made,
    }


def _revision(replica_set: Object) -> int:
    text = (replica_set["metadata"].get("annotations") or {}).get(REVISION, "")
    return int(text) if text.isdecimal() else 0


def _place(obj: Object) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
