"""Binding of claims to volumes as kube-controller-manager does, and simulated provisioners of storage classes."""

from collections import defaultdict
from fractions import Fraction
from typing import TypeVar

from clientgo_apiserver.admission.defaulting import (
    CLASS_ANNOTATION,
    STORAGE_CLASSES,
    default_storage_class,
    has_storage_class,
)
from clientgo_apiserver.admission.plugins import requested_storage
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.cluster.base import InternalController, is_deleting
from clientgo_apiserver.cluster.events import ComponentEvents
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.cluster.protection import claims_of_pod
from clientgo_apiserver.registry.defaults.pods import amounts
from clientgo_apiserver.storage.keys import CLAIMS, PODS, VOLUMES
from clientgo_apiserver.storage.selection import selects
from clientgo_apiserver.storage.stored import Key, Name, name_of

_BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
_BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
_PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
_PROVISIONERS = ("volume.beta.kubernetes.io/storage-provisioner", "volume.kubernetes.io/storage-provisioner")
_SCRATCH = "/tmp/"  # nosec B108  # of volumes, which no node has
_STATIC_ONLY = "kubernetes.io/no-provisioner"
_NO_VOLUME = "no persistent volumes available for this claim and no storage class is set"
_NO_CONSUMER = "waiting for first consumer to be created before binding"
_EXTERNAL = (
    "Waiting for a volume to be created either by the external provisioner '{}' or manually by the system "
    "administrator. If volume creation is delayed, "
    "please verify that the provisioner is running and correctly registered."
)
_NOT_BOUND = {"accessModes": None, "capacity": None, "currentVolumeAttributesClassName": None}


K = TypeVar("K")
N = TypeVar("N")
_Index = defaultdict[K, dict[N, None]]
"""Names by a key, in the order in which they came."""


class VolumeBinder(InternalController):
    """Binds each claim to the smallest volume that satisfies it, or has one made if its class names a provisioner.

    Each `_sync` makes one write, whose change schedules the next. When none is due, no claim that waits is satisfied by
    an available volume: a new claim looks at the volumes, and a volume that becomes available at the claims.
    """

    _service_account = "persistent-volume-binder"
    _sources = (STORAGE_CLASSES, VOLUMES, CLAIMS, PODS)

    def __init__(self, internal: Internal) -> None:
        super().__init__(internal)
        self._events = ComponentEvents(internal.state, "persistentvolume-controller")
        self._waiting: _Index[str, Name] = defaultdict(dict)  # unbound claims by class, in the order of their changes
        self._available: _Index[str, str] = defaultdict(dict)  # volumes that anybody may have, by class
        self._reserved: _Index[Name, str] = defaultdict(dict)  # volumes by the claim that they name
        self._bound: _Index[str, Name] = defaultdict(dict)  # claims by the volume that they name
        self._consumed: set[Name] = set()  # claims of pods on nodes

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key == STORAGE_CLASSES:
            classes = {"", str((new or old or {})["metadata"]["name"])}
            for claim in [claim for name in sorted(classes) for claim in self._waiting.get(name, ())]:
                self._schedule(*CLAIMS, *claim)
        elif key == PODS:
            for claim in sorted(set(claims_of_pod(new)) - set(claims_of_pod(old))):
                self._consumed.add(claim)
                self._schedule(*CLAIMS, *claim)
        elif key == CLAIMS:
            self._changed_claim(old, new)
        else:
            self._changed_volume(old, new)

    def _changed_claim(self, old: Object | None, new: Object | None) -> None:
        name = name_of(new or old or {})
        if old is not None:
            _discard(self._waiting, _class_of(old), name)
            _discard(self._bound, _volume_of(old), name)
        if new is None:
            self._consumed.discard(name)
        elif _volume_of(new):
            self._bound[_volume_of(new)][name] = None
        else:
            self._waiting[_class_of(new)][name] = None
        if new is not None:
            self._schedule(*CLAIMS, *name)
        for volume in sorted({_volume_of(claim) for claim in (old, new) if claim is not None} - {""}):
            self._schedule(*VOLUMES, "", volume)

    def _changed_volume(self, old: Object | None, new: Object | None) -> None:
        name = str((new or old or {})["metadata"]["name"])
        claims = set(self._bound.get(name, ()))
        if old is not None:
            _discard(self._available, _class_of(old), name)
            _discard(self._reserved, _claim_of(old), name)
        if new is not None:
            if new["spec"].get("claimRef"):
                self._reserved[_claim_of(new)][name] = None
                claims.add(_claim_of(new))
            elif _phase(new) == "Available":
                self._available[_class_of(new)][name] = None
            self._schedule(*VOLUMES, "", name)
        for claim in sorted(claims):
            self._schedule(*CLAIMS, *claim)

    def _sync(self, *names: str) -> None:
        group, plural, namespace, name = names
        obj = self._store.get((group, plural), namespace, name)
        if obj is None:
            return
        if (group, plural) == VOLUMES:
            self._sync_volume(obj)
        elif _BIND_COMPLETED in (obj["metadata"].get("annotations") or {}):
            self._sync_bound(obj)
        elif _volume_of(obj):
            self._sync_requested(obj)
        else:
            self._sync_unbound(obj)

    def _sync_volume(self, volume: Object) -> None:
        reference = volume["spec"].get("claimRef") or {}
        if not reference.get("uid"):
            if not self._set_phase(volume, "Available") and not reference:
                self._offer(volume)
            return
        claim = self._store.get(CLAIMS, *_claim_of(volume))
        if claim is None or claim["metadata"]["uid"] != reference["uid"]:
            self._release(volume)
        elif _volume_of(claim) == volume["metadata"]["name"]:
            self._set_phase(volume, "Bound")
        elif _volume_of(claim) and _is_provisioned(volume):
            self._release(volume)
        elif _volume_of(claim):
            is_ours = _BOUND_BY_CONTROLLER in (volume["metadata"].get("annotations") or {})
            unbound = None if is_ours else {**reference, "uid": None, "resourceVersion": None}
            annotations = {_BOUND_BY_CONTROLLER: None}
            self._write(VOLUMES, volume, {"metadata": {"annotations": annotations}, "spec": {"claimRef": unbound}})

    def _offer(self, volume: Object) -> None:
        """Bind an available volume to the first waiting claim that it satisfies."""
        for name in self._waiting.get(_class_of(volume), ()):
            claim = self._store.get(CLAIMS, *name)
            if claim is not None and not self._is_delayed(claim) and _is_candidate(volume, claim):
                self._bind(volume, claim)
                return

    def _release(self, volume: Object) -> None:
        name, policy = volume["metadata"]["name"], volume["spec"].get("persistentVolumeReclaimPolicy")
        path = (volume["spec"].get("hostPath") or {}).get("path", "")
        if _phase(volume) not in ("Released", "Failed"):
            self._set_phase(volume, "Released")
        elif policy == "Delete" and (_is_provisioned(volume) or path.startswith(_SCRATCH)):
            self._attempt("delete the volume", ("", name), lambda: self._internal.delete(VOLUMES, "", name))
        elif policy == "Delete" and "csi" not in volume["spec"] and _phase(volume) != "Failed":
            reason = f'error getting deleter volume plugin for volume "{name}": no deletable volume plugin matched'
            if path:
                reason = f"host_path deleter only supports /tmp/.+ but received provided {path}"
            self._set_phase(volume, "Failed", reason)
            self._events.record(volume, "VolumeFailedDelete", reason, kind="Warning")

    def _sync_bound(self, claim: Object) -> None:
        volume = self._store.get(VOLUMES, "", _volume_of(claim)) if _volume_of(claim) else None
        if volume is None:
            what = "its PersistentVolume" if _volume_of(claim) else "reference to PersistentVolume"
            self._lose(claim, "ClaimLost", f"Bound claim has lost {what}. Data on the volume is lost!")
        elif (volume["spec"].get("claimRef") or {}).get("uid", "") in ("", claim["metadata"]["uid"]):
            self._bind(volume, claim)
        else:
            message = "Two claims are bound to the same volume, this one is bound incorrectly"
            self._lose(claim, "ClaimMisbound", message)

    def _lose(self, claim: Object, reason: str, message: str) -> None:
        if _phase(claim) != "Lost":
            self._write_status(CLAIMS, claim, {"phase": "Lost", **_NOT_BOUND})
            self._events.record(claim, reason, message, kind="Warning")

    def _sync_requested(self, claim: Object) -> None:
        name = _volume_of(claim)
        volume = self._store.get(VOLUMES, "", name)
        if volume is None:
            return
        reference = volume["spec"].get("claimRef")
        if reference and not _is_for(volume, claim):
            message = f'volume "{name}" already bound to a different claim.'
            self._events.record(claim, "FailedBinding", message, kind="Warning")
        elif not reference and (mismatch := _mismatch(volume, claim)):
            message = f'Cannot bind to requested volume "{name}": {mismatch}'
            self._events.record(claim, "VolumeMismatch", message, kind="Warning")
        else:
            self._bind(volume, claim)

    def _sync_unbound(self, claim: Object) -> None:
        is_delayed, class_name = self._is_delayed(claim), _class_of(claim)
        volume = self._best(claim, is_delayed=is_delayed)
        if volume is not None:
            self._bind(volume, claim)
        elif not has_storage_class(claim) and (default := default_storage_class(self._state)):
            self._write(CLAIMS, claim, {"spec": {"storageClassName": default}})
        elif is_delayed:
            self._events.record(claim, "WaitForFirstConsumer", _NO_CONSUMER)
        elif class_name:
            self._provision(claim, self._store.get(STORAGE_CLASSES, "", class_name))
        else:
            self._events.record(claim, "FailedBinding", _NO_VOLUME)

    def _is_delayed(self, claim: Object) -> bool:
        """Return whether the claim's class binds it with its first pod, and no pod on a node has it."""
        if name_of(claim) in self._consumed:
            return False
        storage_class = self._store.get(STORAGE_CLASSES, "", _class_of(claim)) or {}
        return bool(storage_class.get("volumeBindingMode") == "WaitForFirstConsumer")

    def _best(self, claim: Object, *, is_delayed: bool) -> Object | None:
        """Return the volume that is reserved for the claim, or else the smallest of those with the fewest modes."""
        available = () if is_delayed else self._available.get(_class_of(claim), ())
        for names in (self._reserved.get(name_of(claim), ()), available):
            volumes = filter(None, (self._store.get(VOLUMES, "", name) for name in sorted(names)))
            candidates = [volume for volume in volumes if _is_candidate(volume, claim)]
            if candidates:
                return min(candidates, key=lambda each: (len(each["spec"]["accessModes"]), _capacity(each)))
        return None

    def _provision(self, claim: Object, storage_class: Object | None) -> None:
        provisioner = (storage_class or {}).get("provisioner")
        if storage_class is None:
            message = f'storageclass.storage.k8s.io "{_class_of(claim)}" not found'
            self._events.record(claim, "ProvisioningFailed", message, kind="Warning")
        elif provisioner == _STATIC_ONLY:
            message = f"no volume plugin matched name: {provisioner}"
            self._events.record(claim, "ProvisioningFailed", message, kind="Warning")
        elif _PROVISIONERS[0] not in (claim["metadata"].get("annotations") or {}):
            self._write(CLAIMS, claim, {"metadata": {"annotations": dict.fromkeys(_PROVISIONERS, provisioner)}})
            self._events.record(claim, "ExternalProvisioning", _EXTERNAL.format(provisioner))
        elif self._store.get(VOLUMES, "", name := f"pvc-{claim['metadata']['uid']}") is None:
            volume = _provisioned(name, claim, storage_class)
            self._attempt("provision a volume", ("", name), lambda: self._internal.create(VOLUMES, "", volume))
            if self._store.get(VOLUMES, "", name) is not None:
                self._events.record(claim, "ProvisioningSucceeded", f"Successfully provisioned volume {name}")

    def _bind(self, volume: Object, claim: Object) -> None:
        """Make the first of the four writes of a binding that is missing: volume and claim, each before its status."""
        name, reference = volume["metadata"]["name"], volume["spec"].get("claimRef") or {}
        annotations = claim["metadata"].get("annotations") or {}
        if not _is_for(volume, claim) or not reference.get("uid"):
            bound: Object = {"spec": {"claimRef": _reference(claim)}}
            if not _is_for(volume, claim):
                bound["metadata"] = {"annotations": {_BOUND_BY_CONTROLLER: "yes"}}
            self._write(VOLUMES, volume, bound)
        elif self._set_phase(volume, "Bound"):
            pass
        elif _volume_of(claim) != name:
            added = {_BOUND_BY_CONTROLLER: "yes", _BIND_COMPLETED: "yes"}
            self._write(CLAIMS, claim, {"metadata": {"annotations": added}, "spec": {"volumeName": name}})
        elif _BIND_COMPLETED not in annotations:
            self._write(CLAIMS, claim, {"metadata": {"annotations": {_BIND_COMPLETED: "yes"}}})
        elif _phase(claim) != "Bound":
            spec = volume["spec"]
            status = {"phase": "Bound", "accessModes": spec["accessModes"], "capacity": spec["capacity"]}
            attributes = {"currentVolumeAttributesClassName": spec.get("volumeAttributesClassName")}
            self._write_status(CLAIMS, claim, {**status, **attributes})

    def _set_phase(self, volume: Object, phase: str, message: str | None = None) -> bool:
        """Write a volume's phase; return whether it was another one."""
        if _phase(volume) == phase:
            return False
        self._write_status(VOLUMES, volume, {"phase": phase, "message": message})
        return True

    def _write(self, key: Key, obj: Object, patch: Object) -> None:
        self._attempt("bind", name_of(obj), lambda: self._internal.patch(key, *name_of(obj), patch))


def _discard(index: _Index[K, N], key: K, name: N) -> None:
    """Take a name out of an index, and its key with the last one."""
    names = index.get(key, {})
    names.pop(name, None)
    if not names:
        index.pop(key, None)


def _class_of(obj: Object) -> str:
    """Return the storage class of a claim or volume; the annotation of old decides."""
    annotated = (obj["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION)
    return str(annotated if annotated is not None else obj["spec"].get("storageClassName") or "")


def _volume_of(claim: Object) -> str:
    return claim["spec"].get("volumeName") or ""


def _phase(obj: Object) -> str:
    return str((obj.get("status") or {}).get("phase") or "")


def _claim_of(volume: Object) -> Name:
    reference = volume["spec"].get("claimRef") or {}
    return str(reference.get("namespace") or ""), str(reference.get("name") or "")


def _is_for(volume: Object, claim: Object) -> bool:
    """Return whether the volume names the claim, and no predecessor of the same name."""
    uid = (volume["spec"].get("claimRef") or {}).get("uid") or ""
    return _claim_of(volume) == name_of(claim) and uid in ("", claim["metadata"]["uid"])


def _is_provisioned(volume: Object) -> bool:
    """Return whether a provisioner made the volume and deletes it after its claim."""
    is_deleted = volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
    return is_deleted and _PROVISIONED_BY in (volume["metadata"].get("annotations") or {})


def _reference(claim: Object) -> Object:
    meta = claim["metadata"]
    identity = {field: meta[field] for field in ("namespace", "name", "uid", "resourceVersion")}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **identity}


def _capacity(volume: Object) -> Fraction:
    return amounts(volume["spec"].get("capacity"))["storage"].value


def _mismatch(volume: Object, claim: Object) -> str:
    """Return why the volume does not satisfy the claim, or ""."""
    spec, offered = claim["spec"], volume["spec"]
    if is_deleting(volume):
        return f'the volume is marked for deletion "{volume["metadata"]["name"]}"'
    if _capacity(volume) < requested_storage(spec):
        return "requested PV is too small"
    if not offered.get("claimRef") and _class_of(volume) != _class_of(claim):
        return "storageClassName does not match"
    if (spec.get("volumeAttributesClassName") or "") != (offered.get("volumeAttributesClassName") or ""):
        return "volumeAttributesClassName does not match"
    if (spec.get("volumeMode") or "Filesystem") != (offered.get("volumeMode") or "Filesystem"):
        return "incompatible volumeMode"
    if not set(spec.get("accessModes") or ()) <= set(offered.get("accessModes") or ()):
        return "incompatible accessMode"
    return ""


def _is_candidate(volume: Object, claim: Object) -> bool:
    """Return whether the volume may be chosen for the claim: a reserved one needs neither class nor labels."""
    if _mismatch(volume, claim):
        return False
    if volume["spec"].get("claimRef"):
        return _is_for(volume, claim)
    selector, labels = claim["spec"].get("selector"), volume["metadata"].get("labels") or {}
    return selector is None or selects(selector, labels)


def _provisioned(name: str, claim: Object, storage_class: Object) -> Object:
    """Return the volume that the provisioner of the class makes for the claim."""
    spec, provisioner = claim["spec"], storage_class["provisioner"]
    # The name of a driver is a domain, which names such as rancher.io/local-path are not.
    is_driver = "/" not in provisioner
    source = {"csi": {"driver": provisioner, "volumeHandle": name}} if is_driver else {"hostPath": {"path": f"/{name}"}}
    copied = {field: spec.get(field) for field in ("accessModes", "volumeMode", "volumeAttributesClassName")}
    return {
        "metadata": {"name": name, "annotations": {_PROVISIONED_BY: provisioner}},
        "spec": {
            **copied,
            **source,
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "claimRef": _reference(claim),
            "mountOptions": storage_class.get("mountOptions"),
            "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy") or "Delete",
            "storageClassName": storage_class["metadata"]["name"],
        },
    }
