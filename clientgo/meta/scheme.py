"""Scheme: the mapping between classes and kinds.

`@api_type` attaches an `ApiType` to a class; `Scheme` finds the class of a kind. Clients, generators and the event
recorder need nothing else about a kind, whether its class is a user's dataclass or a generated Struct. The classes here
are Structs because every program loads them: creating a dataclass takes ten times as long.
"""

from typing import Literal, TypeVar

import msgspec
from msgspec.structs import replace

from clientgo.internal.patterns import lazy_pattern
from clientgo.meta.names import ObjectName
from clientgo.meta.objects import GroupVersionKind, GroupVersionResource

C = TypeVar("C", bound=type)

Scope = Literal["Namespaced", "Cluster"]

ALL_VERBS = (
    "get", "list", "watch", "create", "update", "update_status", "patch", "patch_status", "apply", "apply_status",
    "delete", "delete_collection",
)  # fmt: skip
"""The methods a generated client can have."""


class Column(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A printer column of `kubectl get`; `json_path` such as `.spec.replicas`."""

    name: str
    type: str
    json_path: str
    description: str = ""
    format: str = ""
    priority: int = 0


class ScaleSubresource(msgspec.Struct, frozen=True, omit_defaults=True):
    """JSON paths of the scale subresource."""

    spec_path: str = msgspec.field(name="specReplicasPath")
    status_path: str = msgspec.field(name="statusReplicasPath")
    selector_path: str = msgspec.field(default="", name="labelSelectorPath")


class WebhookConversion(msgspec.Struct, frozen=True, kw_only=True):
    """The conversion webhook of a CRD: a service in the cluster, or a URL if given."""

    service_namespace: str = "system"
    service_name: str = "webhook-service"
    path: str = "/convert"
    port: int = 443
    url: str = ""
    ca_bundle: str = ""
    review_versions: tuple[str, ...] = ("v1",)


class ApiType(msgspec.Struct, frozen=True, kw_only=True):
    """The names of a kind in the API, and how the API server serves it; as a decorator, it marks the kind's class.

    `kind` defaults to the name of the class, `plural` to the English plural. Only for the CRD: its `annotations` and
    `labels`, `deprecated` versions, `selectable_fields` (JSON paths that field selectors may use), `conversion` between
    versions; `crd=False` omits this version, which is then not the stored one. Objects may have values that a `partial`
    class does not hold, such as fields that it lacks: an update then reads the stored object, and replaces only what
    differs.
    """

    group: str
    version: str
    kind: str = ""
    plural: str = ""
    singular: str = ""
    scope: Scope = "Namespaced"
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    status: bool = True
    scale: ScaleSubresource | None = None
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
    partial: bool = False

    def __call__(self, cls: C) -> C:
        """Mark a class as this kind, with defaults for missing names."""
        kind = self.kind or cls.__name__
        plural, singular = self.plural or plural_of(kind.lower()), self.singular or kind.lower()
        cls.__api_type__ = replace(  # type: ignore[attr-defined]  # an attribute of API kinds only
            self, kind=kind, plural=plural, singular=singular, storage=self.storage and self.crd
        )
        return cls

    @property
    def api_version(self) -> str:
        """The `apiVersion` of objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def namespaced(self) -> bool:
        """True if objects are namespaced."""
        return self.scope == "Namespaced"

    @property
    def gvk(self) -> GroupVersionKind:
        """The group, version and kind."""
        return GroupVersionKind(self.group, self.version, self.kind)

    @property
    def gvr(self) -> GroupVersionResource:
        """The group, version and resource."""
        return GroupVersionResource(self.group, self.version, self.plural)


api_type = ApiType
"""Decorator of API kinds, such as `@api_type(group="samples.example.com", version="v1")`; see `ApiType`."""


def check_namespace(api: ApiType, namespace: str) -> None:
    """Raise ValueError if there is a namespace and the kind is cluster-scoped."""
    if namespace and not api.namespaced:
        raise ValueError(f"invalid namespace {namespace!r}: a {api.kind} cannot have a namespace")


def check_scope(api: ApiType, name: ObjectName) -> None:
    """Raise ValueError if the name has a namespace and the kind is cluster-scoped, or the other way round.

    Raises:
        TypeError: it is not an `ObjectName`, but a text, for example.
    """
    if not isinstance(name, ObjectName):
        raise TypeError(f"invalid name {name!r:.100}: expected ObjectName(namespace, name), or object_name(obj)")
    if bool(name.namespace) != api.namespaced:
        rule = "must have a namespace" if api.namespaced else "cannot have a namespace"
        raise ValueError(f'{api.kind} "{name}": a {api.kind} {rule}')


def api_of(cls: type) -> ApiType:
    """Return the `ApiType` of a class.

    Raises:
        TypeError: the class is not marked with `@api_type`.
    """
    # Not an inherited one: a subclass would be sent as its base.
    api = cls.__dict__.get("__api_type__") if isinstance(cls, type) else None
    if isinstance(api, ApiType):
        return api
    if not isinstance(cls, type):
        raise TypeError(f"expected the class of an API kind, such as ConfigMap, got {cls!r:.80}")
    remedy = "mark it with @api_type(group=, version=)"
    if cls.__module__.startswith(("clientgo.kubernetes.", "clientgo.meta.")):
        remedy = "use the kind whose objects have such a part"
    elif cls.__module__.startswith("clientgo."):  # a base class, such as Unstructured, which is for many kinds
        remedy = "mark a subclass of it with @api_type(group=, version=)"
    raise TypeError(f"{cls.__module__}.{cls.__qualname__} is not an API kind: {remedy}")


_NO_KIND = ("", "PartialObjectMetadata")


def kind_of(cls: type) -> GroupVersionKind:
    """Return the group, version and kind of a class.

    Raises:
        TypeError: the class is not marked with `@api_type`, or is of a resource without a given kind.
    """
    api = api_of(cls)
    if api.kind in _NO_KIND:
        raise TypeError(f"the kind of {api.gvr.group_resource} is unknown: pass kind=... where its class is created")
    return api.gvk


def gvk_of(obj: object) -> GroupVersionKind:
    """Return the group, version and kind of an object: its own, as of an `Unstructured`, or else its class's.

    Raises:
        TypeError: neither is known.
    """
    declared = getattr(obj, "gvk", None)
    return declared if isinstance(declared, GroupVersionKind) and declared.kind else kind_of(type(obj))


class Scheme:
    """A registry of classes by kind; each kind has one class."""

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
            existing = self._classes.setdefault(gvk, cls)
            if existing is not cls:
                raise ValueError(
                    f"cannot register {cls.__module__}.{cls.__qualname__} for {gvk}: "
                    f"{existing.__module__}.{existing.__qualname__} is registered already; use one class for the kind"
                )

    def class_of(self, gvk: GroupVersionKind) -> type | None:
        """Return the class of a kind, or None."""
        return self._classes.get(gvk)

    def kinds(self) -> list[GroupVersionKind]:
        """Return all registered kinds."""
        return list(self._classes)


_IRREGULAR = {"endpoints": "endpoints"}
_UNCHANGED = ("aircraft", "chassis", "media", "series", "species")
"""Words whose plural is the same, as in kubebuilder; also at the end of a kind, such as `TimeSeries`."""


def plural_of(singular: str) -> str:
    """Return the English plural: `policies`, `ingresses`, `foos`; kinds with another plural declare it."""
    if singular in _IRREGULAR:
        return _IRREGULAR[singular]
    if singular.endswith(_UNCHANGED):
        return singular
    if singular.endswith("y") and singular[-2:-1] not in "aeiou":
        return singular[:-1] + "ies"
    if singular.endswith(("s", "x", "z", "ch", "sh")):
        return singular + "es"
    return singular + "s"


_VERSION = lazy_pattern(r"v(\d+)(?:(alpha|beta)(\d*))?")


def version_priority(version: str) -> tuple[int, int, int, str]:
    """Return a sort key for Kubernetes' order of versions: v2, v1, v1beta2, v1beta1, v1alpha1, then any other name."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (3, 0, 0, version)
    return ({None: 0, "beta": 1, "alpha": 2}[match[2]], -int(match[1]), -int(match[3] or 0), "")
