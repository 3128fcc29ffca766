"""Simulated protection of volumes, claims and their classes: the finalizer goes once a deleted one is not in use."""

from typing import Any

from clientgo_apiserver.admission.defaulting import PV_PROTECTION, PVC_PROTECTION, VAC_PROTECTION
from clientgo_apiserver.controllers.base import InternalController
from clientgo_apiserver.resources import Object
from clientgo_apiserver.storage.stored import Key, name_of

_PODS: Key = ("", "pods")
_CLAIMS: Key = ("", "persistentvolumeclaims")
_VOLUMES: Key = ("", "persistentvolumes")
_CLASSES: Key = ("storage.k8s.io", "volumeattributesclasses")
_FINALIZERS = {_CLAIMS: PVC_PROTECTION, _VOLUMES: PV_PROTECTION, _CLASSES: VAC_PROTECTION}


class VolumeProtectionSimulation(InternalController):
    """Removes the finalizers of volumes, claims and classes that are being deleted and not in use."""

    _sources = (_CLAIMS, _VOLUMES, _CLASSES)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key in _FINALIZERS and new is not None and _is_held(key, new):
            self._schedule(*key, *name_of(new))
        if key in (_CLAIMS, _VOLUMES) and old is not None:
            for name in _classes_of(old) - (_classes_of(new) if new is not None else set()):
                self._schedule(*_CLASSES, "", name)
        elif key == _PODS and new is None and old is not None:
            for claim in self._store.list(_CLAIMS, old["metadata"]["namespace"]):
                if _is_held(_CLAIMS, claim):
                    self._schedule(*_CLAIMS, *name_of(claim))

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
        if key == _VOLUMES:
            return bool((obj.get("status") or {}).get("phase") == "Bound")
        meta = obj["metadata"]
        if key == _CLASSES:
            users = (each for users in (_CLAIMS, _VOLUMES) for each in self._store.list(users))
            return any(meta["name"] in _classes_of(user) for user in users)
        return any(
            (volume.get("persistentVolumeClaim") or {}).get("claimName") == meta["name"]
            for pod in self._store.list(_PODS, meta["namespace"])
            for volume in pod["spec"].get("volumes") or ()
        )


def _classes_of(obj: Object) -> set[str]:
    """Return the names of the attribute classes that a volume or claim uses, or is about to use."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    target = (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName")
    names = (spec.get("volumeAttributesClassName"), status.get("currentVolumeAttributesClassName"), target)
    return {name for name in names if name}


def _is_held(key: Key, obj: Object) -> bool:
    meta = obj["metadata"]
    return "deletionTimestamp" in meta and _FINALIZERS[key] in meta.get("finalizers", ())
