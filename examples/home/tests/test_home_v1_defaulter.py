from clientgo.manager import Client
from clientgo.meta import ApiObject, ObjectMeta

from api.v1.home_types import Home


def test_omitted_fields_get_defaults(client: Client, created: list[ApiObject]) -> None:
    wanted = Home(metadata=ObjectMeta(namespace="default", name="defaulted-home"))

    made = client.create(wanted)
    created.append(made)

    assert made.spec.rooms == 1
    assert made.spec.owner
