"""What a controller needs of a cluster, said where it needs it: permissions and admission webhooks.

The generator makes ClusterRoles and webhook configurations of these; at run time they do nothing. They are marks for a
class or function (`@rbac(...)`), and values that may stand in a module by themselves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

D = TypeVar("D", bound=Callable[..., Any])

Names = str | tuple[str, ...]
"""One name, or several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RbacRule:
    """One permission; in `namespace` alone, or in all when it is empty."""

    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    namespace: str = ""
    role_name: str = ""

    def __call__(self, where: D) -> D:
        """Note the permission on a class or function."""
        return _note(where, self)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDeclaration:
    """One admission webhook: what it is asked about, and where."""

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

    def __call__(self, where: D) -> D:
        """Note the webhook on a class or function."""
        return _note(where, self)


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


def declared_on(where: object) -> tuple[Declaration, ...]:
    """What was noted on a class or function itself, the first one first."""
    found: tuple[Declaration, ...] = vars(where).get("__declarations__", ()) if hasattr(where, "__dict__") else ()
    return found


def _note(where: D, declaration: Declaration) -> D:
    # Decorators run from the last to the first; the first one written is told first.
    where.__declarations__ = (declaration, *declared_on(where))  # type: ignore[attr-defined]  # a note
    return where


def _several(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
