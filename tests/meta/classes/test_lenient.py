"""Lenient construction: what a client must read although today's classes do not allow it."""

import copy
import enum
import json
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.kubernetes.types.apiextensions_v1 import JSONSchemaProps
from clientgo.kubernetes.types.apps_v1 import ControllerRevision, Deployment
from clientgo.meta import ObjectMeta, Undecodable, api_type, decode, encode, from_dict, replace, to_dict
from clientgo.meta.classes.lenient import construct
from clientgo.meta.codec import codec_for
from clientgo.meta.jsonvalues import same
from clientgo.meta.objects import UnknownNumber, UnknownValue


class Mode(enum.Enum):
    FAST = "Fast"
    SLOW = "Slow"


class Color(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


@dataclass(frozen=True, slots=True)
class Step:
    mode: Mode = Mode.FAST
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Spec:
    mode: Mode = Mode.SLOW
    color: Color | None = None
    level: Level = Level.LOW
    word: Literal["a", "b"] = "a"
    number: Literal[1, 2] | None = None
    steps: tuple[Step, ...] = ()
    by_name: Mapping[str, Step] = field(default_factory=dict)
    modes: tuple[Mode, ...] = ()
    words: Mapping[str, Literal["a", "b"]] = field(default_factory=dict)
    limited: Annotated[int, msgspec.Meta(ge=1)] = 1
    text: str = ""
    free: Any = None
    more: dict[str, Any] = field(default_factory=dict)


@api_type(group="example.com", version="v1", status=False)
@dataclass(frozen=True, slots=True)
class Thing:
    metadata: ObjectMeta
    spec: Spec = Spec()


class Part(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    the_mode: Mode = Mode.FAST
    word: Literal["a"] = "a"


@api_type(group="example.com", version="v1", status=False)
class Whole(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    metadata: ObjectMeta
    part: Part = Part()
    parts: tuple[Part, ...] = ()


def thing(**spec: Any) -> Thing:
    return from_dict(Thing, {"metadata": {"name": "x"}, "spec": spec})


@pytest.mark.parametrize(
    "spec",
    [
        {"mode": "New"},
        {"color": "new"},
        {"level": 7},
        {"word": "new"},
        {"number": 7},
        {"steps": [{"mode": "Slow"}, {"mode": "New"}]},
        {"byName": {"x": {"mode": "New", "names": ["a"]}}},
        {"modes": ["Fast", "New"]},
        {"words": {"x": "new"}},
        {"limited": -5},
        {"mode": "New", "free": {"a": None}, "more": {"b": None}},
    ],
    ids=str,
)
def test_value_that_todays_class_lacks_is_kept_and_written_back(spec: dict[str, Any]) -> None:
    obj = thing(**spec)
    assert same(to_dict(obj)["spec"], spec)
    assert obj == thing(**spec)
    changed = replace(obj, metadata=ObjectMeta(name="x", labels={"a": "b"}))
    assert same(to_dict(changed)["spec"], spec)


def test_unknown_value_equals_no_member_and_has_the_attributes_of_one() -> None:
    spec = thing(mode="New", color="new", level=7, word="new", number=7).spec
    assert not any(spec.mode == mode for mode in Mode)
    assert not any(spec.color == color for color in Color)
    assert not any(spec.level == level for level in Level)
    assert spec.color is not None
    assert (spec.mode.value, spec.mode.name, spec.color.value, spec.level.value) == ("New", "New", "new", 7)
    assert (spec.word, spec.number) == ("new", 7)
    assert [type(value) for value in (spec.mode, spec.word, spec.level, spec.number)] == [
        *(UnknownValue, UnknownValue),
        *(UnknownNumber, UnknownNumber),
    ]
    for copied in (copy.deepcopy(spec), pickle.loads(pickle.dumps(spec))):  # of this test
        assert copied == spec


def test_struct_keeps_unknown_values_too() -> None:
    data = {"metadata": {"name": "x"}, "part": {"theMode": "New"}, "parts": [{"word": "new"}]}
    full = from_dict(Whole, data)
    assert (full.part.the_mode.value, full.parts[0].word) == ("New", "new")
    assert to_dict(full) == {"apiVersion": "example.com/v1", "kind": "Whole", **data}


@pytest.mark.parametrize("spec", [{"mode": 5}, {"level": "high"}, {"word": 1}, {"number": "one"}, {"modes": "New"}])
def test_value_of_another_type_is_still_undecodable(spec: dict[str, Any]) -> None:
    with pytest.raises(Undecodable, match=rf"^Thing x cannot be decoded: .*`\$\.spec\.{next(iter(spec))}"):
        thing(**spec)


class Strict(enum.Enum):
    A = "a"

    @classmethod
    def _missing_(cls, value: object) -> "Strict":
        if value == "explode":
            raise RuntimeError("boom")
        return cls.A


@api_type(group="example.com", version="v1", status=False)
@dataclass(frozen=True)
class WithMissing:
    metadata: ObjectMeta
    strict: Strict = Strict.A
    text: str = ""


def test_enum_that_maps_missing_values_decides_itself() -> None:
    data: dict[str, Any] = {"metadata": {}, "strict": "other", "text": None}
    assert from_dict(WithMissing, data).strict is Strict.A
    with pytest.raises(Undecodable, match="RuntimeError: boom"):
        from_dict(WithMissing, {**data, "strict": "explode"})


names = st.sampled_from(["a", "b", "mode", "spec", "names"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from("ab"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
# Each makes the decoder fail, so that the object is constructed leniently.
odd = st.sampled_from([{"text": None}, {"mode": "New"}, {"steps": [{"names": None}]}, {"words": {"x": None}}, {}])


@given(json_values.filter(lambda value: value is not None), st.dictionaries(names, json_values, max_size=3), odd)
def test_nulls_in_free_form_content_survive_reading_and_writing(free: Any, more: Any, other: Any) -> None:
    obj = thing(free=free, more=more, **other)
    written = to_dict(obj)["spec"]
    assert same(written["free"], free)
    assert same(written.get("more", {}), more)
    assert decode(Thing, encode(obj)) == obj


@given(st.dictionaries(names, json_values, min_size=1, max_size=3), st.sampled_from([{}, {"revision": None}]))
def test_nulls_in_free_form_content_of_built_in_types_survive(data: Any, other: dict[str, None]) -> None:
    content = {"metadata": {"name": "x", "labels": None}, "data": data, **other}
    assert same(to_dict(from_dict(ControllerRevision, content))["data"], data)


def test_quantities_and_nulls_of_built_in_types_are_read_as_by_go() -> None:
    container = {"name": "a", "resources": {"limits": {"cpu": 2, "memory": 0.5}}, "ports": None}
    content = {"metadata": {"name": "x"}, "spec": {"template": {"spec": {"containers": [container]}}}}
    read = from_dict(Deployment, content).spec.template.spec.containers[0]
    assert read.resources is not None
    assert (read.resources.limits, read.ports) == ({"cpu": "2", "memory": "500m"}, ())


def test_recursive_built_in_type_is_constructed() -> None:
    schema = construct(JSONSchemaProps, {"properties": {"a": {"type": "object", "title": None, "default": [None]}}})
    assert schema.properties["a"].default == [None]


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


ERRORS = {
    type(error).__name__: error
    for error in (
        ValueError("v"), KeyError("team"), RuntimeError("r"), AssertionError(), ZeroDivisionError(),
        NotImplementedError("n"), RecursionError(), MemoryError(), SystemExit(1), GeneratorExit(), BaseException("b"),
        Unprintable(), KeyboardInterrupt(),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Inner:
    error: str = ""

    def __post_init__(self) -> None:
        if self.error:
            raise ERRORS[self.error]


@api_type(group="example.com", version="v1", status=False)
@dataclass(frozen=True)
class Guarded:
    metadata: ObjectMeta
    inner: Inner = Inner()
    inners: tuple[Inner, ...] = ()


@pytest.mark.parametrize("error", sorted(ERRORS.keys() - {"KeyboardInterrupt"}))
@pytest.mark.parametrize("nested", [False, True])
def test_whatever_post_init_raises_concerns_one_object(error: str, nested: bool) -> None:
    spec: dict[str, Any] = {"inners": [{}, {"error": error}]} if nested else {"inner": {"error": error}}
    bad = {"metadata": {"name": "bad"}, **spec}
    with pytest.raises(Undecodable, match=r"^Guarded bad cannot be decoded: ."):
        from_dict(Guarded, bad)
    page = codec_for(Guarded).decode_list(json.dumps({"items": [bad, {"metadata": {"name": "good"}}]}).encode())
    assert [obj.metadata.name for obj in page.items] == ["good"]
    assert [result.metadata.name for result in page.undecodable] == ["bad"]


def test_interrupt_of_the_user_is_not_taken_for_a_bad_object() -> None:
    with pytest.raises(KeyboardInterrupt):
        from_dict(Guarded, {"metadata": {}, "inner": {"error": "KeyboardInterrupt"}})
