"""Decoding and validation of built-in kinds, as by Go's types and validators.

Decoding: unknown fields are dropped and reported, nulls and empty maps and lists vanish as with `omitempty`, a value of
the wrong type is a 400. Validation: the most common rules, in the real server's words.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from clientgo.apiserver.apiextensions import crdschema
from clientgo.apiserver.apiextensions.cel import condition_error
from clientgo.apiserver.http.status import (
    Cause,
    bad_request,
    duplicate,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
    too_long,
)
from clientgo.apiserver.registry.metadata import json_type
from clientgo.apiserver.registry.names import data_key_errors, label_errors, subdomain_errors
from clientgo.apiserver.registry.openapi_builtin import schema_for
from clientgo.apiserver.registry.registry import Object, Resource

_CHOICES = {
    "sideEffects": ("None", "NoneOnDryRun"),
    "failurePolicy": ("Fail", "Ignore"),
    "matchPolicy": ("Equivalent", "Exact"),
    "reinvocationPolicy": ("IfNeeded", "Never"),
}
_SEGMENTS = 3


def webhook_errors(configuration: Object, _: Object | None) -> list[Cause]:
    """Return the errors of a configuration's webhooks."""
    found: list[Cause] = []
    seen: list[str] = []
    for index, hook in enumerate(configuration.get("webhooks") or ()):
        where, name = f"webhooks[{index}]", hook.get("name") or ""
        if name in seen:
            found.append(duplicate(f"{where}.name", name))
        seen.append(name)
        found += _hook_errors(hook, where, name)
    return found


def _hook_errors(hook: Object, where: str, name: str) -> list[Cause]:
    found = [invalid_value(f"{where}.name", name, why) for why in subdomain_errors(name)] if name else []
    if not name:
        found.append(required(f"{where}.name"))
    elif not found and len(name.split(".")) < _SEGMENTS:
        why = "should be a domain with at least three segments separated by dots"
        found.append(invalid_value(f"{where}.name", name, why))
    versions, effects, seconds = (hook.get(one) for one in ("admissionReviewVersions", "sideEffects", "timeoutSeconds"))
    if not versions:
        found.append(required(f"{where}.admissionReviewVersions", "must specify one of v1, v1beta1"))
    elif not {"v1", "v1beta1"} & set(versions):
        why = "must include at least one of v1, v1beta1"
        found.append(invalid_value(f"{where}.admissionReviewVersions", versions, why))
    if effects is None:
        found.append(required(f"{where}.sideEffects", "must specify one of None, NoneOnDryRun"))
    for field, choices in _CHOICES.items():
        if hook.get(field) is not None and hook[field] not in choices:
            found.append(not_supported(f"{where}.{field}", hook[field], choices))
    if seconds is not None and not 1 <= seconds <= 30:
        why = "the timeout value must be between 1 and 30 seconds"
        found.append(invalid_value(f"{where}.timeoutSeconds", seconds, why))
    for number, one in enumerate(hook.get("matchConditions") or ()):
        field, text = f"{where}.matchConditions[{number}].expression", one.get("expression") or ""
        found += [invalid_value(field, text, why) for why in filter(None, (condition_error(text),))]
    return found + _hook_client_errors(hook.get("clientConfig") or {}, f"{where}.clientConfig")


def _hook_client_errors(client: Object, where: str) -> list[Cause]:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        return [required(where, "exactly one of url or service is required")]
    if url is None:
        members = ("name", "namespace")
        return [required(f"{where}.service.{field}") for field in members if not (service or {}).get(field)]
    parts, form = urlsplit(url), "; desired format: https://host[/path]"
    if parts.scheme != "https":
        return [invalid_value(f"{where}.url", parts.scheme, f"'https' is the only allowed URL scheme{form}")]
    return [] if parts.netloc else [invalid_value(f"{where}.url", parts.netloc, f"host must be specified{form}")]


Schema = dict[str, Any]
Check = Callable[[Object, Object | None], list[Cause]]

# Written even if null or empty: their Go types have no omitempty.
_WRITTEN_EMPTY = frozenset({"eventTime", "firstTimestamp", "lastTimestamp", "rules", "conditions", "emptyDir"})
# A schema is data: an empty default in it has a meaning.
_OPAQUE = ".openAPIV3Schema"
# Fast path: most values are exactly of these types.
_PLAIN: dict[type, str] = {str: "string", int: "integer", bool: "boolean", float: "number"}
_GO_TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "string": (lambda value: isinstance(value, str), "string"),
    "integer": (lambda value: isinstance(value, int) and not isinstance(value, bool), "int32"),
    "boolean": (lambda value: isinstance(value, bool), "bool"),
    "number": (lambda value: isinstance(value, int | float) and not isinstance(value, bool), "float64"),
    "object": (lambda value: isinstance(value, dict), "object"),
    "array": (lambda value: isinstance(value, list), "[]object"),
}


def clean(resource: Resource, obj: Object, old: Object | None, unknown: list[str]) -> Object:
    """Return the object as its Go type would hold it; append paths of unknown fields to `unknown`.

    Parts shared with `old`, the object it replaces, are clean already: a patch changes little of an object.
    """
    schema = schema_for(resource.group, resource.version, resource.kind)
    if not schema.get("properties"):
        return {field: value for field, value in obj.items() if value is not None}
    kept: Object = {}
    for field, value in obj.items():
        known = schema["properties"].get(field)
        if field == "metadata" or (old is not None and value is old.get(field)):
            kept[field] = value  # metadata is normalized elsewhere
        elif known is None:
            unknown.append(field)
        elif _PLAIN.get(type(value)) == known.get("type", ""):
            kept[field] = value
        elif value is not None or field in _WRITTEN_EMPTY:
            kept[field] = _value(known, value, field, (resource.kind, unknown))
    return kept


def _value(schema: Schema, value: Any, path: str, place: tuple[str, list[str]]) -> Any:
    if value is None or schema.get("x-kubernetes-preserve-unknown-fields") or path.endswith(_OPAQUE):
        return value
    fits, go_type = _GO_TYPES.get(schema.get("type", ""), (lambda _: True, ""))
    if not fits(value):
        why = f"json: cannot unmarshal {json_type(value)} into Go struct field {place[0]}.{path} of type {go_type}"
        raise bad_request(f'{place[0]} in version "v1" cannot be handled as a {place[0]}: {why}')
    if go_type == "object":
        return _object(schema, value, path, place)
    if go_type == "[]object":
        items = schema.get("items") or {}
        return [_value(items, one, f"{path}[{index}]", place) for index, one in enumerate(value)]
    return value


def _object(schema: Schema, value: Object, path: str, place: tuple[str, list[str]]) -> Object:
    properties, additional = schema.get("properties"), schema.get("additionalProperties")
    if not isinstance(additional, dict):
        additional = None
    if properties is None:
        if additional is None:
            return value
        properties = {}
    kept: Object = {}
    for field, child in value.items():
        known = properties.get(field, additional)
        if known is None:
            place[1].append(f"{path}.{field}")
        elif _PLAIN.get(type(child)) == known.get("type", ""):
            kept[field] = child
        elif child is None and field not in _WRITTEN_EMPTY:
            continue
        elif not _vanishes(known, field, child):
            kept[field] = _value(known, child, f"{path}.{field}", place)
    return kept


def _vanishes(schema: Schema, field: str, value: Any) -> bool:
    """Return whether Go omits this empty value: maps and lists, but not structs."""
    if field in _WRITTEN_EMPTY or value not in ({}, []):
        return False
    return value == [] or isinstance(schema.get("additionalProperties"), dict)


def builtin_errors(resource: Resource, new: Object, old: Object | None) -> list[Cause]:
    """Return the errors of the object by the rules of its kind; `old` is the object it replaces."""
    check = _CHECKS.get(resource.storage)
    return check(new, old) if check is not None else []


def _workload(new: Object, old: Object | None) -> list[Cause]:
    spec = new.get("spec") or {}
    found: list[Cause] = []
    selector = spec.get("selector") or {}
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    matched = selector.get("matchLabels") or {}
    if not matched and not selector.get("matchExpressions"):
        found.append(required("spec.selector"))
    elif any(labels.get(key) != value for key, value in matched.items()):
        why = "`selector` does not match template `labels`"
        found.append(invalid_value("spec.template.metadata.labels", labels, why))
    if old is not None and (old.get("spec") or {}).get("selector") != spec.get("selector"):
        found.append(invalid_value("spec.selector", spec.get("selector"), "field is immutable"))
    if isinstance(spec.get("replicas"), int) and spec["replicas"] < 0:
        found.append(invalid_value("spec.replicas", spec["replicas"], "must be greater than or equal to 0"))
    return found + _pod_spec(spec["template"].get("spec") or {}, "spec.template.spec")


def _job(new: Object, _: Object | None) -> list[Cause]:
    spec = new["spec"]["template"].get("spec") or {}
    found = _pod_spec(spec, "spec.template.spec")
    if spec.get("restartPolicy") not in ("OnFailure", "Never"):
        policies = ("OnFailure", "Never")
        found.append(not_supported("spec.template.spec.restartPolicy", spec.get("restartPolicy"), policies))
    return found


def _pod(new: Object, old: Object | None) -> list[Cause]:
    return _pod_spec(new.get("spec") or {}, "spec") if old is None else []


def _pod_spec(spec: Object, path: str) -> list[Cause]:
    containers = spec.get("containers") or []
    found = [] if containers else [required(f"{path}.containers")]
    names: list[str] = []
    for index, container in enumerate(containers):
        where, name = f"{path}.containers[{index}]", container.get("name") or ""
        if not name:
            found.append(required(f"{where}.name"))
        elif name in names:
            found.append(duplicate(f"{where}.name", name))
        else:
            found += [invalid_value(f"{where}.name", name, why) for why in label_errors(name)]
        names.append(name)
        if not container.get("image"):
            found.append(required(f"{where}.image"))
    return found


def _keyed(new: Object, old: Object | None) -> list[Cause]:
    found: list[Cause] = []
    size = 0
    for field in ("data", "binaryData"):
        for key, value in (new.get(field) or {}).items():
            found += [invalid_value(f"{field}[{key}]", key, why) for why in data_key_errors(key)]
            size += len(value)
    if size > _MAX_DATA:
        found.append(too_long("", _MAX_DATA))
    if old is not None and old.get("immutable"):
        why = "field is immutable when `immutable` is set"
        changed = [field for field in ("data", "binaryData") if (new.get(field) or {}) != (old.get(field) or {})]
        found += [forbidden_field(field, why) for field in changed]
    return found


def _service(new: Object, old: Object | None) -> list[Cause]:
    spec = new.get("spec") or {}
    if spec.get("clusterIP") == "None" or spec.get("type") == "ExternalName":
        return []
    found = [] if spec.get("ports") else [required("spec.ports")]
    if old is not None and (old.get("spec") or {}).get("clusterIP") != spec.get("clusterIP"):
        found.append(invalid_value("spec.clusterIP", spec.get("clusterIP"), "field is immutable"))
    return found


def _event(new: Object, old: Object | None) -> list[Cause]:
    """Check that an event is in the namespace of its object; events of cluster-scoped objects are in `default`."""
    if old is not None:
        return []
    field, component = (
        ("regarding", "reportingController") if "regarding" in new else ("involvedObject", "reportingComponent")
    )
    about = (new.get(field) or {}).get("namespace") or ""
    own = new["metadata"].get("namespace", "")
    homes = ("default", "kube-system") if new.get("eventTime") else ("default",)
    found: list[Cause] = []
    if own != about and (about or own not in homes):
        found.append(invalid_value("involvedObject.namespace", about, "does not match event.namespace"))
    if new.get("eventTime"):
        wanted = ((component, "reportingController"), ("reportingInstance",) * 2, ("action",) * 2, ("reason",) * 2)
        found += [required(shown) for name, shown in wanted if not new.get(name)]
    return found


def _lease(new: Object, _: Object | None) -> list[Cause]:
    spec = new.get("spec") or {}
    limits = (("leaseDurationSeconds", 1, "greater than 0"), ("leaseTransitions", 0, "greater than or equal to 0"))
    return [
        invalid_value(f"spec.{field}", spec[field], f"must be {why}")
        for field, least, why in limits
        if spec.get(field, least) < least
    ]


_MAX_DATA = 1024 * 1024
_CHECKS: dict[tuple[str, str], Check] = {
    ("", "events"): _event,
    ("coordination.k8s.io", "leases"): _lease,
    ("", "configmaps"): _keyed,
    ("", "secrets"): _keyed,
    ("", "services"): _service,
    ("", "pods"): _pod,
    ("apps", "deployments"): _workload,
    ("apps", "replicasets"): _workload,
    ("apps", "statefulsets"): _workload,
    ("apps", "daemonsets"): _workload,
    ("batch", "jobs"): _job,
    ("apiextensions.k8s.io", "customresourcedefinitions"): crdschema.definition_errors,
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): webhook_errors,
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): webhook_errors,
}
