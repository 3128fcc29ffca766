"""Finalizers: added before resources are created, removed after the cleanup."""

import json
from asyncio import CancelledError
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from clientgo.errors import ConfigError, Conflict, ConnectionFailed, NotFound
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import (
    Finalizer,
    Finalizers,
    Manager,
    OperationResult,
    Reconciler,
    has_finalizer,
    with_finalizer,
    without_finalizer,
)
from clientgo.manager.reconciler import check_reconciler
from clientgo.meta import ObjectName, replace
from clientgo.reconcile.attempts import Attempts
from clientgo.testing.actions import Action
from clientgo.testing.fake import FakeRequester
from controller.api.v1alpha1 import Foo, FooStatus
from tests.manager.managed import fake, manager_of, new_foo, running

pytestmark = pytest.mark.feature("B-CR-11")

NAME, OTHER = "example.com/bucket", "example.com/other"


@pytest.fixture
def requester() -> FakeRequester:
    return fake(with_finalizer(new_foo(), OTHER))


@pytest.fixture
def manager(requester: FakeRequester) -> Iterator[Manager]:
    built = manager_of(requester)
    with running(built):
        built.client.list(Foo)
        requester.clear_actions()
        yield built


def stored(manager: Manager) -> Foo:
    (foo,) = manager.api_reader.list(Foo)
    return foo


def test_objects_are_values_with_and_without_a_finalizer() -> None:
    foo = new_foo()
    with_it = with_finalizer(foo, NAME)
    assert (has_finalizer(foo, NAME), has_finalizer(with_it, NAME)) == (False, True)
    assert with_finalizer(with_it, NAME) is with_it
    assert without_finalizer(with_it, NAME) == foo
    assert without_finalizer(foo, NAME) is foo


def test_finalizer_is_added_once_and_others_remain(manager: Manager, requester: FakeRequester) -> None:
    finalizer = Finalizer(manager.client, NAME)
    foo = finalizer.ensure(stored(manager))
    assert finalizer.ensure(foo) is foo
    assert stored(manager).metadata.finalizers == (OTHER, NAME)
    assert len([action for action in requester.actions if action.is_write]) == 1


def test_concurrently_added_finalizer_is_not_lost(manager: Manager, requester: FakeRequester) -> None:
    foo = stored(manager)
    sent: list[object] = []

    def note(action: Action) -> tuple[bool, object]:
        sent.append(json.loads(action.patch))
        raise Conflict("the object has been modified")

    requester.prepend_reactor("patch", "foos", note)
    with pytest.raises(Conflict):
        Finalizer(manager.client, NAME).ensure(foo)
    version = foo.metadata.resource_version
    assert sent == [{"metadata": {"resourceVersion": version, "finalizers": [OTHER, NAME]}}]


def test_object_that_was_not_read_is_an_error_and_finalizers_of_others_remain(manager: Manager) -> None:
    with pytest.raises(ValueError, match="expected an object that was read from the server"):
        Finalizer(manager.client, NAME).ensure(new_foo())
    with pytest.raises(ValueError, match="expected an object that was read from the server"):
        Finalizer(manager.client, OTHER).remove(with_finalizer(new_foo(), OTHER))
    assert stored(manager).metadata.finalizers == (OTHER,)


def test_finalizer_is_removed_after_a_successful_block(manager: Manager) -> None:
    finalizer = Finalizer(manager.client, NAME)
    foo = finalizer.ensure(stored(manager))
    with pytest.raises(ConnectionError), finalizer.cleaning_up(foo):
        raise ConnectionError
    assert finalizer.is_on(stored(manager))
    with finalizer.cleaning_up(foo):
        assert finalizer.is_on(stored(manager))
    assert stored(manager).metadata.finalizers == (OTHER,)
    assert finalizer.remove(stored(manager)) == stored(manager)


def test_object_deleted_meanwhile_is_not_an_error(manager: Manager, requester: FakeRequester) -> None:
    finalizer = Finalizer(manager.client, NAME)
    foo = finalizer.ensure(stored(manager))

    def gone(_: Action) -> tuple[bool, object]:
        raise NotFound("not found")

    requester.prepend_reactor("patch", "foos", gone)
    with finalizer.cleaning_up(foo):
        pass


pytestmark = pytest.mark.feature("B-CR-15")

BUCKET, ACCOUNT, OTHER = "example.com/bucket", "example.com/account", "example.org/other"


def going(*finalizers: str) -> Foo:
    """Return a Foo that is being deleted and has these finalizers."""
    foo = new_foo()
    metadata = replace(foo.metadata, finalizers=finalizers, deletion_timestamp=datetime(2024, 1, 1, tzinfo=UTC))
    return replace(foo, metadata=metadata)


class Cleaning:
    """Two registered cleanup functions, and the objects they were called for."""

    def __init__(self, *objects: Foo) -> None:
        self.requester: FakeRequester = fake(*objects)
        self.manager: Manager = manager_of(self.requester)
        self.called: list[str] = []
        self.fails: dict[str, Any] = {}
        self.finalizers = Finalizers(self.manager.client)
        for name in (BUCKET, ACCOUNT):
            self.finalizers.register(name, partial(self.clean, name))

    def clean(self, name: str, foo: Foo) -> Any:
        self.called.append(name)
        result = self.fails.get(name)
        if isinstance(result, BaseException):
            raise result
        if result is not None:
            return result
        return replace(foo, status=FooStatus(0)) if name == ACCOUNT else None

    @property
    def stored(self) -> Foo:
        (foo,) = self.manager.api_reader.list(Foo)
        return foo

    def writes(self) -> list[tuple[str, object]]:
        return [(action.subresource, json.loads(action.patch)) for action in self.requester.actions if action.is_write]


@pytest.fixture
def cleaning() -> Iterator[Cleaning]:
    built = Cleaning(going(OTHER, BUCKET, ACCOUNT))
    with running(built.manager):
        yield built


def test_missing_finalizers_are_added_in_one_write() -> None:
    cleaning = Cleaning(with_finalizer(new_foo(), OTHER))
    with running(cleaning.manager):
        foo, outcome = cleaning.finalizers.finalize(cleaning.stored)
        assert (foo, outcome) == (cleaning.stored, OperationResult.UPDATED)
        assert cleaning.finalizers.finalize(foo) == (foo, OperationResult.UNCHANGED)
    assert foo.metadata.finalizers == (OTHER, BUCKET, ACCOUNT)
    assert (len(cleaning.writes()), cleaning.called) == (1, [])


def test_deletion_cleans_up_and_removes_finalizers_after_the_status_write(cleaning: Cleaning) -> None:
    version = cleaning.stored.metadata.resource_version
    foo, outcome = cleaning.finalizers.finalize(cleaning.stored)
    assert (cleaning.called, outcome) == ([BUCKET, ACCOUNT], OperationResult.UPDATED_STATUS)
    assert (foo.metadata.finalizers, foo.status) == ((OTHER,), FooStatus(0))
    (_, status), (_, last) = cleaning.writes()
    assert status == {"metadata": {"resourceVersion": version}, "status": {"availableReplicas": 0}}
    later = str(int(version) + 1)
    assert last == {"metadata": {"resourceVersion": later, "finalizers": [OTHER]}}


def test_failed_cleanup_keeps_its_finalizer_and_does_not_prevent_others(cleaning: Cleaning) -> None:
    cleaning.fails[BUCKET] = ConnectionFailed("refused")
    with pytest.raises(ConnectionFailed, match="refused") as failed:
        cleaning.finalizers.finalize(cleaning.stored)
    assert failed.value.__notes__ == [f"while cleaning up for finalizer {BUCKET}"]
    assert cleaning.stored.metadata.finalizers == (OTHER, BUCKET)
    assert cleaning.called == [BUCKET, ACCOUNT]


def test_failed_cleanup_is_logged_as_such(cleaning: Cleaning, caplog: pytest.LogCaptureFixture) -> None:
    cleaning.fails[BUCKET] = ConnectionFailed("refused")
    with Attempts("Foo").at(ObjectName("ns", "a")) as attempt:
        try:
            cleaning.finalizers.finalize(cleaning.stored)
        except ConnectionFailed as error:
            attempt.failed(error)
    with Attempts("Foo").at(ObjectName("ns", "a")) as attempt:
        try:
            with Finalizer(cleaning.manager.client, OTHER).cleaning_up(cleaning.stored):
                raise NotFound("no bucket")
        except NotFound as error:
            attempt.failed(error)
    assert "cannot finalize; will retry: refused" in caplog.text
    assert "cannot finalize; will retry: no bucket" in caplog.text


@pytest.mark.parametrize("result", [SystemExit(1), CancelledError(), True, "done"], ids=repr)
def test_cleanup_that_raises_or_returns_anything_does_not_prevent_others(cleaning: Cleaning, result: object) -> None:
    cleaning.fails[BUCKET] = result
    with pytest.raises(type(result) if isinstance(result, BaseException) else TypeError):
        cleaning.finalizers.finalize(cleaning.stored)
    assert cleaning.stored.metadata.finalizers == (OTHER, BUCKET)
    assert cleaning.called == [BUCKET, ACCOUNT]


def test_several_failed_cleanups_are_raised_as_a_group(cleaning: Cleaning) -> None:
    cleaning.fails.update({BUCKET: ConnectionFailed("refused"), ACCOUNT: KeyError("a bug")})
    with pytest.raises(ExceptionGroup, match="several finalizers failed") as failed:
        cleaning.finalizers.finalize(cleaning.stored)
    assert [type(exception) for exception in failed.value.exceptions] == [ConnectionFailed, KeyError]
    assert cleaning.writes() == []


def test_changed_object_is_a_conflict_and_deleted_one_is_not(cleaning: Cleaning) -> None:
    old = cleaning.stored
    cleaning.manager.client.patch(old, {"metadata": {"labels": {"a": "b"}}})
    with pytest.raises(Conflict):
        cleaning.finalizers.finalize(old)

    def gone(_: Action) -> tuple[bool, object]:
        raise NotFound("not found")

    cleaning.requester.prepend_reactor("patch", "foos", gone)
    foo, outcome = cleaning.finalizers.finalize(cleaning.stored)
    assert (foo.metadata.finalizers, outcome) == ((OTHER,), OperationResult.UNCHANGED)


@pytest.mark.parametrize("name", ["", "/bucket", "example.com/", "my bucket", "a/b/c", "Example.com/bucket"])
def test_finalizer_that_servers_reject_is_an_error(name: str) -> None:
    client = manager_of(fake()).client
    with pytest.raises(ValueError, match=r"expected a domain and a word: example.com/\w+"):
        Finalizers(client).register(name, print)
    with pytest.raises(ValueError, match=r"expected a domain and a word: example.com/\w+"):
        Finalizer(client, name)


def test_finalizer_without_a_domain_is_accepted_on_own_kinds_only() -> None:
    class Replacing(Reconciler[Foo], finalizer="bucket"):
        """Replaces an operator whose finalizer has no domain."""

        def reconcile(self, foo: Foo) -> None:
            """Do nothing."""

    class Blocking(Reconciler[ConfigMap], finalizer="bucket"):
        """Would have each of its writes rejected."""

        def reconcile(self, obj: ConfigMap) -> None:
            """Do nothing."""

    assert check_reconciler(Replacing) is Foo
    with pytest.raises(ConfigError, match=r"invalid finalizer 'bucket': expected a domain and a word"):
        check_reconciler(Blocking)


def test_finalizer_is_registered_once() -> None:
    finalizers = Finalizers(manager_of(fake()).client)
    finalizers.register(BUCKET, print)
    with pytest.raises(ValueError, match=f"{BUCKET} is already registered"):
        finalizers.register(BUCKET, print)
    assert repr(finalizers) == "<Finalizers example.com/bucket>"
