"""What stands for an object whose deletion was not seen has that object's name, whatever is known of it."""

import pytest

from clientgo.cache import DeletedFinalStateUnknown, last_known
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta, ObjectName, object_name

KEY = ObjectName("testnamespace", "testname")
OBJ = ConfigMap(metadata=ObjectMeta(name="testname", namespace="testnamespace"))


@pytest.mark.behaviour("CT-06")
def test_a_tombstone_has_the_name_of_its_object() -> None:
    assert object_name(DeletedFinalStateUnknown(ObjectName.parse("testnamespace/testname"), OBJ)) == object_name(OBJ)


@pytest.mark.feature("B-STO-04")
@pytest.mark.parametrize(
    ("deleted", "name", "key"),
    [
        pytest.param(OBJ, KEY, "testnamespace/testname", id="the object"),
        pytest.param(DeletedFinalStateUnknown(KEY, OBJ), KEY, "testnamespace/testname", id="a tombstone of it"),
        pytest.param(DeletedFinalStateUnknown(KEY, None), KEY, "testnamespace/testname", id="without a state"),
        pytest.param(DeletedFinalStateUnknown(ObjectName("", ""), None), ObjectName("", ""), "", id="of nothing"),
    ],
)
@pytest.mark.behaviour("CT-07")
@pytest.mark.behaviour("CT-08")
def test_its_own_key_wins(deleted: ConfigMap | DeletedFinalStateUnknown[ConfigMap], name: ObjectName, key: str) -> None:
    assert object_name(deleted) == name
    assert str(object_name(deleted)) == key


@pytest.mark.feature("B-INF-09", "B-INF-10")
@pytest.mark.parametrize(
    ("deleted", "state"),
    [(OBJ, OBJ), (DeletedFinalStateUnknown(KEY, OBJ), OBJ), (DeletedFinalStateUnknown(KEY, None), None)],
)
def test_the_last_known_state_is_the_object_or_the_tombstones(
    deleted: ConfigMap | DeletedFinalStateUnknown[ConfigMap], state: ConfigMap | None
) -> None:
    assert last_known(deleted) is state
