"""Which events predicates take."""

from collections.abc import Callable

import pytest

from clientgo.manager.predicates import (
    And,
    AnnotationChanged,
    Funcs,
    GenerationChanged,
    LabelChanged,
    LabelSelector,
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
def test_a_change_is_taken_and_an_update_without_it_is_not(predicate: Predicate, new: Foo) -> None:
    assert predicate.update(OLD, new)
    other = changed(finalizers=("x",))
    assert not predicate.update(OLD, other)
    assert not predicate.update(OLD, OLD)
    assert predicate.create(OLD)
    assert predicate.delete(OLD)
    assert predicate.generic(OLD)


def test_a_label_selector_looks_at_the_labels_there_are_now() -> None:
    selector, other = LabelSelector("team=a"), changed(labels={"team": "b"})
    assert selector.create(OLD)
    assert selector.delete(OLD)
    assert selector.generic(OLD)
    assert selector.update(other, OLD)
    assert not selector.update(OLD, other)
    assert not selector.create(other)


def answers(predicate: Predicate) -> tuple[bool, bool, bool, bool]:
    return predicate.create(OLD), predicate.update(OLD, OLD), predicate.delete(OLD), predicate.generic(OLD)


def test_functions_are_asked_where_there_are_any() -> None:
    assert answers(Funcs()) == (True, True, True, True)
    never: Callable[..., bool] = lambda *_: False  # noqa: E731
    assert answers(Funcs(create=never)) == (False, True, True, True)
    assert answers(Funcs(update=never)) == (True, False, True, True)
    assert answers(Funcs(delete=never)) == (True, True, False, True)
    assert answers(Funcs(generic=never)) == (True, True, True, False)


ALL, NONE = Predicate(), Not(Predicate())


@pytest.mark.parametrize(
    ("predicate", "taken"),
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
def test_predicates_are_put_together(predicate: Predicate, taken: bool) -> None:
    assert answers(predicate) == (taken,) * 4
