import pytest
from clientgo.errors import Forbidden, Invalid
from clientgo.manager import Client
from clientgo.meta import ApiObject, ObjectMeta, replace

from api.v1.home_types import Home, HomeSpec


def home(name: str, spec: HomeSpec) -> Home:
    return Home(metadata=ObjectMeta(namespace="default", name=name), spec=spec)


def test_home_without_rooms_is_rejected_with_the_validators_message(client: Client) -> None:
    with pytest.raises((Invalid, Forbidden), match=r"spec.rooms: Invalid value: 0: a home has a room at least"):
        client.create(home("none", HomeSpec(rooms=0)))


def test_owner_is_immutable(client: Client, created: list[ApiObject]) -> None:
    stored = client.create(home("kept", HomeSpec(owner="ada")))
    created.append(stored)

    with pytest.raises((Invalid, Forbidden), match="a home is not handed on"):
        client.update(replace(stored, spec=HomeSpec(owner="bob", rooms=1)))


def test_valid_home_is_accepted(client: Client, created: list[ApiObject]) -> None:
    spec = HomeSpec(owner="ada", rooms=3)

    stored = client.create(home("good", spec))
    created.append(stored)

    assert stored.spec == spec
