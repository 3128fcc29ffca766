"""Which class stands for which kind.

`@api_type` notes on a class what the API calls it; `Scheme` finds the class for a kind. The note is all that clients,
generators and the recorder need to know about a kind, whether its class is a user's dataclass or a generated Struct.
The notes are Structs because every program loads them: making a dataclass' methods takes ten times as long.
"""

from collections.abc import Callable
from typing import Literal, TypeVar

import msgspec

from clientgo.meta.objects import GroupVersionKind, GroupVersionResource

C = TypeVar("C", bound=type)

Scope = Literal["Namespaced", "Cluster"]

ALL_VERBS = (
    "get", "list", "watch", "create", "update", "update_status", "patch", "patch_status", "apply", "apply_status",
    "delete", "delete_collection",
)  # fmt: skip
"""The methods a generated client can have."""


class Column(msgspec.Struct, frozen=True):
    """One column `kubectl get` prints; `json_path` as in `.spec.replicas`."""

    name: str
    type: str
    json_path: str
    description: str = ""
    format: str = ""
    priority: int = 0


class Scale(msgspec.Struct, frozen=True):
    """Where the scale subresource finds its numbers."""

    spec_path: str
    status_path: str
    selector_path: str = ""


class WebhookConversion(msgspec.Struct, frozen=True, kw_only=True):
    """Who converts objects between a CRD's versions: a service in the cluster, or a URL when one is given."""

    service_namespace: str = "system"
    service_name: str = "webhook-service"
    path: str = "/convert"
    port: int = 443
    url: str = ""
    ca_bundle: str = ""
    review_versions: tuple[str, ...] = ("v1",)


class ApiType(msgspec.Struct, frozen=True, kw_only=True):
    """What the API server calls a kind and how it serves it."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    scope: Scope = "Namespaced"
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    status: bool = True
    scale: Scale | None = None
    columns: tuple[Column, ...] = ()
    storage: bool = True
    served: bool = True
    verbs: tuple[str, ...] = ALL_VERBS
    annotations: tuple[tuple[str, str], ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    deprecated: bool = False
    deprecation_warning: str = ""
    selectable_fields: tuple[str, ...] = ()
    conversion: WebhookConversion | None = None
    list_kind: str = ""
    crd: bool = True

    @property
    def api_version(self) -> str:
        """What stands in objects' `apiVersion`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def namespaced(self) -> bool:
        """Whether objects live in namespaces."""
        return self.scope == "Namespaced"

    @property
    def gvk(self) -> GroupVersionKind:
        """What objects of this kind are."""
        return GroupVersionKind(self.group, self.version, self.kind)

    @property
    def gvr(self) -> GroupVersionResource:
        """Where objects of this kind are served."""
        return GroupVersionResource(self.group, self.version, self.plural)


def api_type(
    *,
    group: str,
    version: str,
    kind: str | None = None,
    plural: str | None = None,
    singular: str | None = None,
    short_names: tuple[str, ...] = (),
    categories: tuple[str, ...] = (),
    scope: Scope = "Namespaced",
    status: bool = True,
    scale: Scale | None = None,
    columns: tuple[Column, ...] = (),
    storage: bool = True,
    served: bool = True,
    verbs: tuple[str, ...] = ALL_VERBS,
    annotations: tuple[tuple[str, str], ...] = (),
    labels: tuple[tuple[str, str], ...] = (),
    deprecated: bool = False,
    deprecation_warning: str = "",
    selectable_fields: tuple[str, ...] = (),
    conversion: WebhookConversion | None = None,
    list_kind: str = "",
    crd: bool = True,
) -> Callable[[C], C]:
    """Mark a class as an API kind; its name and an English plural are used where none are given.

    What only the CRD says: `annotations` and `labels` of the CRD itself, `deprecated` versions, `selectable_fields`
    (JSON paths that field selectors may use), `conversion` between versions; `crd=False` leaves a version out of it.
    """

    def mark(cls: C) -> C:
        own_kind = kind or cls.__name__
        cls.__api_type__ = ApiType(  # type: ignore[attr-defined]  # the note this module is about
            group=group,
            version=version,
            kind=own_kind,
            plural=plural or plural_of(own_kind.lower()),
            singular=singular or own_kind.lower(),
            short_names=short_names,
            categories=categories,
            scope=scope,
            status=status,
            scale=scale,
            columns=columns,
            storage=storage,
            served=served,
            verbs=verbs,
            annotations=annotations,
            labels=labels,
            deprecated=deprecated,
            deprecation_warning=deprecation_warning,
            selectable_fields=selectable_fields,
            conversion=conversion,
            list_kind=list_kind,
            crd=crd,
        )
        return cls

    return mark


def api_of(cls: type) -> ApiType:
    """What the API calls `cls`.

    Raises:
        TypeError: the class is not marked with `@api_type`.
    """
    # The class's own note, not an inherited one: a subclass would otherwise be sent as its base.
    note = cls.__dict__.get("__api_type__")
    if not isinstance(note, ApiType):
        raise TypeError(
            f"{cls.__module__}.{cls.__qualname__} is not an API kind: mark it with @api_type(group=, version=)"
        )
    return note


_NO_KIND = ("", "PartialObjectMetadata")


def kind_of(cls: type) -> GroupVersionKind:
    """Return what objects of a class are.

    Raises:
        TypeError: the class is not marked with `@api_type`, or stands for a resource whose kind was not given.
    """
    api = api_of(cls)
    if api.kind in _NO_KIND:
        raise TypeError(
            f"the kind of {api.gvr.group_resource} is not known: give it with kind=... where its class is made"
        )
    return api.gvk


def gvk_of(obj: object) -> GroupVersionKind:
    """Return what an object is: as the object itself says, as an `Unstructured` does, or else as its class says.

    Raises:
        TypeError: neither says it.
    """
    own = getattr(obj, "gvk", None)
    return own if isinstance(own, GroupVersionKind) and own.kind else kind_of(type(obj))


class Scheme:
    """Finds the class of a kind; one class for a kind, one kind for a class."""

    def __init__(self, *classes: type) -> None:
        self._classes: dict[GroupVersionKind, type] = {}
        self.add(*classes)

    def __repr__(self) -> str:
        return f"<Scheme {len(self._classes)} kinds>"

    def add(self, *classes: type) -> None:
        """Register classes marked with `@api_type`.

        Raises:
            ValueError: another class is registered for the same kind.
        """
        for cls in classes:
            gvk = api_of(cls).gvk
            known = self._classes.setdefault(gvk, cls)
            if known is not cls:
                raise ValueError(f"{gvk} is {known.__qualname__} already, it can't be {cls.__qualname__} too")

    def class_of(self, gvk: GroupVersionKind) -> type | None:
        """The class for a kind, or None."""
        return self._classes.get(gvk)

    def kinds(self) -> list[GroupVersionKind]:
        """Every registered kind."""
        return list(self._classes)


_IRREGULAR = {"endpoints": "endpoints"}


def plural_of(singular: str) -> str:
    """`policy` → `policies`, `ingress` → `ingresses`, `foo` → `foos`; other kinds name theirs."""
    if singular in _IRREGULAR:
        return _IRREGULAR[singular]
    if singular.endswith("y") and singular[-2:-1] not in "aeiou":
        return singular[:-1] + "ies"
    if singular.endswith(("s", "x", "z", "ch", "sh")):
        return singular + "es"
    return singular + "s"
