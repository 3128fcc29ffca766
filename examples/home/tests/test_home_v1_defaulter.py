from clientgo.manager import Manager
from clientgo.meta import ObjectMeta

from api.v1.home_types import Home


def test_what_is_left_out_is_filled_in(manager: Manager) -> None:
    wanted = Home(metadata=ObjectMeta(namespace="default", name="defaulted-home"))

    made = manager.client.create(wanted)

    assert made.spec.rooms == 1
    assert made.spec.owner
