"""Conversion of an object from one version of its kind to another, through the hub.

One version is the hub, usually the one that is stored. Each other, a spoke, says how it becomes the hub and how it is
made of it; so n versions need 2(n-1) functions and not n(n-1). They stand on the spoke's class (`Convertible`), which
needs nothing of this library for it, or anywhere else:

    Hub(HomeV2).spoke(HomeV1).spoke(HomeV1Beta1, to_hub=grown, from_hub=shrunk)

An API server converts an object before it validates it, so a function may be given any value that its class can hold.
It rejects one by raising ValueError, `field.Errors` or `ConversionError`, whose message the user reads.
"""

from collections.abc import Callable
from typing import Any, Generic, Protocol, Self, TypeVar, runtime_checkable

from clientgo.meta.codec import Undecodable, from_dict
from clientgo.meta.objects import ApiObject
from clientgo.meta.scheme import api_of
from clientgo.webhook.todict import to_dict_with_defaults

H = TypeVar("H", bound=ApiObject)
S = TypeVar("S", bound=ApiObject)

Object = dict[str, Any]


class ConversionError(Exception):
    """An object can't be converted; the message is one sentence for whoever asked for it."""


@runtime_checkable
class Convertible(Protocol[H]):
    """A version that knows the hub."""

    def convert_to(self) -> H:
        """The object as the hub has it, with the same metadata but for labels and annotations."""

    @classmethod
    def convert_from(cls, hub: H, /) -> Self:
        """The object of this version that the hub's stands for."""


class Hub(Generic[H]):
    """Converts objects of a kind between its versions; the class given is the hub. Wrong use is a ValueError."""

    def __init__(self, kind: type[H]) -> None:
        api = api_of(kind)
        self._hub = kind
        self.group, self.kind = api.group, api.kind
        self._versions: dict[str, _Version] = {api.api_version: _Version(kind, _itself, _itself)}

    def __repr__(self) -> str:
        return f"<Hub {self.kind}: {', '.join(self.api_versions)}>"

    @property
    def api_versions(self) -> list[str]:
        """Every version there is, the hub's first."""
        return list(self._versions)

    def spoke(
        self,
        kind: type[S],
        *,
        to_hub: Callable[[S], H] | None = None,
        from_hub: Callable[[H], S] | None = None,
    ) -> "Hub[H]":
        """One more version, by these functions, or by those of a `Convertible` class."""
        api = api_of(kind)
        if (api.group, api.kind) != (self.group, self.kind):
            raise ValueError(f"{api.gvk} is no version of {self.kind}.{self.group}")
        if api.api_version in self._versions:
            raise ValueError(f"{api.api_version} is a version of {self.kind} already")
        there, back = to_hub or getattr(kind, "convert_to", None), from_hub or getattr(kind, "convert_from", None)
        if there is None or back is None:
            either = "give it convert_to and convert_from, or give to_hub and from_hub"
            raise ValueError(f"{kind.__qualname__} can't be converted: {either}")
        self._versions[api.api_version] = _Version(kind, there, back)
        return self

    def convert(self, obj: Object, api_version: str) -> Object:
        """Convert the object, as JSON has it; its metadata stays, but for labels and annotations.

        Raises:
            ConversionError: a version is not known, the object can't be decoded, or the result is not the same object.
            Exception: what a conversion function raised.
        """
        source, target = self._version(obj.get("apiVersion")), self._version(api_version)
        if source is target:
            return obj
        try:
            typed = from_dict(source.kind, obj)
        except Undecodable as error:
            raise ConversionError(f"invalid object: {error.cause}") from error
        made = target.from_hub(source.to_hub(typed))
        if not isinstance(made, target.kind):
            raise ConversionError(f"{target.kind.__qualname__}.convert_from made a {type(made).__qualname__}")
        return _with_metadata(obj, to_dict_with_defaults(made))

    def _version(self, api_version: Any) -> "_Version":
        found = self._versions.get(api_version) if isinstance(api_version, str) else None
        if found is None:
            raise ConversionError(f"{api_version} is no version of {self.kind}: there are {', '.join(self._versions)}")
        return found


class _Version:
    """A version's class, and the ways to the hub and back."""

    __slots__ = ("from_hub", "kind", "to_hub")

    def __init__(self, kind: type[Any], to_hub: Callable[[Any], Any], from_hub: Callable[[Any], Any]) -> None:
        self.kind = kind
        self.to_hub = to_hub
        self.from_hub = from_hub


def _itself(obj: Any) -> Any:
    return obj


def _with_metadata(original: Object, made: Object) -> Object:
    """What was made, with the original's metadata to the letter: an API server refuses any change but to two maps."""
    before, after = original.get("metadata") or {}, made.get("metadata") or {}
    for name in ("name", "namespace", "uid"):
        if after.get(name, "") != before.get(name, ""):
            was, now = before.get(name, ""), after.get(name, "")
            raise ConversionError(f"the conversion changed metadata.{name} from {was!r} to {now!r}: hand metadata on")
    metadata = {name: value for name, value in before.items() if name not in ("labels", "annotations")}
    metadata |= {name: after[name] for name in ("labels", "annotations") if after.get(name)}
    return {**made, "metadata": metadata}
