"""Names that tell informers apart, and what is measured under them."""

import pytest

from clientgo.cache import InformerName
from clientgo.meta import GroupVersionResource

PODS = GroupVersionResource("", "v1", "pods")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")


@pytest.mark.behaviour("ID-01")
def test_a_name_is_given_once_until_it_is_released() -> None:
    name = InformerName("one")
    with pytest.raises(ValueError, match="the informer name 'one' is in use already"):
        InformerName("one")
    with pytest.raises(ValueError, match="must not be empty"):
        InformerName("")
    name.release()
    InformerName("one").release()


@pytest.mark.behaviour("ID-02")
def test_a_resource_is_reserved_once_within_a_name() -> None:
    name = InformerName("two")
    assert name.with_resource(PODS).reserved
    assert not name.with_resource(PODS).reserved
    assert name.with_resource(DEPLOYMENTS).reserved
    name.release()
    assert not name.with_resource(GroupVersionResource("", "v1", "secrets")).reserved


@pytest.mark.behaviour("ID-03")
def test_a_release_ends_what_was_reserved_and_frees_the_name_once() -> None:
    name = InformerName("three")
    identity = name.with_resource(PODS)
    assert identity.labels == {"name": "three", "group": "", "version": "v1", "resource": "pods"}
    name.release()
    assert not identity.reserved
    successor = InformerName("three")
    name.release()  # again, and too late: the name is another's
    with pytest.raises(ValueError, match="in use already"):
        InformerName("three")
    assert successor.with_resource(PODS).reserved
    successor.release()
