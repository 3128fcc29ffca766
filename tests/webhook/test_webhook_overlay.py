"""Changes of a defaulter applied to JSON with fields that its class lacks."""

from time import process_time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta import ObjectMeta, from_dict, replace, to_dict
from clientgo.meta.patches.jsonpatch import diff
from clientgo.webhook.overlay import changed
from tests.webhook.homes import Garden, Home, HomeSpec, HomeStatus, home


def patch(raw: dict[str, Any], **spec: Any) -> list[tuple[Any, ...]]:
    obj = from_dict(Home, raw)
    made = changed(raw, obj, replace(obj, spec=replace(obj.spec, **spec)))
    return [tuple(one.values()) for one in diff(raw, made)]


@pytest.mark.parametrize(
    ("raw", "spec", "expected"),
    [
        pytest.param(home(), {}, [], id="nothing"),
        pytest.param(home(unknown=1), {"rooms": 1}, [("add", "/spec/rooms", 1)], id="beside what is unknown"),
        pytest.param(home(rooms=5), {"rooms": None}, [("remove", "/spec/rooms")], id="removed"),
        pytest.param(home(heated=False), {"heated": True}, [("replace", "/spec/heated", True)], id="back to default"),
        pytest.param(home(), {"heated": True}, [], id="a default that the class has already"),
        pytest.param(home(), {"heated": False}, [("add", "/spec/heated", False)], id="no default any more"),
        pytest.param(
            home(garden={"trees": 0, "flowers": ["rose"]}),
            {"garden": None},
            [("remove", "/spec/garden")],
            id="gone with its defaults",
        ),
        pytest.param(
            home(),
            {"garden": Garden(flowers=("rose",))},
            [("add", "/spec/garden", {"flowers": ["rose"]})],
            id="new, without defaults",
        ),
        pytest.param(home(), {"labels": {"a": "b"}}, [("add", "/spec/labels", {"a": "b"})], id="a map"),
        pytest.param(home(labels={"a": "b"}), {"labels": {}}, [("remove", "/spec/labels")], id="an emptied map"),
    ],
)
def test_only_what_changed_is_changed(raw: Any, spec: Any, expected: list[Any]) -> None:
    assert patch(raw, **spec) == expected


def test_remaining_items_keep_unknown_fields() -> None:
    raw = home(doors=[{"trees": 1, "colour": "red"}, {"trees": 2, "colour": "blue"}, {"trees": 3, "colour": "green"}])
    one, two, three = Garden(trees=1), Garden(trees=2), Garden(trees=3)
    assert patch(raw, doors=(one, three)) == [("remove", "/spec/doors/1")]
    assert patch(raw, doors=(one, Garden(trees=7), three)) == [("replace", "/spec/doors/1/trees", 7)]
    assert patch(raw, doors=(one, two, three, Garden(trees=4))) == [("add", "/spec/doors/3", {"trees": 4})]
    moved = changed(raw, from_dict(Home, raw), replace(from_dict(Home, raw), spec=HomeSpec(doors=(three,))))
    assert moved["spec"]["doors"] == [{"trees": 3, "colour": "green"}]


def test_missing_part_gets_only_the_difference() -> None:
    raw = home()
    obj = from_dict(Home, raw)
    made = changed(raw, obj, replace(obj, status=HomeStatus(visits=3)))
    assert diff(raw, made) == [{"op": "add", "path": "/status", "value": {"visits": 3}}]


def test_null_metadata_of_go_is_kept() -> None:
    raw = home()
    raw["metadata"]["creationTimestamp"] = None
    obj = from_dict(Home, raw)
    made = changed(raw, obj, replace(obj, metadata=replace(obj.metadata, labels={"a": "b"})))
    assert diff(raw, made) == [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]


def test_removing_most_of_a_long_list_is_fast() -> None:
    raw = home(doors=[{"trees": index, "colour": str(index)} for index in range(1, 4001)])
    obj = from_dict(Home, raw)
    left = obj.spec.doors[::2]
    began = process_time()
    made = changed(raw, obj, replace(obj, spec=replace(obj.spec, doors=left)))
    assert process_time() - began < 1.0  # 0.03 s; each with each took 3.5 s
    assert made["spec"]["doors"] == raw["spec"]["doors"][::2]


GARDENS = st.builds(Garden, trees=st.integers(0, 2), flowers=st.lists(st.sampled_from("rt"), max_size=2).map(tuple))
SPECS = st.builds(
    HomeSpec,
    owner=st.sampled_from(["", "a", "b"]),
    rooms=st.none() | st.integers(0, 2),
    heated=st.booleans(),
    garden=st.none() | GARDENS,
    doors=st.lists(GARDENS, max_size=3).map(tuple),
    labels=st.dictionaries(st.sampled_from("xy"), st.sampled_from("12")),
)


@given(SPECS, SPECS, st.booleans())
def test_result_decodes_to_the_defaulters_object(old: HomeSpec, new: HomeSpec, spelt_out: bool) -> None:
    before, after = Home(ObjectMeta(name="a"), old), Home(ObjectMeta(name="a"), new)
    raw = to_dict(before)
    if spelt_out:  # as an API server sends it, with the schema's defaults
        raw.setdefault("spec", {}).setdefault("heated", True)
        raw["status"] = {"visits": 0, "unknown": [1]}
    made = changed(raw, from_dict(Home, raw), after)
    assert from_dict(Home, made) == from_dict(Home, msgspec.json.decode(msgspec.json.encode(to_dict(after))))
    if spelt_out:
        assert made["status"]["unknown"] == [1]
