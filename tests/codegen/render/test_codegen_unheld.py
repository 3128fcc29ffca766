"""Values that generated classes do not hold: they survive an update of the object."""

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clientgo.codegen.__main__ import main
from clientgo.errors import Conflict, NotFound
from clientgo.meta import ObjectMeta, ObjectName, replace, to_dict
from clientgo.meta.classes.hints import snake
from clientgo.meta.jsonvalues import same_text
from clientgo.testing.client import FakeClient
from tests.codegen.generating import importable
from tests.definitions import custom_kind

OPEN: dict[str, Any] = {"x-kubernetes-preserve-unknown-fields": True}
TEXT = {"type": "string"}
PAIR = {"type": "object", "properties": {"a": TEXT, "b": {"type": "array", "items": TEXT}}}
CASES: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "openItems": ({"type": "array", **OPEN, "items": PAIR}, [[{"a": "x", "data": {"k": 1}}], [{}], []]),
    "openItemsOfItems": (
        {"type": "array", **OPEN, "items": {"type": "array", "items": PAIR}},
        [[[{"a": "x", "data": {"k": 1}}], []]],
    ),
    "openStruct": ({**PAIR, **OPEN}, [{"a": "x", "c": None}, {"b": []}, {}]),
    "openMap": ({"type": "object", "additionalProperties": {**PAIR, **OPEN}}, [{"k": {"c": 1}, "l": {}}, {}]),
    "openList": ({"type": "array", "items": {**PAIR, **OPEN}}, [[{"a": "x", "c": {"d": [None]}}]]),
    "closedStruct": (PAIR, [{"b": []}, {}]),
    "closedList": ({"type": "array", "items": PAIR}, [[{"b": []}, {"a": "x"}]]),
    "map": ({"type": "object", "additionalProperties": TEXT}, [{}]),
    "mapAndFields": ({**PAIR, "additionalProperties": {"type": "integer"}}, [{"a": "x", "n": 1}]),
    "embedded": (
        {**PAIR, "x-kubernetes-embedded-resource": True},
        [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "a": "x"}],
    ),
    "nullable": ({**TEXT, "nullable": True}, [None, "x"]),
    "nullableList": ({"type": "array", "items": {**TEXT, "nullable": True}, "nullable": True}, [None, [None], []]),
    "nullableStruct": ({**PAIR, "nullable": True}, [None, {}]),
    "enum": ({**TEXT, "enum": ["a"]}, ["new"]),
    "preset": ({**TEXT, "default": "a"}, ["a", "b"]),
    "port": ({"x-kubernetes-int-or-string": True}, [80, "http"]),
    "number": ({"type": "number"}, [1, 1.0, 1.5, 1e-7]),
    "integer": ({"type": "integer"}, [0, 3.0, 10**20, 1e30]),
    "time": (
        {**TEXT, "format": "date-time"},
        ["2020-01-01T00:00:00.123456789Z", "2020-01-01t00:00:00.120z", "2020-01-01T02:00:00+02:00", "soon", "",
         "10000-01-01T00:00:00Z", "-0001-01-01T00:00:00Z", "2016-12-31T23:59:60Z", "2020-01-01"],
    ),
    "bytes": ({**TEXT, "format": "byte"}, ["YQ==", "Y\nQ==", "YR==", "not base64", ""]),
    "anything": (OPEN, [None, [], {}, 1.0, {"a": [None, {"b": 10**20}]}, "x"]),
}  # fmt: skip


def chest(*required: str) -> dict[str, Any]:
    spec = {"type": "object", "properties": {name: schema for name, (schema, _) in CASES.items()}}
    return {"type": "object", "properties": {"spec": {**spec, "required": list(required)}}}


SCHEMAS = {
    "Chest": chest(),
    "Full": chest(*CASES),
    "Open": {"type": "object", **OPEN},
    "Half": {"type": "object", **OPEN, "properties": {"spec": PAIR}},
}
DEFINITIONS = [
    custom_kind(kind, "g.example.com", "v1", schema=schema, scope="Cluster") for kind, schema in SCHEMAS.items()
]


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("unheld")
    (folder / "crds.yaml").write_text("\n---\n".join(map(json.dumps, DEFINITIONS)))
    options = ("--generators", "client", "--output-package", "unheld", "--root", str(folder))
    assert main(["--from-crd", str(folder / "crds.yaml"), *options]) == 0
    with importable(folder, "unheld"):
        yield importlib.import_module("unheld.types.g_v1")


def stored(kind: str, **content: Any) -> dict[str, Any]:
    return {"apiVersion": "g.example.com/v1", "kind": kind, "metadata": {"name": "x", "labels": {"a": "b"}}, **content}


def relabelled(cls: Any, raw: dict[str, Any]) -> Any:
    """Return what the server holds after the update of a label, without its metadata."""
    client = FakeClient(cls(metadata=ObjectMeta(name="other")))
    client.fake.tracker.add(raw)
    obj = client.get(cls, ObjectName("", "x"))
    client.update(replace(obj, metadata=replace(obj.metadata, labels={"a": "c"})))
    after = client.fake.tracker.get(cls.__api_type__.gvr, "", "x")
    assert after["metadata"]["labels"] == {"a": "c"}
    return {name: part for name, part in after.items() if name != "metadata"}


def as_stored(value: Any) -> Any:
    """Return a value as servers store it: whole numbers that an integer holds have no fraction."""
    if isinstance(value, dict):
        return {name: as_stored(part) for name, part in value.items()}
    if isinstance(value, list):
        return [as_stored(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**63 else value


@pytest.mark.parametrize("kind", ["Chest", "Full"])
@pytest.mark.parametrize(
    ("field", "value"),
    [pytest.param(field, value, id=field) for field, (_, values) in CASES.items() for value in values],
)
def test_value_survives_the_update_of_a_label(kinds: Any, kind: str, field: str, value: Any) -> None:
    raw = stored(kind, spec={field: value})
    after = relabelled(getattr(kinds, kind), raw)
    assert same_text(after["spec"], as_stored(raw["spec"]))


@pytest.mark.parametrize("kind", ["Open", "Half"])
@pytest.mark.parametrize("spec", [{"a": "x", "b": []}, {}], ids=["spec", "empty"])
def test_fields_of_an_open_root_survive_the_update_of_a_label(kinds: Any, kind: str, spec: Any) -> None:
    raw = stored(kind, spec=spec, status={"ready": None}, data=[{"k": {}}], other=1.0)
    after = relabelled(getattr(kinds, kind), raw)
    assert same_text(after, as_stored({name: part for name, part in raw.items() if name != "metadata"}))


def test_spec_and_status_of_an_open_root_can_be_read_and_changed(kinds: Any) -> None:
    client = FakeClient(kinds.Open(metadata=ObjectMeta(name="x"), spec={"size": 1, "a": None}))
    obj = client.get(kinds.Open, ObjectName("", "x"))
    assert (obj.spec, obj.status) == ({"size": 1, "a": None}, None)
    assert client.update(replace(obj, spec={**obj.spec, "size": 2})).spec == {"size": 2, "a": None}


ABSENT = object()


@pytest.mark.parametrize(
    ("path", "before", "value", "after"),
    [
        pytest.param("Full.closedList", [{"a": "x"}], (), [], id="required list"),
        pytest.param("Full.map", {"a": "x"}, {}, {}, id="required map"),
        pytest.param("Full.nullable", "x", None, None, id="required nullable text"),
        pytest.param("Full.nullableList", ["x"], None, None, id="required nullable list"),
        pytest.param("Chest.closedList", [{"a": "x"}], (), ABSENT, id="list"),
        pytest.param("Chest.nullableList", ["x"], (), [], id="nullable list"),
        pytest.param("Chest.nullableList", [], None, ABSENT, id="empty nullable list"),
        pytest.param("Chest.openStruct", {}, None, ABSENT, id="empty open object"),
        pytest.param("Chest.openStruct", ABSENT, {}, {}, id="open object"),
        pytest.param("Chest.anything", ABSENT, {}, {}, id="free-form content"),
        pytest.param("Chest.anything", [], None, ABSENT, id="empty free-form content"),
    ],
)
def test_field_is_emptied(kinds: Any, path: str, before: Any, value: Any, after: Any) -> None:
    kind, field = path.split(".")
    cls = getattr(kinds, kind)
    client = FakeClient(cls(metadata=ObjectMeta(name="other")))
    client.fake.tracker.add(stored(kind, spec={} if before is ABSENT else {field: before}))
    obj = client.get(cls, ObjectName("", "x"))
    client.update(replace(obj, spec=replace(obj.spec, **{snake(field): value})))
    spec = client.fake.tracker.get(cls.__api_type__.gvr, "", "x")["spec"]
    assert spec == ({} if after is ABSENT else {field: after})


def test_required_fields_are_created_empty_unless_the_server_has_a_default(kinds: Any) -> None:
    spec = to_dict(kinds.Full(metadata=ObjectMeta(name="x"), spec=kinds.FullSpec(number=1)))["spec"]
    assert [spec[field] for field in ("closedList", "map", "nullable", "nullableStruct", "enum")] == [
        [], {}, None, None, "",
    ]  # fmt: skip
    assert "preset" not in spec


def test_changed_item_of_a_list_keeps_what_its_class_does_not_hold(kinds: Any) -> None:
    client = FakeClient(kinds.Chest(metadata=ObjectMeta(name="other")))
    client.fake.tracker.add(stored("Chest", spec={"closedList": [{"a": "x", "b": [], "new": 1}, {"a": "y", "new": 2}]}))
    obj = client.get(kinds.Chest, ObjectName("", "x"))
    first, second = obj.spec.closed_list
    client.update(replace(obj, spec=replace(obj.spec, closed_list=(first, replace(second, a="z")))))
    after = client.fake.tracker.get(kinds.Chest.__api_type__.gvr, "", "x")
    assert after["spec"] == {"closedList": [{"a": "x", "b": [], "new": 1}, {"a": "z", "new": 2}]}


def test_stale_object_is_still_a_conflict(kinds: Any) -> None:
    client = FakeClient(kinds.Open(metadata=ObjectMeta(name="x"), spec=1))
    obj = client.get(kinds.Open, ObjectName("", "x"))
    client.update(replace(obj, spec=2))
    with pytest.raises(Conflict):
        client.update(replace(obj, spec=3))
    client.delete(obj)
    with pytest.raises(NotFound):
        client.update(obj)


def test_open_root_is_reported_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "crds.yaml").write_text("\n---\n".join(map(json.dumps, DEFINITIONS)))
    options = ("--output-package", "made", "--generators", "client", "--root", str(tmp_path))
    for verify in ((), ("--verify",)):
        assert main(["--from-crd", str(tmp_path / "crds.yaml"), *options, *verify]) == 0
        half, opened = sorted(capsys.readouterr().err.splitlines())
        start = "crds.yaml: warning: {} of g.example.com/v1: the class has no fields beside metadata, spec, status"
        assert half.startswith(start.format("Half"))
        assert opened.startswith(start.format("Open"))
