"""Validation of `@api_type` arguments against the rules of the API server."""

import base64
import binascii
import inspect
import re
from collections.abc import Iterator
from typing import Any, get_args
from urllib.parse import urlsplit

from clientgo.codegen.model import Method
from clientgo.codegen.names import DOMAIN, LABEL, misnamed
from clientgo.codegen.problems import Problems
from clientgo.meta.declarations import ClientMethod, MethodVerb, client_methods
from clientgo.meta.scheme import ALL_VERBS, ApiType, Scope, api_of
from clientgo.typed.scale import ScaleClient

_COLUMN_TYPES = ("integer", "number", "string", "boolean", "date")
_COLUMN_FORMATS = ("int32", "int64", "float", "double", "byte", "date", "date-time", "password")
_LONGEST_WARNING = 256
_REVIEWS = ("v1", "v1beta1")
_KEY = re.compile(rf"({DOMAIN.pattern.replace(')+', ')*')}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?")
_SERVICE_PATH = re.compile(r"(/[a-z0-9]([-a-z0-9.]*[a-z0-9])?)*/?")
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_APPROVAL = "api-approved.kubernetes.io"
_PROTECTED = ("k8s.io", "kubernetes.io")


def check_api(cls: type[Any], problems: Problems) -> None:
    """Report invalid arguments of a class' `@api_type`."""
    api = api_of(cls)
    checks = (misnamed, _served, _metadata, _paths, _versions, _conversion)
    for message in (message for check in checks for message in check(api)):
        problems.at_class(cls, f"{cls.__name__}: {message}")


def _served(api: ApiType) -> Iterator[str]:
    if api.scope not in get_args(Scope):
        yield f"invalid scope {api.scope!r}: expected one of {', '.join(get_args(Scope))}"
    for verb in api.verbs:
        if verb not in ALL_VERBS:
            yield f"invalid verb {verb!r}: expected some of {', '.join(ALL_VERBS)}"


def _metadata(api: ApiType) -> Iterator[str]:
    for what, pairs in (("annotation", api.annotations), ("label", api.labels)):
        for key, value in pairs:
            if not _KEY.fullmatch(key.lower() if what == "annotation" else key):
                yield f"invalid {what} {key!r}: expected a name such as example.com/owner"
            if what == "label" and not _LABEL_VALUE.fullmatch(value):
                yield f"invalid value {value!r} of the label {key}: expected at most 63 letters, digits, '-', '_', '.'"


def _conversion(api: ApiType) -> Iterator[str]:
    if (conversion := api.conversion) is None:
        return
    url = urlsplit(conversion.url)
    if conversion.url and (url.scheme != "https" or not url.hostname or url.query or url.fragment or url.username):
        yield f"invalid conversion URL {conversion.url!r}: expected one such as https://example.com/convert"
    if not conversion.url and not (conversion.service_name and conversion.service_namespace):
        yield "a conversion requires a url, or a service_name and a service_namespace"
    if not conversion.url and not (_SERVICE_PATH.fullmatch(conversion.path) and 0 < conversion.port < 1 << 16):
        yield f"invalid conversion path {conversion.path!r} or port {conversion.port}: expected /convert and 443, say"
    reviews = conversion.review_versions
    odd = len(set(reviews)) < len(reviews) or not all(map(LABEL.fullmatch, reviews))
    if odd or not set(reviews) & set(_REVIEWS):
        yield f"invalid review_versions {reviews!r}: expected v1 or v1beta1 among them, and none twice"
    try:
        base64.b64decode(conversion.ca_bundle, validate=True)
    except (binascii.Error, ValueError):
        yield "the ca_bundle of the conversion is not base64"


def _paths(api: ApiType) -> Iterator[str]:
    for column in api.columns:
        if not column.name:
            yield f"the column of {column.json_path} has no name"
        if column.type not in _COLUMN_TYPES:
            yield f"invalid type {column.type!r} of column {column.name}: expected one of {', '.join(_COLUMN_TYPES)}"
        if column.format and column.format not in _COLUMN_FORMATS:
            formats = ", ".join(_COLUMN_FORMATS)
            yield f"invalid format {column.format!r} of column {column.name}: expected one of {formats}, or none"
    simple: list[tuple[str, tuple[str, ...]]]
    simple = [(path, ("",)) for path in (*(c.json_path for c in api.columns), *api.selectable_fields)]
    if api.scale is not None:
        simple += [(api.scale.spec_path, (".spec",)), (api.scale.status_path, (".status",))]
        simple += [(path, (".status", ".spec")) for path in (api.scale.selector_path,) if path]
    for path, parents in simple:
        if not path.startswith(tuple(f"{parent}." for parent in parents)):
            begin = " or ".join(f"{parent}." for parent in parents)
            yield f"invalid path {path!r}: expected one that begins with {begin}, such as .spec.replicas"


def _versions(api: ApiType) -> Iterator[str]:
    protected = api.group.endswith(tuple(f".{domain}" for domain in _PROTECTED)) or api.group in _PROTECTED
    if protected and api.crd and _APPROVAL not in dict(api.annotations):
        yield (
            f"the protected group {api.group} requires an approval: use another group, or"
            f' annotations=(("{_APPROVAL}", "unapproved, experimental-only"),)'
        )
    approval = dict(api.annotations).get(_APPROVAL, "unapproved")
    if protected and not approval.startswith("unapproved") and not urlsplit(approval).scheme:
        yield f'invalid {_APPROVAL} {approval!r}: expected a URL, or a text that begins with "unapproved"'
    if api.deprecation_warning and not api.deprecated:
        yield "deprecation_warning requires deprecated=True"
    if len(api.deprecation_warning.encode()) > _LONGEST_WARNING or not api.deprecation_warning.isprintable():
        yield f"invalid deprecation_warning: expected at most {_LONGEST_WARNING} bytes of printable text on one line"
    if api.storage and not api.crd and api.verbs:
        yield "crd=False requires storage=False: the storage version must be in the CRD"


def read_methods(cls: type[Any], problems: Problems) -> Iterator[Method]:
    """Yield the client methods declared for a class; errors go to `problems`."""
    seen: set[str] = set()
    for method in client_methods(cls):
        for message in _method_faults(method, cls, seen):
            problems.at_class(cls, f"{cls.__name__}: {message}")
        seen.add(method.name)
        yield Method(
            name=method.name,
            verb=method.verb,
            subresource=method.subresource,
            input=_import_path(method.input or cls),
            result=_import_path(method.result or cls),
        )


def _method_faults(method: ClientMethod, cls: type[Any], seen: set[str]) -> Iterator[str]:
    if not method.name.isidentifier() or method.name != method.name.lower() or method.name.startswith("_"):
        yield f"invalid method name {method.name!r}: expected lower case letters, digits and underscores"
    elif method.name in ALL_VERBS or hasattr(ScaleClient, method.name) or method.name in seen:
        yield f"the method {method.name} already exists: use another name"
    if method.verb not in get_args(MethodVerb):
        yield f"invalid verb {method.verb!r} of {method.name}: expected one of {', '.join(get_args(MethodVerb))}"
    if not method.subresource:
        yield f"the method {method.name} requires subresource="
    for part in (method.input or cls, method.result or cls):
        if not inspect.isclass(part) or "__api_type__" not in vars(part):
            yield f"{getattr(part, '__name__', part)} of {method.name} is not an API type: decorate it with @api_type"


def _import_path(cls: type[Any]) -> str:
    return f"{cls.__module__}:{cls.__name__}"
