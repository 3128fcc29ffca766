"""Keeps an object until what belongs to it elsewhere is cleaned up.

    if foo.metadata.deletion_timestamp is None:
        foo = finalizer.ensure(foo)
    elif finalizer.is_on(foo):
        with finalizer.cleaning_up(foo):
            delete_bucket(foo.spec.bucket)

The finalizer is written before anything is made elsewhere, and taken off only once the block has ended well.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from clientgo.errors import NotFound
from clientgo.manager.client import Client
from clientgo.manager.createorpatch import Outcome, difference, outcome_of
from clientgo.meta.codec import replace
from clientgo.meta.objects import ApiObject

T = TypeVar("T", bound=ApiObject)


def has_finalizer(obj: ApiObject, name: str) -> bool:
    """Whether the object waits for that finalizer."""
    return name in obj.metadata.finalizers


def with_finalizer(obj: T, name: str) -> T:
    """The object with that finalizer; itself if it has it."""
    if has_finalizer(obj, name):
        return obj
    return replace(obj, metadata=replace(obj.metadata, finalizers=(*obj.metadata.finalizers, name)))


def without_finalizer(obj: T, name: str) -> T:
    """The object without that finalizer; itself if it has none."""
    if not has_finalizer(obj, name):
        return obj
    kept = tuple(one for one in obj.metadata.finalizers if one != name)
    return replace(obj, metadata=replace(obj.metadata, finalizers=kept))


class Finalizer:
    """One finalizer, `name`, which ought to be a domain and a word: `example.com/bucket`."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self.name = name

    def is_on(self, obj: ApiObject) -> bool:
        """Whether the object waits for it."""
        return has_finalizer(obj, self.name)

    def ensure(self, obj: T) -> T:
        """Put it on, if it is not; returns the object as it is then.

        Raises:
            Conflict: the object has changed; others' finalizers would be lost.
            Invalid: it is being deleted already, and the server takes no further finalizers.
        """
        return obj if self.is_on(obj) else self._write(with_finalizer(obj, self.name))

    def remove(self, obj: T) -> T:
        """Take it off, if it is on; returns the object as it is then, which is gone if nothing else kept it.

        Raises:
            Conflict: the object has changed; read it again.
        """
        return self._write(without_finalizer(obj, self.name)) if self.is_on(obj) else obj

    @contextmanager
    def cleaning_up(self, obj: ApiObject) -> Iterator[None]:
        """Take it off once the block has ended, unless it raised; the object may be gone by then."""
        yield
        with suppress(NotFound):  # somebody else has taken it off
            self.remove(obj)

    def _write(self, obj: T) -> T:
        # A merge patch puts a whole list in the place of the other. The version makes it a conflict if that is not the
        # list which was read.
        version, finalizers = obj.metadata.resource_version, list(obj.metadata.finalizers)
        return self._client.patch(obj, {"metadata": {"resourceVersion": version, "finalizers": finalizers}})


CleanUp = Callable[[Any], Any]
"""Cleans up for an object that is being deleted; may give the object with another status, which is written then."""


class Finalizers:
    """Functions by the finalizers they stand for. Register all before the first `finalize`; then safe for threads."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._functions: dict[str, CleanUp] = {}

    def __repr__(self) -> str:
        return f"<Finalizers {', '.join(self._functions) or 'none'}>"

    def register(self, name: str, clean_up: CleanUp) -> None:
        """Have `clean_up(obj)` called before an object goes; it may be called again, if a write fails after it.

        Raises:
            ValueError: the name is taken, or is not a domain and a word, as `example.com/bucket` is.
        """
        domain, _, word = name.partition("/")
        if not domain or not word:
            raise ValueError(f"finalizer {name!r} must be a domain and a word: example.com/{name.strip('/') or 'name'}")
        if name in self._functions:
            raise ValueError(f"finalizer {name} is registered already")
        self._functions[name] = clean_up

    def finalize(self, obj: T) -> tuple[T, Outcome]:
        """Put on the finalizers that are missing or, of an object that is being deleted, clean up and take them off.

        Each of them that is on has its function called, in the order of registration, whatever becomes of the others;
        those that did well are taken off in one write. Returns the object as it is then, and what was written of it; it
        may be gone, if nothing else kept it.

        Raises:
            Conflict: the object has changed; the next reconciliation will read it again.
            Exception: what a function raised; an `ExceptionGroup` if several did.
        """
        if obj.metadata.deletion_timestamp is None:
            return self._write(obj, self._with_all(obj))
        cleaned, errors = self._cleaned_up(obj)
        done = cleaned, Outcome.UNCHANGED
        with suppress(NotFound):  # somebody else has taken them off
            done = self._write(obj, cleaned)
        if len(errors) > 1:
            raise ExceptionGroup("several finalizers failed", errors)
        for error in errors:
            raise error
        return done

    def _with_all(self, obj: T) -> T:
        for name in self._functions:
            obj = with_finalizer(obj, name)
        return obj

    def _cleaned_up(self, obj: T) -> tuple[T, list[Exception]]:
        errors: list[Exception] = []
        for name in [name for name in self._functions if has_finalizer(obj, name)]:
            try:
                changed = self._functions[name](obj)
            except Exception as error:  # noqa: BLE001  # one that fails must not keep the others from cleaning up
                error.add_note(f"while cleaning up for finalizer {name}")
                errors.append(error)
                continue
            obj = without_finalizer(obj if changed is None else changed, name)
        return obj, errors

    def _write(self, known: T, wanted: T) -> tuple[T, Outcome]:
        # The status first: without finalizers the object may be gone. Each patch names the version it was made from,
        # because a list of finalizers takes the place of whatever list is there.
        patch, status = difference(known, wanted)
        done = known
        if status:
            done = self._client.patch_status(known, _at(known, status))
        if patch:
            done = self._client.patch(known, _at(done, patch))
        return done, outcome_of(patch, status)


def _at(obj: ApiObject, patch: dict[str, Any]) -> dict[str, Any]:
    metadata = {**patch.get("metadata", {}), "resourceVersion": obj.metadata.resource_version}
    return {**patch, "metadata": metadata}
