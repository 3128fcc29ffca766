"""Conversion between versions of a kind through a hub version.

One version is the hub, usually the stored one. Each other version, a spoke, has functions to and from the hub; so n
versions need 2(n-1) functions, not n(n-1). They are methods of the spoke's class (`Convertible`), which needs nothing
of this library for that, or given separately:

    Hub(HomeV2).spoke(HomeV1).spoke(HomeV1Beta1, to_hub=grown, from_hub=shrunk)

An API server converts an object before it validates it, so functions must handle any value of their class. They reject
one by raising ValueError, `field.Errors` or `ConversionError`, whose message the user sees.
"""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar, runtime_checkable

from clientgo.meta.codec import Undecodable, from_dict
from clientgo.meta.objects import ApiObject
from clientgo.meta.scheme import api_of
from clientgo.webhook.todict import to_dict_with_defaults

H = TypeVar("H", bound=ApiObject)
S = TypeVar("S", bound=ApiObject)

Object = dict[str, Any]


class ConversionError(Exception):
    """An object cannot be converted; the message is one sentence for the user."""


@runtime_checkable
class Convertible(Protocol[H]):
    """Version with conversions to and from the hub."""

    def convert_to(self) -> H:
        """Return the object in the hub version; of the metadata, only labels and annotations may change."""

    @classmethod
    def convert_from(cls, hub: H, /) -> Self:
        """Return the hub's object in this version."""


class Hub(Generic[H]):
    """Converts objects of a kind between its versions; the given class is the hub. Wrong use raises ValueError."""

    def __init__(self, kind: type[H]) -> None:
        api = api_of(kind)
        self._hub = kind
        self.group, self.kind = api.group, api.kind
        self._versions: dict[str, _Version] = {api.api_version: _Version(kind, _itself, _itself)}

    def __repr__(self) -> str:
        return f"<Hub {self.kind}: {', '.join(self.api_versions)}>"

    @property
    def api_versions(self) -> list[str]:
        """All versions, the hub first."""
        return list(self._versions)

    def spoke(
        self,
        kind: type[S],
        *,
        to_hub: Callable[[S], H] | None = None,
        from_hub: Callable[[H], S] | None = None,
    ) -> "Hub[H]":
        """Add a version with these functions, or with those of a `Convertible` class."""
        api = api_of(kind)
        if (api.group, api.kind) != (self.group, self.kind):
            raise ValueError(f"{api.gvk} is not a version of {self.kind}.{self.group}")
        if api.api_version in self._versions:
            raise ValueError(f"{api.api_version} is already a version of {self.kind}")
        forward, backward = to_hub or getattr(kind, "convert_to", None), from_hub or getattr(kind, "convert_from", None)
        if forward is None or backward is None:
            methods = "define convert_to and convert_from, or pass to_hub and from_hub"
            raise ValueError(f"{kind.__qualname__} has no conversion: {methods}")
        self._versions[api.api_version] = _Version(kind, forward, backward)
        return self

    def convert(self, obj: Object, api_version: str) -> Object:
        """Convert an object in JSON form; its metadata stays the same except for labels and annotations.

        Raises:
            ConversionError: a version is unknown, the object is invalid, or the result is another object.
            Exception: the error of a conversion function.
        """
        source, target = self._version(obj.get("apiVersion")), self._version(api_version)
        if source is target:
            return obj
        try:
            typed = from_dict(source.kind, obj)
        except Undecodable as error:
            raise ConversionError(f"invalid object: {error.cause}") from error
        converted = target.from_hub(source.to_hub(typed))
        if not isinstance(converted, target.kind):
            raise ConversionError(f"{target.kind.__qualname__}.convert_from returned a {type(converted).__qualname__}")
        return _with_metadata(obj, to_dict_with_defaults(converted))

    def _version(self, api_version: Any) -> "_Version":
        spoke = self._versions.get(api_version) if isinstance(api_version, str) else None
        if spoke is None:
            raise ConversionError(
                f"unknown version {api_version} of {self.kind}: expected one of {', '.join(self._versions)}"
            )
        return spoke


class _Version(NamedTuple):
    """Class of a version, with its conversions to and from the hub."""

    kind: type[Any]
    to_hub: Callable[[Any], Any]
    from_hub: Callable[[Any], Any]


def _itself(obj: Any) -> Any:
    return obj


def _with_metadata(original: Object, converted: Object) -> Object:
    """Return the result with the original's metadata: an API server rejects changes except of two maps."""
    before, after = original.get("metadata") or {}, converted.get("metadata") or {}
    for name in ("name", "namespace", "uid"):
        if after.get(name, "") != before.get(name, ""):
            was, now = before.get(name, ""), after.get(name, "")
            raise ConversionError(
                f"the conversion changed metadata.{name} from {was!r} to {now!r}: it must keep the metadata"
            )
    metadata = {name: value for name, value in before.items() if name not in ("labels", "annotations")}
    metadata |= {name: after[name] for name in ("labels", "annotations") if after.get(name)}
    return {**converted, "metadata": metadata}
