"""Several finalizers of one kind, each with what it cleans up, put on and taken off together.

finalizers = Finalizers(manager.client)
finalizers.register("example.com/bucket", delete_bucket)
finalizers.register("example.com/account", delete_account)
...
foo, _ = finalizers.finalize(foo)
if foo.metadata.deletion_timestamp is not None:
    return
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from clientgo.errors import NotFound
from clientgo.manager.client import Client
from clientgo.manager.createorpatch import Outcome, difference, outcome_of
from clientgo.manager.finalizers import has_finalizer, with_finalizer, without_finalizer
from clientgo.meta.objects import ApiObject

T = TypeVar("T", bound=ApiObject)

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
