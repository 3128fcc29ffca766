"""Finalizers keep an object until its external resources are cleaned up.

One finalizer, with `Finalizer`:

    if foo.metadata.deletion_timestamp is None:
        foo = finalizer.ensure(foo)
    elif finalizer.is_on(foo):
        with finalizer.cleaning_up(foo):
            delete_bucket(foo.spec.bucket)

The finalizer is added before external resources are created, and removed only after the block has succeeded. Several
finalizers, with `Finalizers`:

    finalizers = Finalizers(manager.client)
    finalizers.register("example.com/bucket", delete_bucket)
    finalizers.register("example.com/account", delete_account)
    ...
    foo, _ = finalizers.finalize(foo)
    if foo.metadata.deletion_timestamp is not None:
        return
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from clientgo.errors import CallbackFailed, NotFound
from clientgo.internal.callbacks import run_callback
from clientgo.manager.client import Client
from clientgo.manager.createorpatch import OperationResult, outcome_of
from clientgo.manager.requesters import finished_in_time
from clientgo.meta.classes.check import is_built_in
from clientgo.meta.codec import replace
from clientgo.meta.objects import ApiObject
from clientgo.meta.patches.difference import difference, for_version
from clientgo.meta.selectors import is_qualified_name
from clientgo.reconcile.attempts import begin_finalizing

T = TypeVar("T", bound=ApiObject)


def has_finalizer(obj: ApiObject, name: str) -> bool:
    """Return whether the object has that finalizer."""
    return name in obj.metadata.finalizers


def with_finalizer(obj: T, name: str) -> T:
    """Return the object with that finalizer; the same object if it has it already."""
    if has_finalizer(obj, name):
        return obj
    return replace(obj, metadata=replace(obj.metadata, finalizers=(*obj.metadata.finalizers, name)))


def without_finalizer(obj: T, name: str) -> T:
    """Return the object without that finalizer; the same object if it does not have it."""
    if not has_finalizer(obj, name):
        return obj
    remaining = tuple(finalizer for finalizer in obj.metadata.finalizers if finalizer != name)
    return replace(obj, metadata=replace(obj.metadata, finalizers=remaining))


def check_finalizer(name: str, kind: type[Any] | None = None) -> None:
    """Raise ValueError unless API servers accept the name: a word, with a domain in front on built-in kinds.

    New finalizers should have a domain everywhere. Operators in use may have others on their own kinds.
    """
    if not is_qualified_name(name) or ("/" not in name and kind is not None and is_built_in(kind)):
        word = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-") or "name"
        raise ValueError(f"invalid finalizer {name!r}: expected a domain and a word: example.com/{word}")


class Finalizer:
    """One finalizer; `name` should be a domain and a word, such as `example.com/bucket`."""

    def __init__(self, client: Client, name: str) -> None:
        """Create it.

        Raises:
            ValueError: API servers reject the name.
        """
        check_finalizer(name)
        self._client = client
        self.name = name

    def is_on(self, obj: ApiObject) -> bool:
        """Return whether the object has it."""
        return has_finalizer(obj, self.name)

    def ensure(self, obj: T) -> T:
        """Add it if it is missing; return the updated object.

        Raises:
            Conflict: the object has changed; finalizers of others would be lost.
            ValueError: the object was not read from a server.
            Invalid: the object is being deleted, and the server accepts no more finalizers.
        """
        return obj if self.is_on(obj) else self._write(with_finalizer(obj, self.name))

    def remove(self, obj: T) -> T:
        """Remove it if it is present; return the updated object, which is deleted if this was its last finalizer.

        Raises:
            Conflict: the object has changed; read it again.
            ValueError: the object was not read from a server.
        """
        return self._write(without_finalizer(obj, self.name)) if self.is_on(obj) else obj

    @contextmanager
    def cleaning_up(self, obj: ApiObject) -> Iterator[None]:
        """Remove it after the block, unless the block raised; the object may be deleted by then."""
        begin_finalizing()
        yield
        with suppress(NotFound):  # removed by another client
            self.remove(obj)

    def _write(self, obj: T) -> T:
        # A merge patch replaces the whole list. The resourceVersion makes it a conflict if the list has changed.
        patch = {"metadata": {"finalizers": list(obj.metadata.finalizers)}}
        return self._client.patch(obj, for_version(obj.metadata, patch))


CleanUp = Callable[[Any], Any]
"""Cleans up for an object that is being deleted; may return the object with a new status, which is then written."""


class Finalizers:
    """Registry of finalizers and their cleanup functions. Register all before `finalize`, which is thread-safe."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._functions: dict[str, CleanUp] = {}

    def __repr__(self) -> str:
        return f"<Finalizers {', '.join(self._functions) or 'none'}>"

    def register(self, name: str, clean_up: CleanUp) -> None:
        """Call `clean_up(obj)` before an object is deleted; it is called again if a later write fails.

        Raises:
            ValueError: the name is already registered, or API servers reject it for all kinds. Built-in kinds need one
                with a domain.
        """
        check_finalizer(name)
        if name in self._functions:
            raise ValueError(f"finalizer {name} is already registered")
        self._functions[name] = clean_up

    def finalize(self, obj: T) -> tuple[T, OperationResult]:
        """Add the missing finalizers; for an object that is being deleted, clean up and remove them.

        The function of each present finalizer is called in the order of registration, even if others fail; all that
        succeeded are removed in one write. Returns the updated object, which may be deleted by then, and the outcome.

        Raises:
            Conflict: the object has changed; the next reconciliation reads it again.
            Exception: the error of a function; an `ExceptionGroup` if several failed.
        """
        if obj.metadata.deletion_timestamp is None:
            return self._write(obj, self._with_all(obj))
        begin_finalizing()
        cleaned, errors = self._cleaned_up(obj)
        done = cleaned, OperationResult.UNCHANGED
        with suppress(NotFound):  # removed by another client
            done = self._write(obj, cleaned)
        if len(errors) > 1:
            raise BaseExceptionGroup("several finalizers failed", errors)  # an ExceptionGroup of Exceptions
        for error in errors:
            raise error
        return done

    def _with_all(self, obj: T) -> T:
        for name in self._functions:
            obj = with_finalizer(obj, name)
        return obj

    def _cleaned_up(self, obj: T) -> tuple[T, list[BaseException]]:
        errors: list[BaseException] = []
        for name in [name for name in self._functions if has_finalizer(obj, name)]:
            try:
                obj = run_callback(_clean_up, self._functions[name], obj, name)
            except CallbackFailed as failed:  # one failure must not prevent the others' cleanup
                error = failed.__cause__ or failed
                with suppress(CallbackFailed):
                    run_callback(error.add_note, f"while cleaning up for finalizer {name}")
                errors.append(error)
        return obj, errors

    def _write(self, existing: T, desired: T) -> tuple[T, OperationResult]:
        # The status first: without finalizers the object may be deleted. Each patch includes the resourceVersion it is
        # based on, because a patch replaces the whole list of finalizers.
        patch, status = difference(existing, desired)
        done = existing
        if status:
            done = self._client.patch_status(existing, for_version(existing.metadata, status))
        if patch:
            done = self._client.patch(existing, for_version(done.metadata, patch))
        return done, outcome_of(patch, status)


def _clean_up(function: CleanUp, obj: T, name: str) -> T:
    changed = finished_in_time(function(obj))
    if changed is None:
        changed = obj
    if not isinstance(changed, type(obj)):
        raise TypeError(f"cleanup must return a {type(obj).__name__} or None, got {type(changed).__qualname__}")
    return without_finalizer(changed, name)
