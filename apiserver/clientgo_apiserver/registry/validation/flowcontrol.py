"""Rules of priority levels and flow schemas."""

from collections.abc import Iterator
from math import log2

from clientgo.meta.jsonvalues import same
from clientgo_apiserver.api.names import label_errors
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import Cause, invalid_value, not_supported
from clientgo_apiserver.gotypes.gostructs import go_struct
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule

_EXEMPT, _CATCH_ALL, _EVERY = "exempt", "catch-all", "*"
_MAX_PRECEDENCE, _MAX_QUEUES, _MAX_HASH_BITS = 10_000, 10**7, 60
_METHODS = ("ByNamespace", "ByUser")
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")


@rule(update=True)
def fixed_spec(new: Object, old: Object, scope: FieldScope, struct: str, but: str = "") -> Iterator[Cause]:
    """Reject the change of the spec of an object that every cluster has as it is; `exempt` may change one field."""
    name, field = scope.value["metadata"].get("name"), ""
    if name == _EXEMPT:
        field = but
    elif name != _CATCH_ALL:
        return
    if not same(*({**spec, field: None} for spec in (new, old))):
        exception = f" except the 'spec.{field}' field" if field else ""
        yield invalid_value("", go_struct(struct, new), f"spec of '{name}'{exception} must equal the fixed value")


@rule()
def queuing(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check the queues of a level, and that a hash of 60 bits can choose hands of them."""
    limit, queues, hand = (value.get(field) or 0 for field in ("queueLengthLimit", "queues", "handSize"))
    if limit <= 0:
        yield invalid_value("queueLengthLimit", limit, "must be positive")
    if queues <= 0:
        yield invalid_value("queues", queues, "must be positive")
    elif queues > _MAX_QUEUES:
        yield invalid_value("queues", queues, f"must not be greater than {_MAX_QUEUES}")
    if hand <= 0:
        yield invalid_value("handSize", hand, "must be positive")
    elif hand > queues:
        yield invalid_value("handSize", hand, f"should not be greater than queues ({queues})")
    elif log2(queues) * hand > _MAX_HASH_BITS:
        reason = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than"
        yield invalid_value("handSize", hand, f"{reason} {_MAX_HASH_BITS}")


@rule()
def matching_precedence(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check the precedence of a schema; 1 is that of `exempt`."""
    precedence = (value.get("spec") or {}).get("matchingPrecedence") or 0
    if precedence <= 0:
        yield invalid_value("spec.matchingPrecedence", precedence, "must be a positive value")
    if precedence > _MAX_PRECEDENCE:
        yield invalid_value("spec.matchingPrecedence", precedence, f"must not be greater than {_MAX_PRECEDENCE}")
    if precedence == 1 and value["metadata"].get("name") != _EXEMPT:
        reason = "only the schema named 'exempt' may have matchingPrecedence 1"
        yield invalid_value("spec.matchingPrecedence", precedence, reason)


@rule()
def distinguisher(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check the method that distinguishes flows; the message has the whole struct."""
    if value.get("type") not in _METHODS:
        yield not_supported("type", {"Type": value.get("type") or ""}, _METHODS)


@rule()
def wildcard_alone(value: list[str], _: FieldScope, noun: str) -> Iterator[Cause]:
    """Reject a star beside other values."""
    if _EVERY in value and len(value) > 1:
        yield invalid_value("", value, f"if '*' is present, must not specify other {noun}")


@rule()
def flow_verbs(value: list[str], scope: FieldScope) -> Iterator[Cause]:
    """Check verbs: a star, or those of requests."""
    yield from wildcard_alone(value, scope, "verbs")
    if _EVERY not in value and not {*value} <= {*_VERBS}:
        yield not_supported("", value, _VERBS)


@rule()
def flow_namespaces(value: list[str], scope: FieldScope) -> Iterator[Cause]:
    """Check namespaces: a star, or names."""
    yield from wildcard_alone(value, scope, "namespaces")
    if _EVERY not in value:
        for index, name in enumerate(value):
            for reason in label_errors(name or ""):
                start = "each member of this list must be '*' or a DNS-1123 label;"
                yield invalid_value(f"[{index}]", name or "", f"{start} {reason}")


@rule()
def flow_urls(value: list[str], scope: FieldScope) -> Iterator[Cause]:
    """Check paths: a star, or paths that may end with one."""
    yield from wildcard_alone(value, scope, "non-resource URLs")
    if _EVERY not in value:
        for index, path in enumerate(value):
            if reason := _path_error(path or ""):
                yield invalid_value(f"[{index}]", path or "", reason)


def _path_error(path: str) -> str:
    if not path:
        return "must not be empty"
    if path == "/":
        return ""
    if not path.startswith("/"):
        return "must start with slash"
    if " " in path:
        return "must not contain white-space"
    if "//" in path:
        return "must not contain double slash"
    stars = path.count(_EVERY)
    return "wildcard can only do suffix matching" if stars > 1 or (stars and not path.endswith("/*")) else ""
