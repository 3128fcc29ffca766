"""Event correlation: aggregation, counting and spam filter, with client-go's defaults."""

import msgspec
import pytest

from clientgo.kubernetes.types.core_v1 import Event, EventSource, ObjectReference
from clientgo.meta import ObjectMeta, replace
from clientgo.record.correlator import (
    Correlated,
    CorrelatorOptions,
    EventCorrelator,
    aggregate_by_reason,
    aggregate_key,
    combined_message,
    event_key,
    spam_key,
)
from clientgo.record.events import make_event, nanoseconds
from clientgo.testing.clock import FakeClock

KUBELET = EventSource(component="kubelet", host="kublet.node1")


class RestlessClock(FakeClock):
    """Clock that steps by `interval` at every reading."""

    def __init__(self, interval: float) -> None:
        super().__init__()
        self._interval = interval

    def now(self) -> float:
        self.step(self._interval)
        return super().now()


def event(reason: str = "end-of-world", message: str = "it was fun", name: str = "pod1", at: float = 0.0) -> Event:
    involved = ObjectReference(
        kind="Pod", name=name, namespace="other", uid="C934D34AFB20242", api_version="version",
        field_path="spec.containers{mycontainer}",
    )  # fmt: skip
    return make_event(
        involved, event_type="Normal", reason=reason, message=message, at=nanoseconds(1e9 + at), source=KUBELET
    )


def correlated(correlator: EventCorrelator, *events: Event) -> list[Correlated]:
    """Return the results of correlating the events; the server accepts each event that is sent."""
    results = []
    for item in events:
        results.append(result := correlator.correlate(item))
        if not result.skip:
            updated = replace(result.event, metadata=replace(result.event.metadata, resource_version="7"))
            correlator.update_state(updated, result.key)
    return results


@pytest.fixture
def correlator() -> EventCorrelator:
    return EventCorrelator(clock=FakeClock())


@pytest.mark.behaviour("REC-11")
def test_events_are_grouped_by_reason_and_distinguished_by_message() -> None:
    fun, awful = event(message="it was fun"), event(message="it was awful")
    nevermind = event("nevermind", "it was a bug")
    assert aggregate_by_reason(fun)[0] == aggregate_by_reason(awful)[0]
    assert aggregate_by_reason(fun)[1] != aggregate_by_reason(awful)[1]
    assert aggregate_by_reason(nevermind)[0] != aggregate_by_reason(fun)[0]


@pytest.mark.behaviour("REC-12")
def test_combined_message_has_a_prefix() -> None:
    assert combined_message(event(message="it was fun")).startswith("(combined from similar events): ")


def test_event_without_source_name_and_message_has_keys() -> None:
    bare = Event(metadata=ObjectMeta(), involved_object=ObjectReference(kind="Pod"), type="Normal", reason="R")
    assert (event_key(bare), aggregate_by_reason(bare), spam_key(bare)) == (
        "PodNormalR",
        ("PodNormalR", ""),
        "PodNormal",
    )
    assert combined_message(bare) == "(combined from similar events): "


@pytest.mark.feature("B-REC-06")
def test_keys_join_their_fields_with_nothing_between() -> None:
    item = event("R", "M")
    assert event_key(item) == (
        "kubeletkublet.node1Podotherpod1spec.containers{mycontainer}C934D34AFB20242versionNormalRM"
    )
    assert aggregate_key(item) == ("kubeletkublet.node1Podotherpod1C934D34AFB20242versionNormalRkubeletkublet.node1")
    assert spam_key(item) == "kubeletkublet.node1Podotherpod1C934D34AFB20242versionNormal"


def by_source_and_reason(item: Event) -> str:
    return spam_key(item) + (item.reason or "")


@pytest.mark.behaviour("REC-14")
@pytest.mark.parametrize(
    ("by_reason", "second", "skipped"),
    [
        pytest.param(False, event("other", "i am second"), True, id="default key, other reason"),
        pytest.param(True, event("other", "i am second"), False, id="key with reason, other reason"),
        pytest.param(True, event("original", "i am second"), True, id="key with reason, same reason"),
    ],
)
def test_spam_filter_limits_each_key(by_reason: bool, second: Event, skipped: bool) -> None:
    options = CorrelatorOptions(burst=1, spam_key=by_source_and_reason if by_reason else spam_key)
    correlator = EventCorrelator(options, clock=RestlessClock(1.0))
    first, later = correlated(correlator, event("original", "i am first"), second)
    assert not first.skip
    assert later.skip is skipped
    assert later.event == second


@pytest.mark.feature("B-REC-08")
def test_spam_filter_allows_25_events_and_one_every_five_minutes() -> None:
    clock = FakeClock()
    correlator = EventCorrelator(clock=clock)
    at_once = correlated(correlator, *[event() for _ in range(27)])
    assert [result.skip for result in at_once] == [False] * 25 + [True] * 2
    clock.step(299.0)
    assert correlated(correlator, event())[0].skip
    clock.step(1.0)
    (sent,) = correlated(correlator, event())
    # The dropped events were counted.
    assert (sent.skip, sent.event.count) == (False, 29)


@pytest.mark.feature("B-REC-07", "A-04")
def test_the_same_event_again_is_a_patch_of_count_time_and_message(correlator: EventCorrelator) -> None:
    first, second = correlated(correlator, event(at=0), event(at=60))
    assert (first.event, first.patch) == (event(at=0), b"")
    assert second.event.metadata.name == first.event.metadata.name
    assert second.event.metadata.resource_version == "7"
    assert (second.event.count, second.event.first_timestamp) == (2, first.event.first_timestamp)
    assert msgspec.json.decode(second.patch) == {
        "count": 2, "lastTimestamp": "2001-09-09T01:47:40Z", "message": "it was fun"
    }  # fmt: skip


@pytest.mark.feature("B-REC-07")
def test_next_patch_uses_the_name_and_version_from_the_server(correlator: EventCorrelator) -> None:
    result = correlator.correlate(event())
    renamed = replace(result.event, metadata=ObjectMeta(name="by-server", namespace="other", resource_version="9"))
    correlator.update_state(renamed, result.key)
    assert correlator.correlate(event()).event.metadata == renamed.metadata


@pytest.mark.feature("B-REC-07")
def test_stored_event_without_count_is_not_incremented(correlator: EventCorrelator) -> None:
    result = correlator.correlate(event())
    correlator.update_state(replace(result.event, count=None), result.key)
    again = correlator.correlate(event())
    assert (again.event.count, again.patch) == (1, b"")


@pytest.mark.feature("B-REC-06")
def test_the_tenth_different_message_is_combined_and_later_ones_are_counted(correlator: EventCorrelator) -> None:
    results = correlated(correlator, *[event(message=f"it was {n}") for n in range(12)])
    assert [r.event.message for r in results[:9]] == [f"it was {n}" for n in range(9)]
    assert [(r.event.message, r.event.count) for r in results[9:]] == [
        ("(combined from similar events): it was 9", 1),
        ("(combined from similar events): it was 10", 2),
        ("(combined from similar events): it was 11", 3),
    ]
    assert len({r.event.metadata.name for r in results[9:]}) == 1


@pytest.mark.feature("B-REC-06")
def test_aggregate_drops_annotations_and_reporting_fields(correlator: EventCorrelator) -> None:
    noted = [
        replace(item, metadata=replace(item.metadata, annotations={"a": "b"}))
        for item in (event(message=f"it was {n}") for n in range(10))
    ]
    combined = correlated(correlator, *noted)[-1].event
    assert not combined.metadata.annotations
    assert (combined.reporting_component, combined.reporting_instance) == (None, None)
    assert combined.metadata.name == f"pod1.{nanoseconds(1_700_000_000.0):x}"
    assert (combined.source, combined.reason, combined.type) == (KUBELET, "end-of-world", "Normal")


@pytest.mark.feature("B-REC-06")
def test_group_stores_fewer_messages_than_its_limit(correlator: EventCorrelator) -> None:
    messages = [f"it was {n}" for n in range(10)]
    correlated(correlator, *[event(message=message) for message in messages])
    again = correlated(correlator, *[event(message=message) for message in messages])
    # An arbitrary one of the ten was removed; the others are not new and so not combined.
    assert any(result.event.message in messages for result in again)


@pytest.mark.feature("B-REC-05")
def test_spam_filter_gets_the_combined_event() -> None:
    seen: list[str | None] = []

    def keyed(item: Event) -> str:
        seen.append(item.message)
        return "one key"

    correlator = EventCorrelator(CorrelatorOptions(spam_key=keyed, max_events=2), clock=FakeClock())
    correlated(correlator, event(message="a"), event(message="b"))
    assert seen == ["a", "(combined from similar events): b"]


@pytest.mark.feature("B-REC-06")
@pytest.mark.parametrize(("gap", "combined"), [(600.0, True), (600.5, False)])
def test_gap_of_more_than_ten_minutes_resets_a_group(gap: float, combined: bool) -> None:
    clock = FakeClock()
    correlator = EventCorrelator(clock=clock)
    for number in range(9):
        clock.step(500.0)
        correlated(correlator, event(message=f"it was {number}"))
    clock.step(gap)
    (tenth,) = correlated(correlator, event(message="it was 9"))
    assert (tenth.event.message or "").startswith("(combined") is combined


@pytest.mark.feature("B-REC-06")
def test_least_recently_used_key_is_evicted() -> None:
    correlator = EventCorrelator(CorrelatorOptions(cache_size=2), clock=FakeClock())
    correlated(correlator, event(name="a"), event(name="b"))
    again, *_ = correlated(correlator, event(name="a"), event(name="c"))
    assert again.event.count == 2
    # "c" evicted "b".
    assert correlated(correlator, event(name="b"))[0].event.count == 1


@pytest.mark.feature("B-REC-06")
def test_default_cache_holds_4096_events(correlator: EventCorrelator) -> None:
    correlated(correlator, *[event(name=f"pod{n}") for n in range(4096)])
    first, _, second = correlated(correlator, *[event(name=name) for name in ("pod0", "one more", "pod1")])
    assert (first.event.count, second.event.count) == (2, 1)
