"""Comparison of states of different runs, without what differs between two runs of the same scenario anyway.

Uids, versions and times of the server never count, nor do the node and addresses of a workload's pod and the endpoints
that follow from them: which of two alike pods is first is chance. Everything else that differs between the learning
runs, whose times, versions and generated names are different ones, is masked: `Masks` lists it by resource and path. Of
masked times, the clock's are comparable all the same in runs that begin at the same time: an older one is a lost
update.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from clientgo.perturb.differences import FieldPath, MaskedValue, differences, time_of, value_at
from clientgo.perturb.state import ClusterState, Object, ObjectRef, owner_uids

_SERVER_FIELDS = frozenset(("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink"))
_TIMES = frozenset(("lastTransitionTime", "lastUpdateTime", "lastProbeTime", "lastHeartbeatTime", "renewTime"))
_PLACEMENT = {"spec": ("nodeName",), "status": ("hostIP", "hostIPs", "podIP", "podIPs")}  # of a pod, by the server
_DERIVED = {
    "endpoints": ("endpoints.kubernetes.io/managed-by", "endpoint-controller"),
    "endpointslices.discovery.k8s.io": ("endpointslice.kubernetes.io/managed-by", "endpointslice-controller.k8s.io"),
}
"""Label and value of objects that the cluster keeps of Services and pods, in the order of the pods' random names."""
UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_UUID_LENGTH = 36
_ADDRESSES = {"pods": ("status", "podIP"), "services": ("spec", "clusterIP")}
"""Fields with the address that the server has chosen."""
_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_DOTS = 3
_IGNORED = object()  # in place of a value that the user ignores, and which may be absent as well
OUTSIDE = "outside"
"""Resource that stands for the state outside the cluster in the masks of the user."""

_COPIES = ("/last-applied-configuration", "/last-handled-configuration")
"""Ends of annotations in which kubectl and kopf keep a copy of the object."""

_OF_EVERY_CLUSTER = frozenset(("default", "kube-node-lease", "kube-public", "kube-system"))

PathMasks = dict[str, Any]
"""Masked paths of a resource as a tree by their keys; the node at the end of one has `_END`: if the user ignores it."""
_END = ""


class Masks:
    """Fields and names that do not count, by resource; `ignore` are those of the user, as `foos.example.com:status.x`.

    A path of the user may have `*` for any key or item; after `metadata.annotations` or `metadata.labels`, all of it is
    one key. Without a path, the resource does not count at all. `outside` is the state outside the cluster. `any_order`
    are fields whose values the objects may have exchanged, or the keys of a map if the path ends with `.*`.
    """

    def __init__(self, ignore: Iterable[str] = (), any_order: Iterable[str] = ()) -> None:
        self.fields: set[tuple[str, FieldPath]] = set()
        self.names: set[tuple[str, str]] = set()
        """Resources and the part before the last dash of names that are random."""
        self.resources: set[str] = set()
        self.outside: set[FieldPath] = set()
        """Paths of the state outside that differ between the learning runs."""
        for text in ignore:
            resource, _, path = text.partition(":")
            if path not in ("", "*"):
                self.fields.add((resource, _keys(path)))
            else:
                self.resources.add(resource)
        self.are_times = True
        """False once something other than times was masked."""
        self.ignored = frozenset(self.fields)
        texts = (text.partition(":") for text in any_order)
        self.any_order = frozenset((resource, _keys(path)) for resource, _, path in texts)
        self._paths: tuple[int, Mapping[str, PathMasks]] = (0, {})
        """Number of fields for which the paths were last collected, which only grows, and these."""

    def __repr__(self) -> str:
        return f"<Masks {len(self.fields)} fields, {len(self.names)} names>"

    @property
    def version(self) -> tuple["Masks", int, int]:
        """Key of what is masked now."""
        return self, len(self.fields), len(self.names)

    def paths(self) -> Mapping[str, PathMasks]:
        """Return the masked paths by resource."""
        if self._paths[0] != len(self.fields):
            paths: dict[str, PathMasks] = {}
            for resource, path in self.fields:
                node = paths.setdefault(resource, {})
                for key in path:
                    node = node.setdefault(f"/{key}", {})
                node[_END] = (resource, path) in self.ignored
            self._paths = len(self.fields), paths
        return self._paths[1]

    def ignores(self, resource: str, path: FieldPath) -> bool:
        """Return whether a path, or one above it, does not count."""
        masks = [mask for masked, mask in self.ignored if masked == resource]
        masks += self.outside if resource == OUTSIDE else ()
        return any(_matches(mask, path[: len(mask)]) for mask in masks)

    def learn(self, first: ClusterState, second: ClusterState) -> None:
        """Mask what differs between the same state of two learning runs."""
        for ref in first.keys() ^ second.keys():
            if "-" in ref.name and not _is_generated(first.get(ref) or second[ref]) and not UUID.search(ref.name):
                self.names.add((ref.resource, ref.name.rpartition("-")[0]))
                self.are_times = False
        before, after = normalized(first, self), normalized(second, self)
        for ref in before.keys() & after.keys():
            for path, *values in differences(before[ref], after[ref]):
                self.are_times = self.are_times and None not in map(time_of, values)
                self.fields.add((ref.resource, tuple("*" if part.isdigit() else part for part in path)))

    def learn_all(self, first: Sequence[ClusterState], second: Sequence[ClusterState]) -> None:
        """Mask what differs between the states of two learning runs."""
        for pair in zip(first, second, strict=False):
            self.learn(*pair)

    def lines(self) -> list[str]:
        """Return the masks for people, sorted."""
        names = [f"{resource}: names {prefix}-*" for resource, prefix in self.names]
        fields = [*self.fields, *((OUTSIDE, path) for path in self.outside)]
        return sorted(names + [f"{resource}:{'.'.join(path)}" for resource, path in fields])


def _keys(path: str) -> FieldPath:
    """Return the keys of a path that a user has written."""
    keys = tuple(path.split("."))
    if keys[:2] in (("metadata", "annotations"), ("metadata", "labels")) and len(keys) > 2:
        return (*keys[:2], ".".join(keys[2:]))
    return keys


def normalized(state: ClusterState, masks: Masks) -> Mapping[ObjectRef, Any]:
    """Return the objects of a state in a form that is equal in equal runs; it must not be modified."""
    if state.normal is None or state.normal[0] != masks.version:
        state.normal = masks.version, _normalized(state, masks)
    return state.normal[1]


def _normalized(state: ClusterState, masks: Masks) -> dict[ObjectRef, Any]:
    names, texts = _renamed(state, masks)
    results = {
        names.get(ref, ref): _normal_object(ref.resource, obj, texts, masks)
        for ref, obj in state.items()
        if ref.resource not in masks.resources and not _is_derived(ref, obj) and not _is_of_every_cluster(ref, obj)
    }
    for resource, path in masks.any_order:
        _sort_values([results[ref] for ref in sorted(results) if ref.resource == resource], path)
    return results


def _sort_values(objects: list[Any], path: FieldPath) -> None:
    """Give the values that objects have at a path to them in a fixed order; `*` at its end is each key of a map."""
    *above, name = path
    holders = (holder for obj in objects if isinstance(holder := value_at(obj, above), dict))
    slots = [(holder, key) for holder in holders for key in sorted(holder) if name in ("*", key)]
    ordered = sorted((holder[key] for holder, key in slots), key=_sort_key)
    for (holder, key), value in zip(slots, ordered, strict=True):
        holder[key] = value


def _sort_key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def normalized_object(state: ClusterState, ref: ObjectRef, masks: Masks) -> Any:
    """Return one object of a state in the form of `normalized`."""
    return _normal_object(ref.resource, state[ref], _renamed(state, masks)[1], masks)


def _renamed(state: ClusterState, masks: Masks) -> tuple[dict[ObjectRef, ObjectRef], dict[str, str]]:
    """Return the equal names of objects with random ones, and the texts that stand for names and uids."""
    names: dict[ObjectRef, ObjectRef] = {}
    counts: Counter[tuple[str, str, str]] = Counter()
    refs = {obj["metadata"]["uid"]: ref for ref, obj in state.items()}
    for ref in sorted(state, key=lambda ref: (_depth(state[ref], state, refs), *_order(ref, state[ref]))):
        obj, stem, uid = state[ref], ref.name.rpartition("-")[0], UUID.search(ref.name)
        owners = (refs[uid] for uid in owner_uids(obj) if refs.get(uid) in names)
        owner = next((names[each] for each in owners if ref.name.startswith(f"{each.name}-")), None)
        if owner is not None or uid or _is_generated(obj) or (ref.resource, stem) in masks.names:
            before = ref.name[: uid.start()] if uid else f"{stem}-"  # a volume has the uid of its claim
            stem = obj["metadata"].get("generateName", before) if owner is None else f"{owner.name}-"
            counts[ref.resource, ref.namespace, stem] += 1
            names[ref] = ref._replace(name=f"{stem}*{counts[ref.resource, ref.namespace, stem]}")
    texts = {ref.name: renamed.name for ref, renamed in names.items()}
    for ref, obj in state.items():
        texts[obj["metadata"]["uid"]] = f"(uid of {names.get(ref, ref)})"
        address = value_at(obj, _ADDRESSES.get(ref.resource, ("metadata", "")))
        if address and _ADDRESS.fullmatch(address):
            texts[address] = f"(address of {names.get(ref, ref)})"
    return names, texts


def _normal_object(resource: str, obj: Object, texts: Mapping[str, str], masks: Masks) -> Any:
    generation = obj["metadata"].get("generation")
    obj = _unplaced(resource, obj)
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _SERVER_FIELDS}
    if "deletionTimestamp" in metadata:
        metadata["deletionTimestamp"] = "(set)"
    tree = masks.paths().get(resource)
    normal = _normal({**obj, "metadata": metadata}, "", texts, [tree] if tree else [], generation)
    if isinstance(normal, dict) and isinstance(normal["metadata"], dict):
        for name in ("labels", "annotations"):
            if normal["metadata"].get(name) == {}:
                del normal["metadata"][name]
        for name in ("ownerReferences", "finalizers"):  # sets, in the order in which several writers came
            if isinstance(items := normal["metadata"].get(name), list):
                normal["metadata"][name] = sorted(items, key=_sort_key)
        if status := _without_empty(normal.pop("status", None)):
            normal["status"] = status
    return normal


def _without_empty(value: Any) -> Any:
    """Return a status without empty values: a controller that writes False, 0 or a list without items says nothing."""
    if isinstance(value, dict):
        members = {key: _without_empty(member) for key, member in value.items()}
        return {key: member for key, member in members.items() if member}
    return [_without_empty(item) for item in value] if isinstance(value, list) else value


def _normal(value: Any, name: str, texts: Mapping[str, str], masks: list[PathMasks], generation: Any) -> Any:
    """Return a value in the form of `normalized`; `name` is its key, and `masks` are the nodes of its path."""
    if masks and (ends := [mask[_END] for mask in masks if _END in mask]):
        return _IGNORED if any(ends) else MaskedValue(value)
    if isinstance(value, dict):
        result = {}
        for key, member in value.items():
            if key in _TIMES or key.endswith(_COPIES):
                continue
            below = masks and _below(masks, key)
            if key == "observedGeneration" and isinstance(member, int) and generation is not None:
                result[key] = _observed(member, generation)
            elif member.__class__ is str and not below:
                result[key] = _normal_text(member, texts)  # as `_normal` does: most members are texts
            elif (normal := _normal(member, key, texts, below, generation)) is not _IGNORED:
                result[key] = normal
        return result
    if isinstance(value, list):
        normals = (
            _normal(item, "", texts, masks and _below(masks, str(n)), generation) for n, item in enumerate(value)
        )
        items = [normal for normal in normals if normal is not _IGNORED]
        # several writers add their conditions in any order
        return sorted(items, key=lambda each: str(value_at(each, ("type",)))) if name == "conditions" else items
    return _normal_text(value, texts) if isinstance(value, str) else value


def _below(masks: list[PathMasks], key: str) -> list[PathMasks]:
    return [node for mask in masks for part in (f"/{key}", "/*") if (node := mask.get(part)) is not None]


def _normal_text(value: str, texts: Mapping[str, str]) -> str:
    if value in texts:
        return texts[value]
    if value.count(".") >= _DOTS:
        value = _ADDRESS.sub(lambda match: texts.get(match[0], match[0]), value)
    return UUID.sub(lambda match: texts.get(match[0], "(uid)"), value) if len(value) >= _UUID_LENGTH else value


def _observed(observed: int, generation: int) -> str:
    if observed == 0:
        return "(none)"  # never written, the default
    return "(current)" if observed == generation else f"(current - {generation - observed})"


def _matches(mask: FieldPath, path: FieldPath) -> bool:
    return len(mask) == len(path) and all(part in ("*", key) for part, key in zip(mask, path, strict=True))


def _is_generated(obj: Object) -> bool:
    return bool(obj["metadata"].get("generateName"))


def _depth(obj: Object, state: ClusterState, refs: Mapping[str, ObjectRef]) -> int:
    """Return the number of owners above an object; names may be derived from theirs."""
    depth, seen = 0, set[str]()
    while (uid := next((uid for uid in owner_uids(obj) if uid in refs and uid not in seen), "")) and depth < _DEEPEST:
        seen.add(uid)
        obj, depth = state[refs[uid]], depth + 1
    return depth


_DEEPEST = 8


def _is_of_every_cluster(ref: ObjectRef, obj: Object) -> bool:
    """Return whether an object is one that a cluster begins with, and as it is then."""
    if ref.resource != "namespaces" or ref.name not in _OF_EVERY_CLUSTER:
        return False
    keys = [key for name in ("labels", "annotations", "finalizers") for key in obj["metadata"].get(name) or ()]
    return all(key == "kubernetes.io/metadata.name" or key.endswith(_COPIES) for key in keys)


def _is_derived(ref: ObjectRef, obj: Object) -> bool:
    label, value = _DERIVED.get(ref.resource, ("", ""))
    return bool(label) and (obj["metadata"].get("labels") or {}).get(label) == value


def unplaced(pod: Object) -> Object:
    """Return a pod without what the scheduler and the kubelet chose."""
    details = {
        name: {k: v for k, v in (pod.get(name) or {}).items() if k not in _PLACEMENT[name]} for name in _PLACEMENT
    }
    metadata = dict(pod["metadata"])
    if labels := metadata.get("labels"):
        metadata["labels"] = {key: labels[key] for key in labels if not key.startswith("topology.kubernetes.io/")}
    return {**pod, **details, "metadata": metadata}


def _unplaced(resource: str, obj: Object) -> Object:
    """Return a pod of a workload without its placement; others may be placed by the user."""
    return unplaced(obj) if resource == "pods" and _is_generated(obj) else obj


def _order(ref: ObjectRef, obj: Object) -> tuple[str, str, str]:
    """Return what sorts objects alike in equal runs: creation, then, of random names, the content; last, the name."""
    meta = obj["metadata"]
    content = ""
    if _is_generated(obj):
        content = json.dumps([meta.get("labels"), _unplaced(ref.resource, obj).get("spec")], sort_keys=True)
    return str(meta.get("creationTimestamp", "")), content, ref.name
