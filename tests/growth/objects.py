"""Growth cases of objects: lists, patches, managed fields, webhooks."""

import json
from typing import Any

from clientgo.kubernetes.types.core_v1 import ConfigMap, Pod
from clientgo.meta import from_dict, replace
from clientgo.meta.apply.mergerules import MergeRule, merge_rule
from clientgo.meta.codec import codec_for
from clientgo.meta.patches import PatchError, jsonpatch, mergepatch
from clientgo.meta.patches.overlay import changed
from clientgo.webhook.field import Errors, Path, invalid
from clientgo.webhook.todict import to_dict_with_defaults
from clientgo_apiserver.merging import comparison, managedfields, serverside, strategic
from clientgo_apiserver.merging.managedfields import FieldManager, ManagedType

CODEC = codec_for(ConfigMap)
ME, OTHER = FieldManager("me", "Apply", "v1"), FieldManager("other", "Apply", "v1")

Object = dict[str, Any]


def rules(location: tuple[str, ...]) -> MergeRule | None:
    return merge_rule("Pod", location)


POD, CONFIGMAP = ManagedType(rules), ManagedType(lambda location: merge_rule("ConfigMap", location))


def pod(count: int, image: str = "x") -> Object:
    labels = {f"a{number}": image for number in range(count)}
    containers = [{"name": f"c{number}", "image": image, "unknown": 1} for number in range(count)]
    meta = {"name": "a", "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": containers}}


def spec(count: int, *containers: Object, **members: Any) -> tuple[Object, Object]:
    """Return a pod, and a strategic patch of its spec."""
    return pod(count), {"spec": {"containers": [*containers], **members}}


def merged(pair: tuple[Object, Object]) -> object:
    return strategic.apply(pair[0], pair[1], rules)


def configmaps(count: int, value: str = '"v"') -> bytes:
    items = [f'{{"metadata":{{"name":"a{n}","namespace":"b"}},"data":{{"k":{value}}}}}' for n in range(count)]
    return f'{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{{}},"items":[{",".join(items)}]}}'.encode()


def applied(count: int) -> tuple[Object, Object, Object]:
    """Return a pod that was applied, the same without its labels and containers, and with other images."""
    result = serverside.apply({}, pod(count), ME, POD, force=False, time="t")
    live = {**result.obj, "metadata": {**result.obj["metadata"], "managedFields": result.entries}}
    return live, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}, pod(count, "y")


def settings(count: int) -> Object:
    """Return a ConfigMap that was applied."""
    config = {"apiVersion": "v1", "kind": "ConfigMap", "data": {f"k{number}": "v" for number in range(count)}}
    result = serverside.apply({}, {**config, "metadata": {"name": "a"}}, ME, CONFIGMAP, force=False, time="t")
    return {**result.obj, "metadata": {"name": "a", "managedFields": result.entries}}


def without_settings(live: Object) -> object:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k0": "v"}}
    return serverside.apply(live, config, ME, CONFIGMAP, force=False, time="t")


def reversed_pod(count: int) -> tuple[Object, Pod, Pod]:
    before = from_dict(Pod, pod(count))
    return pod(count), before, replace(before, spec=replace(before.spec, containers=before.spec.containers[::-1]))


def problems(count: int) -> object:
    return str(Errors([invalid(Path("spec") / "a" / number, number, "too large") for number in range(count)]))


def operations(count: int, **operation: Any) -> tuple[Object, list[Object]]:
    return {"a": [1, 2, 3], "b": {}}, [operation] * count


def patched(pair: tuple[Object, list[Object]]) -> object:
    return jsonpatch.apply(*pair)


CASES: dict[str, tuple[Any, ...]] = {
    "list": (configmaps, CODEC.decode_list),
    "list of invalid objects": (lambda n: configmaps(n, "5"), CODEC.decode_list),
    "list with nulls": (lambda n: configmaps(n, "null"), CODEC.decode_list),
    "object with nulls": (lambda n: json.dumps({"data": {f"a{i}": None for i in range(n)}}).encode(), CODEC.decode),
    "JSON patch that adds": (lambda n: operations(n, op="add", path="/a/-", value=1), patched),
    "JSON patch that inserts": (lambda n: operations(n, op="add", path="/a/0", value=1), patched),
    "JSON patch that moves": (lambda n: operations(n, op="move", path="/a/-", **{"from": "/a/0"}), patched),
    "JSON patch that copies": (lambda n: operations(n, op="copy", path="/b/c", **{"from": "/a"}), patched),
    "JSON patch with a long path": (
        lambda n: operations(1, op="test", path="/a" * n, value=1),
        patched,
        600,
        PatchError,
    ),
    "difference of lists": (lambda n: ([*range(n)], [*range(n, 0, -1)]), lambda p: jsonpatch.diff(*p)),
    "difference of objects": (lambda n: (pod(n), pod(n, "y")), lambda p: jsonpatch.diff(*p)),
    "merge patch": (lambda n: (pod(n), pod(n, "y")), lambda p: mergepatch.apply(*p)),
    "merge patch that is created": (lambda n: (pod(n), pod(n, "y")), lambda p: mergepatch.create(*p)),
    "strategic patch": (lambda n: (pod(n), pod(n, "y")), merged),
    "strategic patch that deletes": (
        lambda n: spec(n, *({"name": f"c{i}", "$patch": "delete"} for i in range(n))),
        merged,
    ),
    "strategic patch that sorts": (
        lambda n: spec(n, **{"$setElementOrder/containers": [{"name": f"c{i}"} for i in range(n, 0, -1)]}),
        merged,
    ),
    "strategic patch that adds": (
        lambda n: spec(n, *({"name": f"n{i}"} for i in range(n)), **{"$setElementOrder/containers": []}),
        merged,
    ),
    "strategic patch of repeated names": (
        lambda n: ({"spec": {"containers": [{"name": f"c{i % 9}"} for i in range(n)]}}, spec(0, {"name": "c4"})[1]),
        merged,
    ),
    "strategic patch of one item": (
        lambda n: spec(2, {"name": "c1", **{f"f{i}": 1 for i in range(n)}}, *({"name": "c1"} for _ in range(n))),
        merged,
    ),
    "strategic patch of texts": (
        lambda n: ({"metadata": {"finalizers": [f"a/{i}" for i in range(n)]}}, [f"a/{i}" for i in range(n, 0, -1)]),
        lambda p: merged((p[0], {"metadata": {"finalizers": p[1], "$deleteFromPrimitiveList/finalizers": p[1]}})),
    ),
    "strategic patch that retains": (
        lambda n: spec(n, **{"$retainKeys": ["containers", *(f"a{i}" for i in range(n))]}),
        merged,
    ),
    "managed fields": (lambda n: pod(n), lambda obj: comparison.field_set(obj, rules)),
    "managed fields that change": (lambda n: (pod(n), pod(n, "y")), lambda p: comparison.compare(p[0], p[1], rules)),
    "apply that changes nothing": (
        applied,
        lambda a: serverside.apply(a[0], pod(len(a[2]["spec"]["containers"])), ME, POD, force=False, time="t"),
        12,
    ),
    "apply that removes": (applied, lambda a: serverside.apply(a[0], a[1], ME, POD, force=False, time="t"), 12),
    "apply that removes members of a map": (settings, without_settings, 300),
    "apply with conflicts": (
        applied,
        lambda a: serverside.apply(a[0], a[2], OTHER, POD, force=False, time="t"),
        12,
        serverside.ApplyConflict,
    ),
    "apply by force": (applied, lambda a: serverside.apply(a[0], a[2], OTHER, POD, force=True, time="t"), 12),
    "update of managed fields": (
        applied,
        lambda a: managedfields.after_update(a[0]["metadata"]["managedFields"], a[0], a[2], OTHER, POD, time="t"),
    ),
    "changes of a defaulter": (reversed_pod, lambda pieces: changed(*pieces)),
    "result of a conversion": (lambda n: from_dict(Pod, pod(n)), to_dict_with_defaults),
    "errors of a validator": (lambda n: n, problems),
}
