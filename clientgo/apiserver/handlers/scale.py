"""The scale subresource: `autoscaling/v1` Scale over whatever paths a kind keeps its replicas under."""

from typing import Any

from clientgo.apiserver.handlers.patches.formats import json_patch
from clientgo.apiserver.handlers.patching import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from clientgo.apiserver.handlers.reading import get
from clientgo.apiserver.handlers.updating import check_name, replace
from clientgo.apiserver.handlers.writes import Write
from clientgo.apiserver.http.decode import media_type, read_json, read_object
from clientgo.apiserver.http.status import Cause, bad_request, invalid, modified, unsupported_media_type
from clientgo.apiserver.registry.metadata import json_type, normalize
from clientgo.apiserver.registry.registry import Resource
from clientgo.apiserver.registry.views import from_storage
from clientgo.apiserver.state import State
from clientgo.meta.patches import mergepatch
from clientgo.meta.scheme import Scale

Object = dict[str, Any]

# What a Scale is decoded as, whatever resource it belongs to.
SCALE = Resource(
    group="autoscaling",
    version="v1",
    plural="scales",
    kind="Scale",
    singular="scale",
    list_kind="",
    namespaced=True,
)
_PATCHES = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH)


def scale_of(paths: Scale, obj: Object) -> Object:
    """The Scale an object shows."""
    meta = obj["metadata"]
    fields = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    spec = _dig(obj, paths.spec_path)
    status: Object = {"replicas": _dig(obj, paths.status_path) or 0}
    selector = _selector(_dig(obj, paths.selector_path)) if paths.selector_path else ""
    if selector:
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": SCALE.api_version,
        "metadata": {field: meta[field] for field in fields if field in meta},
        "spec": {"replicas": spec} if spec else {},
        "status": status,
    }


def read_scale(state: State, resource: Resource, namespace: str, name: str) -> Object:
    """The Scale of a stored object.

    Raises:
        ApiFailure: 404.
    """
    assert resource.scale is not None, "only asked for resources that scale"
    return scale_of(resource.scale, from_storage(resource, get(state, resource, namespace, name).object))


def write_scale(state: State, write: Write, body: bytes, content_type: str, *, patch: bool) -> Object:
    """Set the replicas of a stored object through its Scale, replaced or patched; return the Scale.

    Raises:
        ApiFailure: 404, 409 on an old version, 422 for a negative number.
    """
    resource = write.resource
    assert resource.scale is not None, "only asked for resources that scale"
    entry = get(state, resource, write.namespace, write.name)
    shown = from_storage(resource, entry.object)
    current = scale_of(resource.scale, shown)
    wanted = _patched(current, body, content_type) if patch else read_object(body, content_type, SCALE)
    meta = normalize(wanted.get("metadata"), "Scale")
    check_name(write, {"name": write.name, **meta})
    if meta.get("resourceVersion", current["metadata"]["resourceVersion"]) != current["metadata"]["resourceVersion"]:
        raise modified(resource, write.name)
    replicas = _dig(wanted, "spec.replicas") or 0
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        why = f"cannot unmarshal {json_type(replicas)} into Go struct field ScaleSpec.spec.replicas of type int32"
        raise bad_request(f'Scale in version "v1" cannot be handled as a Scale: json: {why}')
    if replicas < 0:
        why = f"Invalid value: {replicas}: must be greater than or equal to 0"
        raise invalid("Scale", "autoscaling", write.name, [Cause("FieldValueInvalid", "spec.replicas", why)])
    obj = _put(shown, resource.scale.spec_path.strip(".").split("."), replicas)
    write.subresource = "scale"
    return scale_of(resource.scale, replace(state, write, entry, obj))


def _patched(current: Object, body: bytes, content_type: str) -> Object:
    kind = media_type(content_type)
    if kind not in _PATCHES:
        raise unsupported_media_type(_PATCHES)
    value = read_json(body, "Scale")
    patched = json_patch(current, value) if kind == JSON_PATCH else mergepatch.apply(current, value)
    return patched if isinstance(patched, dict) else {}


def _dig(obj: Any, path: str) -> Any:
    for field in path.strip(".").split("."):
        obj = obj.get(field) if isinstance(obj, dict) else None
    return obj


def _put(obj: Object, path: list[str], value: Any) -> Object:
    if len(path) == 1:
        return {**obj, path[0]: value}
    child = obj.get(path[0])
    return {**obj, path[0]: _put(child if isinstance(child, dict) else {}, path[1:], value)}


def _selector(value: Any) -> str:
    """A selector as text, from text, from a LabelSelector, or from a plain map of labels."""
    if not isinstance(value, dict):
        return value if isinstance(value, str) else ""
    labels = value.get("matchLabels", value if "matchExpressions" not in value else {})
    terms = [f"{key}={text}" for key, text in labels.items()]
    for one in value.get("matchExpressions") or ():
        listed = ",".join(sorted(one.get("values") or ()))
        forms = {
            "In": f"{one['key']} in ({listed})",
            "NotIn": f"{one['key']} notin ({listed})",
            "Exists": one["key"],
            "DoesNotExist": "!" + one["key"],
        }
        terms.append(forms.get(one.get("operator", ""), ""))
    return ",".join(sorted(terms))
