"""Events accepted by predicates."""

from collections.abc import Callable

import pytest

from clientgo.manager.predicates import (
    And,
    AnnotationChanged,
    Funcs,
    GenerationChanged,
    LabelChanged,
    LabelSelectorPredicate,
    Not,
    Or,
    Predicate,
    ResourceVersionChanged,
)
from clientgo.meta import replace
from controller.api.v1alpha1 import Foo
from tests.manager.managed import new_foo

pytestmark = pytest.mark.feature("B-CR-06")

OLD = replace(new_foo(), metadata=replace(new_foo().metadata, resource_version="1", generation=1, labels={"team": "a"}))


def changed(**fields: object) -> Foo:
    return replace(OLD, metadata=replace(OLD.metadata, **fields))


@pytest.mark.parametrize(
    ("predicate", "new"),
    [
        (ResourceVersionChanged(), changed(resource_version="2")),
        (GenerationChanged(), changed(generation=2)),
        (AnnotationChanged(), changed(annotations={"a": "b"})),
        (LabelChanged(), changed(labels={"team": "b"})),
    ],
    ids=lambda value: type(value).__name__,
)
def test_predicates_accept_only_updates_with_their_change(predicate: Predicate, new: Foo) -> None:
    assert predicate.update(OLD, new)
    other = changed(finalizers=("x",))
    assert not predicate.update(OLD, other)
    assert not predicate.update(OLD, OLD)
    assert predicate.create(OLD)
    assert predicate.delete(OLD)
    assert predicate.generic(OLD)


def test_label_selector_uses_the_current_labels() -> None:
    selector, other = LabelSelectorPredicate("team=a"), changed(labels={"team": "b"})
    assert selector.create(OLD)
    assert selector.delete(OLD)
    assert selector.generic(OLD)
    assert selector.update(other, OLD)
    assert not selector.update(OLD, other)
    assert not selector.create(other)


def answers(predicate: Predicate) -> tuple[bool, bool, bool, bool]:
    return predicate.create(OLD), predicate.update(OLD, OLD), predicate.delete(OLD), predicate.generic(OLD)


def test_funcs_accept_events_without_a_function() -> None:
    assert answers(Funcs()) == (True, True, True, True)
    never: Callable[..., bool] = lambda *_: False  # noqa: E731
    assert answers(Funcs(create=never)) == (False, True, True, True)
    assert answers(Funcs(update=never)) == (True, False, True, True)
    assert answers(Funcs(delete=never)) == (True, True, False, True)
    assert answers(Funcs(generic=never)) == (True, True, True, False)


ALL, NONE = Predicate(), Not(Predicate())


@pytest.mark.parametrize(
    ("predicate", "used"),
    [
        (ALL & ALL, True),
        (ALL & NONE, False),
        (ALL | NONE, True),
        (NONE | NONE, False),
        (~ALL, False),
        (~NONE, True),
        (And(), True),
        (Or(), False),
    ],
)
def test_predicates_can_be_combined(predicate: Predicate, used: bool) -> None:
    assert answers(predicate) == (used,) * 4
