"""Finalizers: put on before anything is made, taken off after all is cleaned up."""

import json
from collections.abc import Iterator

import pytest

from clientgo.errors import Conflict, NotFound
from clientgo.manager import Finalizer, Manager, has_finalizer, with_finalizer, without_finalizer
from clientgo.testing.actions import Action
from clientgo.testing.fake import FakeRequester
from controller.api.v1alpha1 import Foo
from tests.manager.managed import fake, manager_of, new_foo, running

pytestmark = pytest.mark.feature("B-CR-11")

NAME, OTHER = "example.com/bucket", "example.com/other"


@pytest.fixture
def requester() -> FakeRequester:
    return fake(with_finalizer(new_foo(), OTHER))


@pytest.fixture
def manager(requester: FakeRequester) -> Iterator[Manager]:
    made = manager_of(requester)
    with running(made):
        made.client.list(Foo)
        requester.clear_actions()
        yield made


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


def test_a_finalizer_is_put_on_once_and_others_stay(manager: Manager, requester: FakeRequester) -> None:
    finalizer = Finalizer(manager.client, NAME)
    foo = finalizer.ensure(stored(manager))
    assert finalizer.ensure(foo) is foo
    assert stored(manager).metadata.finalizers == (OTHER, NAME)
    assert len([action for action in requester.actions if action.is_write]) == 1


def test_a_finalizer_of_somebody_else_who_was_quicker_is_not_lost(manager: Manager, requester: FakeRequester) -> None:
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


def test_it_is_taken_off_when_the_block_has_ended_well(manager: Manager) -> None:
    finalizer = Finalizer(manager.client, NAME)
    foo = finalizer.ensure(stored(manager))
    with pytest.raises(ConnectionError), finalizer.cleaning_up(foo):
        raise ConnectionError
    assert finalizer.is_on(stored(manager))
    with finalizer.cleaning_up(foo):
        assert finalizer.is_on(stored(manager))
    assert stored(manager).metadata.finalizers == (OTHER,)
    assert finalizer.remove(stored(manager)) == stored(manager)


def test_an_object_that_is_gone_by_then_is_no_error(manager: Manager, requester: FakeRequester) -> None:
    finalizer = Finalizer(manager.client, NAME)
    foo = finalizer.ensure(stored(manager))

    def gone(_: Action) -> tuple[bool, object]:
        raise NotFound("not found")

    requester.prepend_reactor("patch", "foos", gone)
    with finalizer.cleaning_up(foo):
        pass
