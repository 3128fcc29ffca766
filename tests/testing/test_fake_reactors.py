"""Reactors and recorded actions."""

from dataclasses import dataclass

import pytest

from clientgo.errors import Conflict, Invalid
from clientgo.meta import GroupVersionResource, ListMeta, ObjectList, ObjectMeta, Scheme, api_type, replace
from clientgo.meta.codec import encode_value
from clientgo.rest.request import MERGE_PATCH, Request
from clientgo.testing.actions import Action
from clientgo.testing.fake import FakeRequester
from clientgo.testing.watchsource import BUFFER, FakeWatcher
from clientgo.typed.client import StatusClient


@dataclass(frozen=True, slots=True)
class GearSpec:
    teeth: int = 0


@api_type(group="shop.example.com", version="v1")
@dataclass(frozen=True, slots=True)
class Gear:
    metadata: ObjectMeta
    spec: GearSpec = GearSpec()


class Gears(StatusClient[Gear]):
    kind = Gear


GVR = GroupVersionResource("shop.example.com", "v1", "gears")
ACCOUNTS = GroupVersionResource("", "v1", "serviceaccounts")


def gear(name: str, teeth: int = 0) -> Gear:
    return Gear(ObjectMeta(name=name, namespace="ns"), GearSpec(teeth))


@pytest.fixture
def fake() -> FakeRequester:
    return FakeRequester(scheme=Scheme(Gear))


@pytest.mark.behaviour("FX-10")
@pytest.mark.parametrize(
    ("pattern", "resource", "subresource", "covered"),
    [
        pytest.param("*", "pods", "", True, id="star covers all"),
        pytest.param("*", "pods", "status", True, id="star covers subresources"),
        pytest.param("serviceaccounts", "serviceaccounts", "", True, id="the resource"),
        pytest.param("serviceaccounts", "pods", "", False, id="another resource"),
        pytest.param("serviceaccounts", "serviceaccounts", "token", True, id="the resource's subresources"),
        pytest.param("serviceaccounts/token", "serviceaccounts", "token", True, id="the subresource"),
        pytest.param("serviceaccounts/token", "serviceaccounts", "", False, id="not the bare resource"),
        pytest.param("serviceaccounts/token", "", "token", False, id="not a bare subresource"),
        pytest.param("serviceaccounts/token", "serviceaccounts", "status", False, id="another subresource"),
    ],
)
def test_resource_pattern_covers(pattern: str, resource: str, subresource: str, covered: bool) -> None:
    gvr = GroupVersionResource("", "v1", resource)
    assert Action(verb="create", resource=gvr, subresource=subresource).matches("create", pattern) is covered


@pytest.mark.parametrize(
    ("pattern", "verb", "covered"),
    [
        ("*", "get", True),
        ("get", "get", True),
        ("get", "list", False),
        ("patch", "apply", True),
        ("apply", "patch", False),
    ],
)
def test_verb_pattern_covers(pattern: str, verb: str, covered: bool) -> None:
    assert Action(verb=verb, resource=ACCOUNTS).matches(pattern, "*") is covered


@pytest.mark.behaviour("FX-14")
def test_the_recorded_action_keeps_the_object_as_submitted(fake: FakeRequester) -> None:
    def more_teeth(action: Action) -> tuple[bool, object]:
        return True, replace(action.object, spec=GearSpec(99))

    fake.prepend_reactor("create", "gears", more_teeth)
    assert Gears(fake, "ns").create(gear("a", 1)).spec.teeth == 99
    assert fake.actions == [Action.of("create", gear("a", 1))]


@pytest.mark.behaviour("FX-15")
def test_reactor_that_does_not_handle_may_change_the_object_for_the_next(fake: FakeRequester) -> None:
    def more_teeth(action: Action) -> tuple[bool, object]:
        return False, replace(action, object=replace(action.object, spec=GearSpec(action.object.spec.teeth + 1)))

    fake.add_reactor("create", "*", more_teeth)
    fake.add_reactor("create", "*", more_teeth)
    assert Gears(fake, "ns").create(gear("a", 1)).spec.teeth == 3
    assert Gears(fake, "ns").get("a").spec.teeth == 3
    assert fake.actions[0] == Action.of("create", gear("a", 1))


@pytest.mark.feature("B-TST-01", "B-CR-14")
def test_the_first_reactor_that_handles_wins_and_errors_reach_the_caller(fake: FakeRequester) -> None:
    requested: list[str] = []

    def refuse(action: Action) -> tuple[bool, object]:
        requested.append("refuse")
        raise Conflict("not now")

    def pass_on(action: Action) -> tuple[bool, object]:
        requested.append("pass")
        return False, None

    fake.add_reactor("update", "gears/status", refuse)
    fake.prepend_reactor("*", "*", pass_on)
    fake.tracker.add(gear("a"))
    with pytest.raises(Conflict, match="not now"):
        Gears(fake, "ns").update_status(gear("a"))
    assert requested == ["pass", "refuse"]
    assert Gears(fake, "ns").patch("a", {"spec": {"teeth": 1}}).spec.teeth == 1


@pytest.mark.feature("B-TST-02")
def test_actions_record_verb_resource_name_patch_and_options(fake: FakeRequester) -> None:
    client = Gears(fake, "ns")
    client.create(gear("a"), field_manager="tester")
    client.patch("a", {"spec": {"teeth": 1}}, subresource="status")
    client.list(label_selector="x=y")
    client.delete("a")
    create, patch, listing, delete = fake.actions
    assert (create, create.field_manager) == (Action.of("create", gear("a")), "tester")
    assert patch == Action(
        verb="patch", resource=GVR, namespace="ns", name="a", subresource="status",
        patch=b'{"spec":{"teeth":1}}', patch_type=MERGE_PATCH,
    )  # fmt: skip
    assert patch.patch_value == {"spec": {"teeth": 1}}
    assert (listing.label_selector, listing.is_write) == ("x=y", False)
    assert (str(patch), str(delete)) == ("patch gears/status ns/a", "delete gears ns/a")


def test_actions_differ_by_object_name_and_subresource() -> None:
    same = Action.of("update", gear("a", 1), subresource="status")
    assert same == Action.of("update", gear("a", 1), subresource="status")
    for other in (
        Action.of("update", gear("a", 2), subresource="status"),
        Action.of("update", gear("a", 1)),
        Action.of("create", gear("a", 1), subresource="status"),
    ):
        assert same != other


def test_undecodable_object_is_recorded_as_sent(fake: FakeRequester) -> None:
    sent = {"apiVersion": "shop.example.com/v1", "kind": "Gear", "metadata": {"name": "a"}, "spec": {"teeth": "many"}}
    with pytest.raises(Invalid, match="teeth"):
        fake.do(Request(verb="create", resource=GVR, namespace="ns", body=encode_value(sent)))
    assert fake.actions[0].object == sent
    fake.clear_actions()
    assert fake.actions == []


def test_reactor_may_answer_a_list(fake: FakeRequester) -> None:
    fake.prepend_reactor("list", "gears", lambda _: (True, [gear("a"), gear("b")]))
    assert Gears(fake).list().items == [gear("a"), gear("b")]
    fake.prepend_reactor("list", "gears", lambda _: (True, ObjectList(ListMeta(resource_version="7"), [gear("c")])))
    listed = Gears(fake).list()
    assert (listed.items, listed.metadata.resource_version) == ([gear("c")], "7")


def test_reactor_that_handles_without_a_result_lets_writes_succeed(fake: FakeRequester) -> None:
    fake.prepend_reactor("*", "gears", lambda _: (True, None))
    client = Gears(fake, "ns")
    assert client.create(gear("a")) == gear("a")
    client.delete("a")
    assert client.list().items == []
    with pytest.raises(TypeError, match="a reactor handled get gears ns/a and returned no result"):
        client.get("a")


def test_watch_reactor_opens_the_watch(fake: FakeRequester) -> None:
    stream = FakeWatcher()
    fake.add_watch_reactor("gears", lambda _: (True, stream))
    watch = Gears(fake).watch()
    stream.add(gear("a"))
    stream.modify(gear("a", 1))
    stream.delete(gear("a", 1))
    stream.error(Conflict("enough"))
    events = iter(watch)
    assert [next(events).type for _ in range(3)] == ["ADDED", "MODIFIED", "DELETED"]
    with pytest.raises(Conflict, match="enough"):
        next(events)


def test_unread_fake_watcher_overflows() -> None:
    stream = FakeWatcher()
    for _ in range(BUFFER):
        stream.add(gear("a"))
    with pytest.raises(RuntimeError, match="100 events are unread on a fake watch"):
        stream.add(gear("a"))
    stream.close()
    stream.add(gear("a"))
    assert list(stream) == []
