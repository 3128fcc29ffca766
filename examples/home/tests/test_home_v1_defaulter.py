from clientgo.manager import Client
from clientgo.meta import ApiObject, ObjectMeta

from api.v1.home_types import Home


def test_omitted_fields_get_defaults(client: Client, created: list[ApiObject]) -> None:
    desired = Home(metadata=ObjectMeta(namespace="default", name="defaulted-home"))

    stored = client.create(desired)
    created.append(stored)

    assert stored.spec.rooms == 1
    assert stored.spec.owner
