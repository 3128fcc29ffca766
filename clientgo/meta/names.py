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
        """Parse the text form.

        Raises:
            ValueError: more than one slash.
        """
        words = text.split("/")
        if len(words) > 2:
            # Not json.dumps: importing json would cost every program 2 ms.
            raise ValueError(f'unexpected key format: "{ascii(text)[1:-1]}"')
        return cls("", words[0]) if len(words) == 1 else cls(words[0], words[1])


class Named(Protocol):
    """An object with its own `object_name`, such as a tombstone."""

    @property
    def object_name(self) -> ObjectName:
        """The namespace and name."""


def object_name(obj: ApiObject | Named) -> ObjectName:
    """Return the name of an object or a tombstone."""
    # Without the constructor of the tuple, which takes twice as long: caches name each object several times.
    try:
        meta = obj.metadata  # type: ignore[union-attr]  # most are an ApiObject
        return _tuple(ObjectName, (meta.namespace, meta.name))
    except AttributeError:
        pass
    try:
        return obj.object_name  # type: ignore[union-attr]  # else Named
    except AttributeError as error:
        name = f"the class {obj.__name__}" if isinstance(obj, type) else f"a {type(obj).__name__}"
        raise AttributeError(f"expected an API object, got {name}") from error


_tuple = tuple.__new__
