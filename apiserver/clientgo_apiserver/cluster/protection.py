"""Simulated protection of volumes, claims and their classes: the finalizer goes once a deleted one is not in use."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from clientgo_apiserver.admission.defaulting import PV_PROTECTION, PVC_PROTECTION, VAC_PROTECTION
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.cluster.base import InternalController
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.storage.keys import CLAIMS, PODS, VOLUMES
from clientgo_apiserver.storage.stored import Key, Name, name_of

_CLASSES: Key = ("storage.k8s.io", "volumeattributesclasses")
_FINALIZERS = {CLAIMS: PVC_PROTECTION, VOLUMES: PV_PROTECTION, _CLASSES: VAC_PROTECTION}

_Target = tuple[Key, Name]


class VolumeProtectionSimulation(InternalController):
    """Removes the finalizers of volumes, claims and classes that are being deleted and not in use."""

    _sources = (PODS, *_FINALIZERS)

    def __init__(self, internal: Internal) -> None:
        super().__init__(internal)
        self._users: defaultdict[_Target, set[Name]] = defaultdict(set)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key in _FINALIZERS and new is not None and _is_held(key, new):
            self._schedule(*key, *name_of(new))
        if key == _CLASSES or (key == PODS and _volumes(old) == _volumes(new)):
            return
        before, after = set(_used_by(key, old)), set(_used_by(key, new))
        for target in sorted(before ^ after):
            (user,) = {name_of(obj) for obj in (old, new) if obj is not None}
            if target in after:
                self._users[target].add(user)
                continue
            self._users[target].discard(user)
            if not self._users[target]:
                del self._users[target]
                self._schedule(*target[0], *target[1])

    def _sync(self, *names: str) -> None:
        group, plural, namespace, name = names
        key = (group, plural)
        obj = self._store.get(key, namespace, name)
        if obj is None or not _is_held(key, obj) or self._in_use(key, obj):
            return
        index = obj["metadata"]["finalizers"].index(_FINALIZERS[key])
        patch: list[Any] = [{"op": "remove", "path": f"/metadata/finalizers/{index}"}]
        target = (namespace, name)
        write = self._internal.patch
        self._attempt("remove the finalizer", target, lambda: write(key, *target, patch, subresource="", kind="json"))

    def _in_use(self, key: Key, obj: Object) -> bool:
        if key == VOLUMES:
            return bool((obj.get("status") or {}).get("phase") == "Bound")
        return (key, name_of(obj)) in self._users


def _volumes(pod: Object | None) -> list[Object] | None:
    """Return the volumes of a pod on a node; none before it is scheduled, because no kubelet has seen it."""
    return (pod["spec"].get("volumes") or None) if pod is not None and pod["spec"].get("nodeName") else None


def claims_of_pod(pod: Object | None) -> Iterator[Name]:
    """Yield the claims of a pod that is on a node, by namespace and name."""
    for volume in _volumes(pod) or ():
        if name := (volume.get("persistentVolumeClaim") or {}).get("claimName"):
            yield (pod or {})["metadata"]["namespace"], name


def _used_by(key: Key, obj: Object | None) -> Iterator[_Target]:
    """Yield the claims that a pod on a node uses, or the classes that a claim or volume uses or is about to use."""
    if obj is None:
        return
    if key == PODS:
        yield from ((CLAIMS, claim) for claim in claims_of_pod(obj))
        return
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    target = (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName")
    names = (spec.get("volumeAttributesClassName"), status.get("currentVolumeAttributesClassName"), target)
    yield from ((_CLASSES, ("", name)) for name in names if name)


def _is_held(key: Key, obj: Object) -> bool:
    meta = obj["metadata"]
    return "deletionTimestamp" in meta and _FINALIZERS[key] in meta.get("finalizers", ())
