"""Rules of roles and bindings, of the data of config maps and secrets, of priorities and of namespaces."""

import base64
import binascii
import json
from collections.abc import Iterator

from clientgo_apiserver.api.gotext import json_type
from clientgo_apiserver.api.limits import MAX_DATA_BYTES
from clientgo_apiserver.api.names import data_key_errors, qualified_errors
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import Cause, forbidden_field, invalid_value, required, too_long
from clientgo_apiserver.gotypes.metadata import STANDARD_FINALIZERS
from clientgo_apiserver.http.gojson import explain
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule
from clientgo_apiserver.registry.validation.workloads.controllers import is_convertible

_MAX_PRIORITY = 1_000_000_000
SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""Priority classes of the system, and their values."""
# Keys that secrets of a type need, and whether one of them is enough.
_KEYS: dict[str, tuple[tuple[str, ...], bool]] = {
    "kubernetes.io/dockercfg": ((".dockercfg",), False),
    "kubernetes.io/dockerconfigjson": ((".dockerconfigjson",), False),
    "kubernetes.io/basic-auth": (("username", "password"), True),
    "kubernetes.io/ssh-auth": (("ssh-privatekey",), False),
    "kubernetes.io/tls": (("tls.crt", "tls.key"), False),
}
_ACCOUNT = "kubernetes.io/service-account.name"


@rule()
def selector_requirements(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Reject an invalid selector once more, as Go does, which converts it."""
    if not is_convertible(value):
        yield invalid_value("", None, "invalid label selector.")


@rule(update=True)
def immutable_data(new: Object, old: Object, _: FieldScope) -> Iterator[Cause]:
    """Reject a change of data that is marked immutable."""
    if old.get("immutable"):
        for field in ("immutable", "data", "binaryData"):
            if (new.get(field) or {}) != (old.get(field) or {}):
                yield forbidden_field(field, "field is immutable when `immutable` is set")


@rule()
def keyed_data(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check keys and size of the data of a ConfigMap or Secret."""
    size, binary = 0, value.get("binaryData") or {}
    for field in ("data", "binaryData"):
        for key, text in sorted((value.get(field) or {}).items()):
            reasons = data_key_errors(key)
            if field == "data" and key in binary:
                reasons.append("duplicate of key present in binaryData")
            yield from (invalid_value(f"{field}[{key}]", key, reason) for reason in reasons)
            encoded = field == "binaryData" or value["kind"] == "Secret"
            size += len(text) * 3 // 4 if encoded else len(text.encode())
    if size > MAX_DATA_BYTES:
        yield too_long("data" if value["kind"] == "Secret" else "[]", MAX_DATA_BYTES)


@rule()
def secret_type(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check that a secret has the keys of its type."""
    kind, data = value.get("type") or "", value.get("data") or {}
    keys, one_of = _KEYS.get(kind, ((), False))
    missing = [key for key in keys if not (data.get(key) if kind.endswith("ssh-auth") else key in data)]
    if missing and not (one_of and len(missing) < len(keys)):
        yield from (required(f"data[{key}]") for key in missing)
    elif keys and kind.startswith("kubernetes.io/docker") and (reason := _json_error(data[keys[0]])):
        yield invalid_value(f"data[{keys[0]}]", "<secret contents redacted>", reason)
    if kind == "kubernetes.io/service-account-token" and not (value["metadata"].get("annotations") or {}).get(_ACCOUNT):
        yield required(f"metadata.annotations[{_ACCOUNT}]")


def _json_error(encoded: str) -> str:
    try:
        text = base64.b64decode(encoded).decode(errors="replace")
        value = json.loads(text)
    except binascii.Error:
        return ""  # rejected by decoding
    except ValueError:
        return explain(text.encode().decode("latin-1"))
    expected = "Go value of type map[string]interface {}"
    return "" if isinstance(value, dict) else f"json: cannot unmarshal {json_type(value)} into {expected}"


@rule()
def priority_class(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check the value of a priority class, and that names of the system are not used."""
    name, number = value["metadata"].get("name", ""), value.get("value", 0)
    if not name.startswith("system-"):
        if number > _MAX_PRIORITY:
            yield forbidden_field("value", f"maximum allowed value of a user defined priority is {_MAX_PRIORITY}")
    elif SYSTEM_CLASSES.get(name) != number:
        is_system_class = name in SYSTEM_CLASSES
        reason = f"value of {name} PriorityClass must be {SYSTEM_CLASSES[name]}" if is_system_class else ""
        reason = reason or f"{name} is not a known system priority class"
        reserved = "priority class names with 'system-' prefix are reserved for system use only. error: "
        yield forbidden_field("metadata.name", reserved + reason)


@rule()
def finalizer(value: str, _: FieldScope) -> Iterator[Cause]:
    """Check a finalizer of a namespace."""
    yield from (invalid_value("", value, reason) for reason in qualified_errors(value))
    if "/" not in value and value not in STANDARD_FINALIZERS:
        yield invalid_value("", value, "name is neither a standard finalizer name nor is it fully qualified")
