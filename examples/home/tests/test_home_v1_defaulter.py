from clientgo.manager import Client
from clientgo.meta import ApiObject, ObjectMeta

from api.v1.home_types import Home


def test_omitted_fields_get_defaults(client: Client, created: list[ApiObject]) -> None:
    expected = Home(metadata=ObjectMeta(namespace="default", name="defaulted-home"))

    built = client.create(expected)
    created.append(built)

    assert built.spec.rooms == 1
    assert built.spec.owner
