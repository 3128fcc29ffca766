"""The authorizer of expressions in admission policies: checks of what a user may do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

Decide = Callable[[Mapping[str, str]], tuple[bool, str]]
"""Function from the attributes of a request (group, resource, verb ...) to the decision and its reason."""


@dataclass(frozen=True, slots=True)
class AuthorizerValue:
    """A check that is being put together."""

    decide: Decide
    attributes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DecisionValue:
    """The result of a check."""

    allowed: bool
    reason: str = ""


def _with(*fields: str) -> Callable[..., AuthorizerValue]:
    def run(value: AuthorizerValue, *values: str) -> AuthorizerValue:
        return replace(value, attributes={**value.attributes, **dict(zip(fields, values, strict=True))})

    return run


def _check(value: AuthorizerValue, verb: str) -> DecisionValue:
    return DecisionValue(*value.decide({**value.attributes, "verb": verb}))


AUTHORIZATION: dict[str, Callable[..., Any]] = {
    **{field: _with(field) for field in ("path", "group", "resource", "subresource", "namespace", "name")},
    "serviceAccount": _with("account_namespace", "account_name"),
    "fieldSelector": _with("fieldSelector"),
    "labelSelector": _with("labelSelector"),
    "check": _check,
    "allowed": lambda decision: decision.allowed,
    "reason": lambda decision: decision.reason,
    "error": lambda _: "",
    "errored": lambda _: False,
}
