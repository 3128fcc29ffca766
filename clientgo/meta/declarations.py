"""Declarations for generators: permissions, admission webhooks, and additional methods of clients.

The generators make ClusterRoles, webhook configurations and client methods from them; at run time they have no effect.
`@rbac(...)` and `@admission_webhook(...)` decorate a class or function, or are used as module-level expressions. Their
generator parses the source and runs nothing, so arguments must be literals, or constants of the same module.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

import msgspec

C = TypeVar("C", bound=type)
D = TypeVar("D", bound=Callable[..., Any])

Names = str | tuple[str, ...]
"""One name, or several."""


class _Declaration(msgspec.Struct, frozen=True):
    def __call__(self, target: D) -> D:
        """Decorate a class or function without changing it; the generator finds the decorator in the source."""
        return target


class RbacRule(_Declaration, frozen=True, kw_only=True):
    """A permission, in `namespace` or, if it is empty, in all namespaces."""

    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    namespace: str = ""
    role_name: str = ""


class WebhookDeclaration(_Declaration, frozen=True, kw_only=True):
    """One admission webhook: its rules, the objects that it checks, and its address.

    A selector is text, such as `"team=a,tier in (web,cache)"`, or a dict of labels; `match_conditions` are CEL
    expressions by name, all of which must hold. `configuration` is the name of its configuration object, by default
    `mutating-webhook-configuration` or `validating-webhook-configuration`; use another one for webhooks that are
    installed separately.
    """

    path: str
    mutating: bool
    groups: Names
    resources: Names
    verbs: Names
    versions: Names
    name: str
    failure_policy: Literal["Fail", "Ignore"] = "Fail"
    side_effects: Literal["None", "NoneOnDryRun", "Some", "Unknown"] = "None"
    admission_review_versions: Names = ("v1",)
    namespace_selector: str | Mapping[str, str] = ""
    object_selector: str | Mapping[str, str] = ""
    match_conditions: Mapping[str, str] = {}
    match_policy: Literal["", "Exact", "Equivalent"] = ""
    timeout_seconds: int = 0
    reinvocation_policy: Literal["", "Never", "IfNeeded"] = ""
    service_name: str = "webhook-service"
    service_namespace: str = "system"
    service_port: int = 0
    url: str = ""
    configuration: str = ""

    def __post_init__(self) -> None:
        for name in ("groups", "resources", "verbs", "versions", "admission_review_versions"):
            msgspec.structs.force_setattr(self, name, _several(getattr(self, name)))


admission_webhook = WebhookDeclaration

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
    """Declare a permission: `@rbac(groups="apps", resources="deployments", verbs=("get", "list"))`.

    The core group is "" or "core"; `urls` are paths outside of resources, such as `/metrics`.
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


def _several(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


MethodVerb = Literal["get", "list", "watch", "create", "update", "patch", "apply", "delete"]


class ClientMethod(msgspec.Struct, frozen=True):
    """An additional method of a kind's clients, as a decorator of the kind's class; `result` defaults to `input`.

        @client_method("restart", verb="create", subresource="restart", input=RestartRequest)
        @api_type(group="samples.example.com", version="v1")
        @dataclass(frozen=True, slots=True)
        class Machine: ...

    The generator adds `MachineClient.restart(name, request)`. For a list or a watch, `result` is the class of each
    object. None means the decorated class.
    """

    name: str
    verb: MethodVerb
    subresource: str
    input: type[Any] | None = None
    result: type[Any] | None = None

    def __call__(self, cls: C) -> C:
        """Add the method to a class, whose methods keep the order of the source: decorators run from last to first."""
        method = msgspec.structs.replace(self, result=self.result or self.input)
        cls.__client_methods__ = (method, *client_methods(cls))  # type: ignore[attr-defined]  # read by client_methods
        return cls


client_method = ClientMethod


def client_methods(cls: type) -> tuple[ClientMethod, ...]:
    """Return the methods declared on a class, in the order of the source."""
    methods: tuple[ClientMethod, ...] = vars(cls).get("__client_methods__", ())
    return methods
