"""JSON of converted objects: all values, including the class's defaults, which no server adds afterwards."""

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import Int32, ObjectMeta, api_type, from_dict
from clientgo.webhook import Hub
from clientgo.webhook.todict import to_dict_with_defaults
from tests.webhook.homes import GROUP, Garden, Home, HomeSpec, HomeSpecV2, HomeV2, grown, home, shrunk

META = ObjectMeta(name="a")


def spec(obj: object) -> Any:
    return to_dict_with_defaults(obj)["spec"]


@pytest.mark.parametrize(
    ("home_spec", "written"),
    [
        pytest.param(HomeSpec(), {"heated": True}, id="a default that means something is written"),
        pytest.param(HomeSpec(heated=False), {"heated": False}, id="a zero that is not the default is"),
        pytest.param(HomeSpec(rooms=0), {"heated": True, "rooms": 0}, id="so is one where nothing is the default"),
        pytest.param(HomeSpec(garden=Garden()), {"heated": True, "garden": {}}, id="and an object, if it is empty"),
        pytest.param(
            HomeSpec(doors=(Garden(2, ("rose",)),), labels={"a": ""}),
            {"heated": True, "doors": [{"trees": 2, "flowers": ["rose"]}], "labels": {"a": ""}},
            id="in lists and maps too",
        ),
    ],
)
def test_values_are_written_with_defaults(home_spec: HomeSpec, written: Any) -> None:
    assert spec(Home(META, home_spec)) == written
    assert from_dict(Home, to_dict_with_defaults(Home(META, home_spec))) == Home(META, home_spec)


@api_type(group=GROUP, version="v1")
@dataclass(frozen=True, slots=True)
class Shed:
    metadata: ObjectMeta
    spec: Garden
    doors: Int32 = 1


def test_required_fields_are_written_even_if_empty() -> None:
    built = to_dict_with_defaults(Shed(META, Garden()))

    assert built == {"apiVersion": f"{GROUP}/v1", "kind": "Shed", "metadata": {"name": "a"}, "spec": {}, "doors": 1}


def test_library_structs_are_written_as_usual() -> None:
    written = to_dict_with_defaults(ConfigMap(metadata=META, data={"a": "b"}, binary_data={"c": b"d"}))

    assert written == {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "b"},
        "binaryData": {"c": "ZA=="},
    }  # fmt: skip


class Odd(msgspec.Struct, frozen=True, kw_only=True):
    """Class with a field that distinguishes unset values."""

    metadata: ObjectMeta = META
    said: str | msgspec.UnsetType = msgspec.UNSET


def test_unset_values_stay_unset() -> None:
    kind = api_type(group=GROUP, version="v1")(Odd)

    assert to_dict_with_defaults(kind()).keys() == {"apiVersion", "kind", "metadata"}


@pytest.mark.feature("A-18")
def test_version_that_has_another_default_keeps_what_the_object_had() -> None:
    hub = Hub(HomeV2).spoke(Home, to_hub=grown, from_hub=shrunk)

    # On the way the hub has no such field; on the way back only the class's default says that it is heated.
    existing = hub.convert(home(owner="ann", heated=True), f"{GROUP}/v2")
    assert from_dict(HomeV2, existing).spec == HomeSpecV2(owners=("ann",))
    assert hub.convert(existing, f"{GROUP}/v1")["spec"] == {"owner": "ann", "heated": True}
