"""Decoding of request bodies: JSON, YAML or protobuf, with apiVersion and kind checked as the real server does."""

import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec
import yaml

from clientgo.internal.patterns import lazy_pattern
from clientgo.meta.yamlio import InvalidYAML, TooDeepYAML, TooLargeYAML, iterate_yaml
from clientgo_apiserver.api.gotext import json_type
from clientgo_apiserver.api.largejson import decode_large
from clientgo_apiserver.api.limits import MAX_DEPTH, MAX_NODES
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.api.status import ApiFailure, bad_request, invalid, invalid_value, unsupported_media_type
from clientgo_apiserver.gotypes.messages import find_message
from clientgo_apiserver.http.gojson import explain, summarize
from clientgo_apiserver.http.nesting import json_error
from clientgo_apiserver.http.protobuf import MEDIA_TYPE as PROTOBUF
from clientgo_apiserver.http.protobuf import decode, read_envelope

YAML_TYPES = ("application/yaml",)
_ACCEPTED = ("application/json", "application/yaml", PROTOBUF)
_UNVERSIONED = ("APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "List", "Status")
# Name of the scheme in messages about unregistered kinds; two groups have their own.
_SCHEME = "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"
_SCHEMES = {
    "apiextensions.k8s.io": "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55",
    "apiregistration.k8s.io": "k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28",
}
# Versions of which a real server still knows these kinds, although it serves none of them.
_POLICIES = " ".join(
    f"{kind}AdmissionPolicy{binding}" for kind in ("Mutating", "Validating") for binding in ("", "Binding")
)
_FLOWS = "FlowSchema PriorityLevelConfiguration"
_UNSERVED = {
    "admissionregistration.k8s.io/v1alpha1": _POLICIES,
    "admissionregistration.k8s.io/v1beta1": f"{_POLICIES} MutatingWebhookConfiguration ValidatingWebhookConfiguration",
    "apiextensions.k8s.io/v1beta1": "CustomResourceDefinition",
    "apiregistration.k8s.io/v1beta1": "APIService",
    "apps/v1beta1": "ControllerRevision Deployment StatefulSet",
    "apps/v1beta2": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "authentication.k8s.io/v1alpha1": "SelfSubjectReview",
    "authentication.k8s.io/v1beta1": "SelfSubjectReview TokenReview",
    "authorization.k8s.io/v1beta1": "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview"
    " SubjectAccessReview",
    "batch/v1beta1": "CronJob",
    "certificates.k8s.io/v1beta1": "CertificateSigningRequest",
    "coordination.k8s.io/v1beta1": "Lease",
    "discovery.k8s.io/v1beta1": "EndpointSlice",
    "events.k8s.io/v1beta1": "Event",
    "extensions/v1beta1": "DaemonSet Deployment Ingress NetworkPolicy ReplicaSet",
    **{f"flowcontrol.apiserver.k8s.io/v1beta{number}": _FLOWS for number in (1, 2, 3)},
    "networking.k8s.io/v1beta1": "IPAddress Ingress IngressClass ServiceCIDR",
    **dict.fromkeys(("node.k8s.io/v1alpha1", "node.k8s.io/v1beta1"), "RuntimeClass"),
    "policy/v1beta1": "PodDisruptionBudget",
    **{
        f"rbac.authorization.k8s.io/{version}": "ClusterRole ClusterRoleBinding Role RoleBinding"
        for version in ("v1alpha1", "v1beta1")
    },
    **{
        f"resource.k8s.io/{version}": "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice"
        for version in ("v1beta1", "v1beta2")
    },
    "scheduling.k8s.io/v1beta1": "PriorityClass",
    "storage.k8s.io/v1alpha1": "CSIStorageCapacity VolumeAttachment VolumeAttributesClass",
    "storage.k8s.io/v1beta1": "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment"
    " VolumeAttributesClass",
}
# Halves of characters, which Go replaces; a whole character, or an escaped backslash, is found before its second half.
_SURROGATE = lazy_pattern(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
# Integers too large for Go's float64 have at least 309 digits; Python's have no limit. Every 60th is looked at.
_MAY_OVERFLOW = lazy_pattern(rb"[0-9]{5}")


@lru_cache(maxsize=64)
def media_type(content_type: str) -> str:
    """Return the media type of a Content-Type header, without parameters."""
    return content_type.partition(";")[0].strip().lower()


def read_body(body: bytes, content_type: str, kind: str, api_version: str = "") -> Any:
    """Decode a body in which an object of this kind is expected (415, 400).

    JSON and YAML may hold any value. Protobuf holds an object of this kind; it is of this API version if it names none.
    """
    media = body_type(content_type)
    if media in YAML_TYPES:
        return read_yaml(body, kind)
    if media == PROTOBUF:
        return read_protobuf(body, kind, api_version)
    return read_json(body, kind)


def body_type(content_type: str) -> str:
    """Return the media type of a body that holds an object, empty by default (415)."""
    media = media_type(content_type)
    if content_type and media not in _ACCEPTED:
        raise unsupported_media_type(_ACCEPTED)
    return media


def read_json(body: bytes, kind: str) -> Any:
    """Parse a JSON body."""
    try:
        return parse_json(body)
    except ValueError as error:
        raise _unrecognized(kind, f"couldn't get version/kind; json parse error: {error}", body) from error


def parse_json(body: bytes) -> Any:
    """Parse JSON.

    Raises:
        ValueError: the error in Go's words.
    """
    reason = json_error(body)
    if reason:
        raise ValueError(reason)
    value = _decoded(body)
    if _MAY_OVERFLOW.search(body[::60]) and any(abs(number) > sys.float_info.max for number in _integers(value)):
        raise ValueError("json: cannot unmarshal number into Go value of type float64")
    return value


def _decoded(body: bytes) -> Any:
    try:
        return decode_large(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        replaced = without_surrogates(body)
        if replaced != body:
            return _decoded(replaced)
        raise ValueError(explain(body.decode("latin-1")) or str(error)) from error


def without_surrogates(body: bytes) -> bytes:
    """Return JSON in which halves of surrogate pairs are replaced, as Go does."""
    return _SURROGATE.sub(lambda match: rb"\ufffd" if match["half"] else match[0], body)


def _integers(value: Any) -> Iterator[int]:
    if isinstance(value, int):
        yield value
    elif isinstance(value, dict | list):
        for child in value.values() if isinstance(value, dict) else value:
            yield from _integers(child)


def read_yaml(body: bytes, kind: str) -> Any:
    """Parse a YAML body."""
    try:
        return parse_yaml(body)
    except ValueError as error:
        raise _unrecognized(kind, str(error), body) from error


def parse_yaml(body: bytes) -> Any:
    """Parse the first document of YAML.

    Raises:
        ValueError: the error in the words of Go's library.
    """
    try:
        return next(iterate_yaml(body, max_depth=MAX_DEPTH, max_values=MAX_NODES), None)
    except TooDeepYAML as error:
        raise ValueError(f"yaml: exceeded max depth of {MAX_DEPTH}") from error
    except TooLargeYAML as error:
        raise ValueError("yaml: document contains excessive aliasing") from error
    except InvalidYAML as error:
        if isinstance(error.__cause__, yaml.reader.ReaderError):
            raise ValueError("yaml: control characters are not allowed") from error
        line = f"line {error.line}: " if isinstance(error.__cause__, yaml.YAMLError) and error.line > 1 else ""
        raise ValueError(f"yaml: {line}{error}") from error


def read_protobuf(body: bytes, expected: str, api_version: str) -> Object:
    """Decode a protobuf body of the expected kind; apiVersion and kind default to the arguments (400)."""
    try:
        envelope = read_envelope(body)
    except ValueError as error:
        raise _unrecognized(expected, str(error), body) from error
    kind, api_version = envelope.kind or expected, envelope.api_version or api_version
    message = find_message(api_version, kind)
    if message is None or kind != expected:
        raise _unregistered(kind, api_version, expected)
    try:
        return {"apiVersion": api_version, "kind": kind, **decode(message, envelope.raw)}
    except ValueError as error:
        raise _unusable(kind, api_version, expected, str(error)) from error


def check_object(value: Any, resource: Resource, body: bytes) -> Object:
    """Return what a body was decoded to, if it is an object of this resource (400, 422)."""
    if value is None and not resource.custom:
        value = {}
    return check_kind(require_map(value, resource.kind, body), resource, body)


def require_map(value: Any, kind: str, body: bytes) -> Object:
    """Return what a body was decoded to, if it is a map in which an object of this kind is expected (400)."""
    if not isinstance(value, dict):
        reason = (
            f"couldn't get version/kind; json parse error: json: cannot unmarshal {json_type(value)} into Go value of"
        )
        reason += (
            r' type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
        )
        raise _unrecognized(kind, reason, body)
    return value


def check_kind(value: Object, resource: Resource, body: bytes = b"") -> Object:
    """Check apiVersion and kind; for built-in kinds missing ones are set."""
    for name in value:  # the first in the text
        if name in ("kind", "apiVersion") and not isinstance(value[name] or "", str):
            reason = f"json: cannot unmarshal {json_type(value[name])} into Go struct field .{name} of type string"
            raise _unrecognized(resource.kind, f"couldn't get version/kind; json parse error: {reason}", body)
    kind, api_version = value.get("kind") or "", value.get("apiVersion") or ""
    if kind == resource.kind and api_version == resource.api_version:
        return value
    if api_version.count("/") > 1:
        raise _unrecognized(resource.kind, f"unexpected GroupVersion string: {api_version}", body)
    if resource.custom:
        return _check_custom(value, resource, kind, api_version, body)
    kind, api_version = kind or resource.kind, api_version or resource.api_version
    if (kind, api_version) == (resource.kind, resource.api_version):
        return {**value, "apiVersion": api_version, "kind": kind}
    if kind == resource.kind and (is_earlier(api_version, kind) or find_message(api_version, kind) is not None):
        raise _mismatch(api_version, resource)
    raise _unusable(kind, api_version, resource.kind, no_conversion(kind, api_version, resource))


def is_earlier(api_version: str, kind: str) -> bool:
    """Return whether a real server knows this version of a kind, although it does not serve it."""
    return kind in _UNSERVED.get(api_version, "").split()


def _check_custom(value: Object, resource: Resource, kind: str, api_version: str, body: bytes) -> Object:
    if not kind:
        raise _unrecognized(resource.kind, f"Object 'Kind' is missing in '{body.decode(errors='replace')}'", body)
    if value.get("apiVersion", "") is None:
        reason = ".apiVersion accessor error: <nil> is of the type <nil>, expected string"
        raise _unusable(kind, "", resource.kind, reason)
    if api_version != resource.api_version:
        raise _mismatch(api_version, resource)
    return value


def check_custom_kind(value: Object, resource: Resource) -> None:
    """Check that an object is of the custom kind of its path, which a real server does late (422)."""
    if resource.custom and value["kind"] != resource.kind:
        metadata, cause = value.get("metadata"), invalid_value("kind", value["kind"], f"must be {resource.kind}")
        name = str(metadata.get("name") or "") if isinstance(metadata, dict) else ""
        raise invalid(value["kind"], resource.group, name, [cause])


def _mismatch(sent: str, resource: Resource) -> ApiFailure:
    expected = resource.api_version
    return bad_request(f"the API version in the data ({sent}) does not match the expected API version ({expected})")


def no_conversion(kind: str, api_version: str, resource: Resource) -> str:
    """Return the error of an object whose kind is unknown or not that of a built-in resource."""
    if not _is_registered(api_version, kind):
        scheme = _SCHEMES.get(resource.group, _SCHEME)
        return f'no kind "{kind}" is registered for version "{api_version}" in scheme "{scheme}"'
    version = api_version.rpartition("/")[2]
    return f"converting ({version}.{kind}) to ({resource.package}.{resource.kind}): unknown conversion"


def _is_registered(api_version: str, kind: str) -> bool:
    """Return whether a real server's scheme has a kind: also lists, and kinds of the API itself."""
    names = {kind, kind.removesuffix("List")}
    return any(find_message(api_version, name) for name in names) or (api_version == "v1" and kind in _UNVERSIONED)


def _unregistered(kind: str, api_version: str, expected: str) -> ApiFailure:
    reason = f'no kind "{kind}" is registered for version "{api_version}" in scheme "{_SCHEME}"'
    return _unusable(kind, api_version, expected, reason)


def _unusable(kind: str, api_version: str, expected: str, reason: str) -> ApiFailure:
    version = api_version.rpartition("/")[2]
    return bad_request(f'{kind} in version "{version}" cannot be handled as a {expected}: {reason}')


def _unrecognized(kind: str, reason: str, body: bytes) -> ApiFailure:
    if kind == "DeleteOptions":
        return bad_request(reason)
    return bad_request(f"the object provided is unrecognized (must be of type {kind}): {reason} ({summarize(body)})")
