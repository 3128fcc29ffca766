"""Rules of persistent volumes, claims and storage classes that relate several fields."""

from collections.abc import Iterator
from typing import Any

from clientgo_apiserver.api.names import qualified_errors
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import (
    Cause,
    duplicate,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
    too_long,
)
from clientgo_apiserver.gotypes.gostructs import go_diff, go_struct
from clientgo_apiserver.registry.validation.generic import IMMUTABLE
from clientgo_apiserver.registry.validation.pods.resources import amount, is_native
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule, within
from clientgo_apiserver.releases.release import current

_MAX_PARAMETERS, _MAX_PARAMETER_SIZE = 512, 256 * 1024
VOLUME_SETTINGS = frozenset((
    "accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy",
    "storageClassName", "volumeAttributesClassName", "volumeMode",
))  # fmt: skip
"""Fields of a volume besides its source, which no update changes."""

_MOUNT_OPTIONS = "volume.beta.kubernetes.io/mount-options"
_MOUNTED = frozenset((
    "awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "gcePersistentDisk", "glusterfs", "iscsi",
    "nfs", "photonPersistentDisk", "quobyte", "rbd", "vsphereVolume",
))  # fmt: skip
_RESIZES = (
    *("ControllerResizeInProgress", "ControllerResizeInfeasible"),
    *("NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"),
)
_LEAST_TOKEN_SECONDS, _MOST_TOKEN_SECONDS = 600, 1 << 32
_MAX_NODE_ID = 256
_LABELS = {
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
}
"""Labels of nodes, by their names in beta versions."""


@rule(absent=True)
def volume_capacity(value: Object | None, _: FieldScope) -> Iterator[Cause]:
    """Require a positive amount of storage, and nothing else."""
    if set(value or ()) != {"storage"}:
        yield not_supported("", value if value is None else dict(sorted(value.items())), ("storage",))
    for name, quantity in sorted((value or {}).items()):
        yield from within(f"[{name}]", _positive(quantity))


@rule()
def basic_quantities(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Reject negative amounts."""
    for name, quantity in sorted(value.items()):
        parsed = amount(quantity)
        if parsed is not None and parsed.value < 0:
            yield invalid_value(f"[{name}]", int(parsed.value), "must be a valid resource quantity")


@rule()
def resize_statuses(value: dict[str, str], _: FieldScope) -> Iterator[Cause]:
    """Check which resources of a claim are resized, and how far."""
    for name, status in sorted(value.items()):
        yield from _resource_errors(name)
        if status not in _RESIZES:
            yield not_supported("", name, _RESIZES)


@rule()
def allocated_storage(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check the resources that a claim has, or will have."""
    for name, quantity in sorted(value.items()):
        if errors := list(_resource_errors(name)):
            yield from errors
        else:
            yield from basic_quantities({name: quantity}, _)


def _resource_errors(name: str) -> Iterator[Cause]:
    """Return the errors of the name of a resource of a claim: storage, or one with a domain."""
    errors = qualified_errors(name)
    yield from (invalid_value("", name, reason) for reason in errors)
    if not errors and is_native(name) and name != "storage":
        yield not_supported("", name, ("storage",))


def _positive(quantity: Any) -> Iterator[Cause]:
    parsed = amount(quantity)
    if parsed is None:
        return
    if parsed.value < 0:
        yield invalid_value("", int(parsed.value), "must be a valid resource quantity")
    if parsed.value <= 0:
        yield invalid_value("", str(parsed), "must be greater than zero")


@rule()
def mount_options(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Reject the annotation with mount options for volumes that are not mounted with options."""
    spec = value.get("spec") or {}
    if _MOUNT_OPTIONS in (value["metadata"].get("annotations") or {}) and not _MOUNTED & spec.keys():
        reason = "may not specify mount options for this volume type"
        yield forbidden_field(f"metadata.annotations.{_MOUNT_OPTIONS}", reason)


@rule(update=True)
def volume_update(new: Object, old: Object, _: FieldScope) -> Iterator[Cause]:
    """Check that an update keeps the source of a volume."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    if _source(spec) != _source(before):
        changes = go_diff("PersistentVolumeSource", before, spec)
        reason = f"spec.persistentvolumesource is immutable after creation\n{changes}"
        yield forbidden_field("spec.persistentvolumesource", reason)
    if spec.get("volumeMode") != before.get("volumeMode"):
        yield invalid_value("volumeMode", spec.get("volumeMode"), IMMUTABLE)
    yield from _affinity_change(spec.get("nodeAffinity"), before.get("nodeAffinity"))


def _affinity_change(new: Object | None, old: Object | None) -> Iterator[Cause]:
    if old is None or new in (old, _with_general_labels(old)) or current().enabled("MutablePVNodeAffinity"):
        return
    reason = f"{IMMUTABLE}, except for updating from beta label to GA"
    yield invalid_value("nodeAffinity", go_struct("VolumeNodeAffinity", new), reason)


def _with_general_labels(affinity: Object) -> Object:
    """Return the affinity with the labels that replace those of beta versions."""
    terms = [
        {**term, "matchExpressions": [{**each, "key": _LABELS.get(each["key"], each["key"])} for each in expressions]}
        if (expressions := term.get("matchExpressions"))
        else term
        for term in affinity["required"].get("nodeSelectorTerms") or ()
    ]
    return {**affinity, "required": {**affinity["required"], "nodeSelectorTerms": terms}}


def _source(spec: Object) -> Object:
    source = {field: value for field, value in spec.items() if field not in VOLUME_SETTINGS}
    if isinstance(source.get("csi"), dict):
        source["csi"] = {
            field: member for field, member in source["csi"].items() if field != "controllerExpandSecretRef"
        }
    return source


@rule()
def matching_sources(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check that both fields of the source of a claim name the same; the message has no value."""
    source, reference = value.get("dataSource"), value.get("dataSourceRef")
    if source is None or reference is None:
        return
    if reference.get("namespace"):
        yield invalid_value("", {}, "may not be specified when dataSourceRef.namespace is specified")
    elif any((source.get(field) or "") != (reference.get(field) or "") for field in ("apiGroup", "kind", "name")):
        yield invalid_value("", {}, "must match dataSourceRef")


@rule(update=True)
def claim_update(new: Object, old: Object, _: FieldScope) -> Iterator[Cause]:
    """Check that an update changes nothing but the size and the attributes of a bound claim."""
    spec, before = dict(new.get("spec") or {}), old.get("spec") or {}
    ignored = set() if before.get("volumeName") else {"volumeName"}
    if (new.get("status") or {}).get("phase") == "Bound":
        ignored |= {"resources", "volumeAttributesClassName"}
    if before.get("storageClassName") is None and spec.get("storageClassName"):
        ignored.add("storageClassName")  # the default class is set later
    if any(spec.get(field) != before.get(field) for field in {*spec, *before} - ignored):
        with_ignored = {**spec, **{field: before.get(field) for field in ignored}}
        reason = (
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
        )
        changes = go_diff("PersistentVolumeClaimSpec", before, with_ignored)
        yield forbidden_field("spec", f"{reason}\n{changes}")
    held = _storage((old.get("status") or {}).get("capacity"))
    if _size(spec) < _size(before) and _size(spec) <= held:
        yield forbidden_field("spec.resources.requests.storage", "field can not be less than status.capacity")
    if spec.get("volumeMode") != before.get("volumeMode"):
        yield invalid_value("volumeMode", spec.get("volumeMode"), IMMUTABLE)


def _size(spec: Object) -> Any:
    return _storage((spec.get("resources") or {}).get("requests"))


def _storage(amounts: Object | None) -> Any:
    parsed = amount((amounts or {}).get("storage"))
    return 0 if parsed is None else parsed.value


@rule()
def parameters(value: dict[str, str], _: FieldScope) -> Iterator[Cause]:
    """Check the parameters of a storage class."""
    if len(value) > _MAX_PARAMETERS:
        yield too_long("", _MAX_PARAMETERS)
        return
    if "" in value:
        yield invalid_value("", "", "field can not be empty.")
    if sum(len(key.encode()) + len(text.encode()) for key, text in value.items()) > _MAX_PARAMETER_SIZE:
        yield too_long("", _MAX_PARAMETER_SIZE)


@rule()
def provisioner(value: str, _: FieldScope) -> Iterator[Cause]:
    """Check the name of a provisioner."""
    for reason in qualified_errors(value.lower()) if value else ():
        yield invalid_value("", value.lower(), reason)


@rule()
def distinct_topologies(value: list[Object], _: FieldScope) -> Iterator[Cause]:
    """Check that the topologies of a class differ, and the keys of each; an empty topology is always a duplicate."""
    earlier: list[dict[str, set[str]]] = [{} for _ in value]
    for index, term in enumerate(value):
        topology: dict[str, set[str]] = {}
        for number, requirement in enumerate(term.get("matchLabelExpressions") or ()):
            key = requirement.get("key") or ""
            if key in topology:
                yield duplicate(f"[{index}].matchLabelExpressions[{number}].key", key)
            topology[key] = {*(requirement.get("values") or ())}
        for _repeated in range(earlier.count(topology)):
            yield duplicate(f"[{index}].matchLabelExpressions", "")
        earlier.append(topology)


@rule()
def token_requests(value: list[Object], _: FieldScope) -> Iterator[Cause]:
    """Check that the tokens of a driver have different audiences, and their lifetimes."""
    audiences = set()
    for index, request in enumerate(value):
        audience, seconds = request.get("audience") or "", request.get("expirationSeconds")
        if audience in audiences:
            yield duplicate(f"[{index}].audience", audience)
            continue
        audiences.add(audience)
        if seconds is not None and seconds < _LEAST_TOKEN_SECONDS:
            reason = "may not specify a duration less than 10 minutes"
            yield invalid_value(f"[{index}].expirationSeconds", seconds, reason)
        if seconds is not None and seconds > _MOST_TOKEN_SECONDS:
            reason = "may not specify a duration larger than 2^32 seconds"
            yield invalid_value(f"[{index}].expirationSeconds", seconds, reason)


@rule()
def node_id(value: str, _: FieldScope) -> Iterator[Cause]:
    """Check the length of the name of a node that a driver knows."""
    if len(value.encode()) > _MAX_NODE_ID:
        yield invalid_value("", value, f"must be {_MAX_NODE_ID} characters or less")


@rule()
def topology_keys(value: list[str], _: FieldScope) -> Iterator[Cause]:
    """Check the keys of a driver's topology; errors name the driver."""
    for index, key in enumerate(value):
        if not key:
            yield required("")
        if key in value[:index]:
            yield duplicate("", key)
        yield from (invalid_value("", key, reason) for reason in qualified_errors(key))


@rule(update=True)
def driver_updates(new: list[Object] | None, old: list[Object] | None, _: FieldScope) -> Iterator[Cause]:
    """Check that a driver of a node changes in nothing but its limits."""
    for earlier in old or ():
        for driver in new or ():
            after, before = ({**each, "allocatable": None} for each in (driver, earlier))
            if driver.get("name") == earlier.get("name") and after != before:
                yield invalid_value("", go_struct("CSINodeDriver", after), IMMUTABLE)
