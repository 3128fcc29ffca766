"""Conversion between versions: through the hub, in order, with unchanged metadata."""

import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta import ObjectMeta, api_type, from_dict, replace, to_dict
from clientgo.serving import Route
from clientgo.webhook import ConversionError, Convertible, Hub, field
from clientgo.webhook.conversion import conversion_route
from tests.webhook.homes import GROUP, Home, HomeSpec, HomeSpecV2, HomeV2, answer_of, grown, home, posted, shrunk
from tests.webhook.recording import recorded

Object = dict[str, Any]


@api_type(group=GROUP, version="v3", kind="Home", storage=False)
class HomeV3(HomeSpecV2):
    """Version without conversions."""


@api_type(group=GROUP, version="v1")
class Castle(HomeV2):
    """Another kind."""


def hub() -> Hub[HomeV2]:
    return Hub(HomeV2).spoke(Home, to_hub=grown, from_hub=shrunk)


def route(*hubs: Hub[Any]) -> Route:
    return conversion_route({(item.group, item.kind): item for item in hubs or (hub(),)}, largest=100_000)


def asked(desired: str, *objects: Object) -> Object:
    request = {"uid": "u-1", "desiredAPIVersion": desired, "objects": list(objects)}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}


@pytest.mark.feature("A-18")
@pytest.mark.feature("C-36")
def test_recorded_review_is_answered_in_order_with_its_metadata_to_the_letter() -> None:
    body = recorded("convert")
    sent = json.loads(body)["request"]
    response = answer_of(route()(posted(body)))
    assert (response["uid"], response["result"]["status"]) == (sent["uid"], "Success")
    villa, hut = response["convertedObjects"]
    assert (villa["apiVersion"], villa["kind"]) == (f"{GROUP}/v2", "Home")
    assert villa["metadata"] == sent["objects"][0]["metadata"]
    assert villa["spec"] == {"owners": ["ann", "bob"], "rooms": 3}
    # Annotations may change, which is where a version keeps what it has no field for.
    assert hut["metadata"] == {**sent["objects"][1]["metadata"], "annotations": {"a": "b", "ajd/cold": "true"}}


SPECS = st.builds(
    HomeSpec, owner=st.sampled_from(["", "ann", "ann & bob"]), rooms=st.none() | st.integers(1, 9), heated=st.booleans()
)


@pytest.mark.feature("A-18")
@given(SPECS, st.dictionaries(st.sampled_from("ab"), st.text(max_size=2)))
def test_spoke_to_hub_to_spoke_loses_nothing(spec: HomeSpec, labels: dict[str, str]) -> None:
    arguments = Home(ObjectMeta(name="a", namespace="n", uid="u", labels=labels, resource_version="7"), spec)
    converted = hub().convert(to_dict(arguments), f"{GROUP}/v2")
    assert from_dict(Home, hub().convert(converted, f"{GROUP}/v1")) == arguments


def test_object_of_the_desired_version_stays_as_it_is() -> None:
    obj = home(unknown=1)
    assert answer_of(route()(posted(asked(f"{GROUP}/v1", obj))))["convertedObjects"] == [obj]
    assert answer_of(route()(posted(asked(f"{GROUP}/v1"))))["convertedObjects"] == []


def renaming(obj: Home) -> HomeV2:
    return replace(grown(obj), metadata=ObjectMeta(name="other"))


def forgetting(obj: Home) -> HomeV2:
    return replace(grown(obj), metadata=ObjectMeta())


def failing(obj: Home) -> HomeV2:
    raise ValueError(f"{obj.spec.owner} moved out")


def refusing(obj: Home) -> HomeV2:
    raise field.Errors([field.invalid(field.Path("spec") / "owner", obj.spec.owner, "moved out")])


def broken(obj: Home) -> HomeV2:
    raise KeyError("owner")


def exiting(obj: Home) -> HomeV2:
    raise SystemExit(1)


def objecting(obj: Home) -> HomeV2:
    raise ConversionError("v2 knows no castles")


@pytest.mark.parametrize(
    ("to_hub", "reason"),
    [
        (renaming, "the conversion changed metadata.name from 'villa' to 'other': it must keep the metadata"),
        (forgetting, "the conversion changed metadata.name from 'villa' to '': it must keep the metadata"),
        (failing, "invalid object: ann moved out"),
        (refusing, 'spec.owner: Invalid value: "ann": moved out'),
        (broken, "the conversion failed: KeyError: 'owner'"),
        (objecting, "v2 knows no castles"),
        (lambda obj: obj, "HomeV2.convert_from returned a Home"),
    ],
)
def test_one_object_that_fails_fails_all_and_is_named(to_hub: Any, reason: str) -> None:
    failing_hub = Hub(HomeV2).spoke(Home, to_hub=to_hub, from_hub=shrunk)
    response = answer_of(route(failing_hub)(posted(asked(f"{GROUP}/v2", home(owner="ann")))))
    assert response["convertedObjects"] == []
    assert response["result"] == {"metadata": {}, "status": "Failure", "message": f"Home default/villa: {reason}"}


@pytest.mark.parametrize(
    ("obj", "desired", "reason"),
    [
        (home(), f"{GROUP}/v9",
         "unknown version ajd.my.domain/v9 of Home: expected one of ajd.my.domain/v2, ajd.my.domain/v1"),
        ({**home(), "apiVersion": f"{GROUP}/v9"}, f"{GROUP}/v2", "unknown version ajd.my.domain/v9 of Home"),
        ({**home(), "kind": "Castle"}, f"{GROUP}/v2", "Castle default/villa: unknown kind ajd.my.domain/v1"),
        (home(rooms="many"), f"{GROUP}/v2", "Home default/villa: invalid object: Expected `int | null`, got `str`"),
        ({}, "", "an object without kind: unknown kind None"),
        ({"kind": "Home", "apiVersion": f"{GROUP}/v1", "metadata": 5}, f"{GROUP}/v2", "Home: invalid object: "),
    ],
)  # fmt: skip
def test_unknown_versions_and_kinds_are_reported(obj: Object, desired: str, reason: str) -> None:
    result = answer_of(route()(posted(asked(desired, obj))))["result"]
    assert result["status"] == "Failure"
    assert reason in result["message"]


@pytest.mark.parametrize(
    ("to_hub", "obj", "level"),
    [
        (grown, home(rooms="many"), logging.WARNING),
        (failing, home(), logging.WARNING),
        (refusing, home(), logging.WARNING),
        (broken, home(), logging.ERROR),
        (exiting, home(), logging.ERROR),
    ],
    ids=["undecodable", "ValueError", "field.Errors", "bug", "SystemExit"],
)
def test_invalid_object_is_logged_in_one_line_and_a_bug_with_its_traceback(
    to_hub: Any, obj: Object, level: int, caplog: pytest.LogCaptureFixture
) -> None:
    failing_hub = Hub(HomeV2).spoke(Home, to_hub=to_hub, from_hub=shrunk)
    route(failing_hub)(posted(asked(f"{GROUP}/v2", obj)))
    [record] = caplog.records
    assert record.levelno == level
    assert (record.exc_info is not None) is (level == logging.ERROR)


@pytest.mark.parametrize(
    "body", [b"{", b"{}", b'{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}', asked("v1")["request"]]
)
def test_invalid_review_is_rejected(body: Any) -> None:
    assert route()(posted(body)).status == 400


@pytest.mark.feature("B-CR-12")
@pytest.mark.feature("C-36")
def test_versions_can_define_their_conversions() -> None:
    @api_type(group=GROUP, version="v1alpha1", kind="Home")
    class Old(HomeV2):
        def convert_to(self) -> HomeV2:
            return HomeV2(self.metadata, self.spec)

        @classmethod
        def convert_from(cls, hub: HomeV2, /) -> "Old":
            return cls(hub.metadata, hub.spec)

    assert issubclass(Old, Convertible)
    both = hub().spoke(Old)
    assert both.api_versions == [f"{GROUP}/v2", f"{GROUP}/v1", f"{GROUP}/v1alpha1"]
    # From spoke to spoke it goes through the hub.
    assert both.convert(home(owner="a & b"), f"{GROUP}/v1alpha1")["spec"] == {"owners": ["a", "b"]}


def test_wrong_use_is_rejected() -> None:
    with pytest.raises(ValueError, match="HomeV3 has no conversion: define convert_to and convert_from"):
        hub().spoke(HomeV3)  # type: ignore[type-var]  # that is what is shown
    with pytest.raises(ValueError, match="is already a version of Home"):
        hub().spoke(Home, to_hub=grown, from_hub=shrunk)
    with pytest.raises(ValueError, match=r"Kind=Castle is not a version of Home.ajd.my.domain"):
        hub().spoke(Castle)
