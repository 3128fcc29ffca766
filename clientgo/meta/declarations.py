"""What a controller needs of a cluster, said where it needs it: permissions and admission webhooks.

The generator makes ClusterRoles and webhook configurations of these; at run time they do nothing. They are marks for a
class or function (`@rbac(...)`), and values that may stand in a module by themselves. The generator reads the source
and runs nothing, so what they are given are strings, or constants of the same module.
"""

from collections.abc import Callable
from typing import Any, Literal, TypeVar

import msgspec

C = TypeVar("C", bound=type)
D = TypeVar("D", bound=Callable[..., Any])

Names = str | tuple[str, ...]
"""One name, or several."""


class RbacRule(msgspec.Struct, frozen=True, kw_only=True):
    """One permission; in `namespace` alone, or in all when it is empty."""

    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    namespace: str = ""
    role_name: str = ""

    def __call__(self, where: D) -> D:
        """Mark a class or function, which stays as it is: the generator finds the mark in the source."""
        return where


class WebhookDeclaration(msgspec.Struct, frozen=True, kw_only=True):
    """One admission webhook: what it is asked about, and where.

    `configuration` is the name of the object that it stands in, by default `mutating-webhook-configuration` or
    `validating-webhook-configuration`: a second object is for webhooks that somebody else installs.
    """

    path: str
    mutating: bool
    failure_policy: Literal["Fail", "Ignore"]
    groups: tuple[str, ...]
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    versions: tuple[str, ...]
    name: str
    side_effects: Literal["None", "NoneOnDryRun", "Some", "Unknown"] = "None"
    admission_review_versions: tuple[str, ...] = ("v1",)
    match_policy: Literal["", "Exact", "Equivalent"] = ""
    timeout_seconds: int = 0
    reinvocation_policy: Literal["", "Never", "IfNeeded"] = ""
    service_name: str = "webhook-service"
    service_namespace: str = "system"
    service_port: int = 0
    url: str = ""
    configuration: str = ""

    def __call__(self, where: D) -> D:
        """Mark a class or function, which stays as it is: the generator finds the mark in the source."""
        return where


Declaration = RbacRule | WebhookDeclaration


def rbac(
    *,
    verbs: Names,
    groups: Names = (),
    resources: Names = (),
    resource_names: Names = (),
    urls: Names = (),
    namespace: str = "",
    role_name: str = "",
) -> RbacRule:
    """A permission that the code below it uses: `@rbac(groups="apps", resources="deployments", verbs=("get", "list"))`.

    The core group is "" or "core"; `urls` are for addresses that are no resources.
    """
    return RbacRule(
        groups=_several(groups),
        resources=_several(resources),
        verbs=_several(verbs),
        resource_names=_several(resource_names),
        urls=_several(urls),
        namespace=namespace,
        role_name=role_name,
    )


def admission_webhook(
    *,
    path: str,
    mutating: bool,
    groups: Names,
    resources: Names,
    verbs: Names,
    versions: Names,
    name: str,
    failure_policy: Literal["Fail", "Ignore"] = "Fail",
    **more: Any,
) -> WebhookDeclaration:
    """A webhook that the code below it answers; `more` are the other fields of `WebhookDeclaration`."""
    return WebhookDeclaration(
        path=path,
        mutating=mutating,
        failure_policy=failure_policy,
        groups=_several(groups),
        resources=_several(resources),
        verbs=_several(verbs),
        versions=_several(versions),
        name=name,
        **more,
    )


def _several(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


MethodVerb = Literal["get", "list", "watch", "create", "update", "patch", "apply", "delete"]


class ClientMethod(msgspec.Struct, frozen=True, kw_only=True):
    """One method: its name, what it does to which subresource, the class of what is sent and of what is answered.

    None stands for the class that has the mark.
    """

    name: str
    verb: MethodVerb
    subresource: str
    input: type[Any] | None = None
    result: type[Any] | None = None


def client_method(
    name: str,
    *,
    verb: MethodVerb,
    subresource: str,
    input: type[Any] | None = None,
    result: type[Any] | None = None,
) -> Callable[[C], C]:
    """Give the clients of a kind another method; the answer is what is sent, unless `result` names another class.

    Of a list or a watch, `result` is the class of each object.
    """

    def mark(cls: C) -> C:
        method = ClientMethod(name=name, verb=verb, subresource=subresource, input=input, result=result or input)
        # Decorators run from the last to the first; the first one written is told first.
        cls.__client_methods__ = (method, *client_methods(cls))  # type: ignore[attr-defined]  # the note
        return cls

    return mark


def client_methods(cls: type) -> tuple[ClientMethod, ...]:
    """What was noted on the class itself, the first one first."""
    found: tuple[ClientMethod, ...] = vars(cls).get("__client_methods__", ())
    return found
