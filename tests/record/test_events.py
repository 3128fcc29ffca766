"""Construction of events: references, names and timestamps."""

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.dynamic.unstructured import metadata_type, unstructured_type
from clientgo.kubernetes.types.core_v1 import EventSource, ObjectReference, Pod
from clientgo.meta import GroupVersionResource, ObjectMeta, api_type
from clientgo.record.events import NORMAL, UniqueTimestamps, event_name, make_event, reference_to, shortened
from clientgo.testing.clock import FakeClock

REF = ObjectReference(kind="Pod", api_version="v1", name="p", namespace="ns")
PODS = GroupVersionResource("", "v1", "pods")


@api_type(group="shop.example.com", version="v1")
@dataclass(frozen=True, slots=True)
class Lamp:
    metadata: ObjectMeta


@dataclass
class Unmarked:
    metadata: ObjectMeta


@pytest.mark.feature("B-REC-03")
def test_event_has_reference_names_times_and_source() -> None:
    lamp = Lamp(ObjectMeta(name="l", namespace="ns", uid="u", resource_version="7"))
    at = 1_700_000_000_123_456_789
    event = make_event(
        lamp, event_type=NORMAL, reason="Lit", message="is on", at=at,
        source=EventSource(component="switch", host="node1"), annotations={"a": "b"},
    )  # fmt: skip
    when = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert event.metadata == ObjectMeta(name=f"l.{at:x}", namespace="ns", annotations={"a": "b"})
    assert event.involved_object == ObjectReference(
        kind="Lamp", api_version="shop.example.com/v1", namespace="ns", name="l", uid="u", resource_version="7"
    )
    assert (event.type, event.reason, event.message, event.count) == ("Normal", "Lit", "is on", 1)
    assert (event.first_timestamp, event.last_timestamp) == (when, when)
    assert event.source == EventSource(component="switch", host="node1")
    assert (event.reporting_component, event.reporting_instance) == ("switch", "node1")


@pytest.mark.feature("B-REC-04")
def test_reference_is_made_from_class_dict_model_or_reference() -> None:
    expected = ObjectReference(kind="Pod", api_version="v1", namespace="ns", name="p", uid="u")
    plain = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns", "uid": "u"}}

    class Model:
        """As the official client's models are: apiVersion and kind are attributes of each object."""

        api_version, kind, metadata = "v1", "Pod", ObjectMeta(name="p", namespace="ns", uid="u")

    assert reference_to(Pod(metadata=ObjectMeta(name="p", namespace="ns", uid="u"))) == expected
    assert reference_to(plain) == expected
    assert reference_to(Model()) == expected
    meta = ObjectMeta(name="p", namespace="ns", uid="u")
    assert reference_to(metadata_type(PODS, kind="Pod")(metadata=meta)) == expected
    assert reference_to(unstructured_type(PODS)(api_version="v1", kind="Pod", metadata=meta)) == expected
    assert reference_to(expected) is expected
    assert reference_to(plain, field_path="spec.containers[2]").field_path == "spec.containers[2]"


@pytest.mark.feature("B-REC-04")
@pytest.mark.parametrize("thing", [Unmarked(ObjectMeta(name="x")), {"metadata": {"name": "x"}}, "a string"])
def test_reference_to_object_without_kind_is_rejected(thing: object) -> None:
    with pytest.raises(TypeError, match="has no kind"):
        reference_to(thing)


@pytest.mark.feature("B-REC-03")
@pytest.mark.parametrize("name", ["system:node", "Upper", "", "-a", "a" * 250])
def test_event_with_invalid_name_gets_a_random_name(name: str) -> None:
    built = event_name(name, 1_700_000_000_000_000_000)
    assert str(uuid.UUID(built)) == built


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n" * 1024, "n" * 1024),
        ("n" * 1025, "n" * 1021 + "..."),
        ("é" * 513, "é" * 510 + "..."),
        ("a" + "\N{GRINNING FACE}" * 256, "a" + "\N{GRINNING FACE}" * 255 + "..."),
    ],
    ids=["longest", "ASCII", "two bytes each", "four bytes each"],
)
def test_long_note_is_shortened_to_1024_bytes_at_a_character(text: str, expected: str) -> None:
    source = EventSource(component="c")
    event = make_event(REF, event_type=NORMAL, reason="R", action="A", message=text, at=1, source=source)
    assert event.message == expected
    assert make_event(REF, event_type=NORMAL, reason="R", message=text, at=1, source=source).message == text


def test_long_reason_and_action_are_shortened_to_128_bytes() -> None:
    event = make_event(
        REF, event_type=NORMAL, reason="R" * 129, action="A" * 200, message="m", at=1, source=EventSource()
    )
    assert (event.reason, event.action) == ("R" * 125 + "...", "A" * 125 + "...")


@given(st.text(), st.integers(8, 40))
def test_shortened_text_is_a_beginning_within_the_limit(text: str, limit: int) -> None:
    result = shortened(text, limit)
    assert len(result.encode()) <= limit
    assert result == text or text.startswith(result.removesuffix("..."))
    assert (result == text) is (len(text.encode()) <= limit)


def test_event_name_is_the_object_name_and_the_time_in_hex() -> None:
    assert event_name("foo.bar", 0x17979CFE362A0000) == "foo.bar.17979cfe362a0000"


@given(st.lists(st.floats(0, 2e9), min_size=1, max_size=20))
def test_timestamps_are_unique_when_the_clock_goes_back(times: list[float]) -> None:
    clock = FakeClock()
    timestamps = UniqueTimestamps(clock)
    results = []
    for time in times:
        clock.set_time(time)
        results += [timestamps.next(), timestamps.next()]
    assert results == sorted(set(results))
