"""Names of objects: the keys of caches and queues."""

from typing import NamedTuple, Protocol

from clientgo.meta.objects import ApiObject


class ObjectName(NamedTuple):
    """A namespace (empty when cluster-scoped) and a name; prints as `ns/name` or `name`."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @classmethod
    def parse(cls, text: str) -> "ObjectName":
        """Read what `str` wrote.

        Raises:
            ValueError: more than one slash.
        """
        parts = text.split("/")
        if len(parts) > 2:
            # Not by `json`, which nothing else here needs: importing it costs 2 ms of every program.
            raise ValueError(f'unexpected key format: "{ascii(text)[1:-1]}"')
        return cls("", parts[0]) if len(parts) == 1 else cls(parts[0], parts[1])


class Named(Protocol):
    """Something that knows its own name, as a tombstone does."""

    @property
    def object_name(self) -> ObjectName:
        """The name to go by."""


def object_name(obj: ApiObject | Named) -> ObjectName:
    """The name of an object; a tombstone's own name is used."""
    own = getattr(obj, "object_name", None)
    if isinstance(own, ObjectName):
        return own
    meta = obj.metadata  # type: ignore[union-attr]  # whatever is not Named is an ApiObject
    return ObjectName(meta.namespace, meta.name)
