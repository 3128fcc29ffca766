"""Check of the classes of API kinds, the same for the codec and the generators."""

import dataclasses
import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, make_dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, NewType, TypedDict, TypeVar
from uuid import UUID

import attrs
import msgspec
import pydantic
import pytest

from clientgo.dynamic import Unstructured
from clientgo.meta import EMPTY_MAP, Meta, MicroTime, ObjectMeta, Quantity, api_type, decode, encode, to_dict
from clientgo.meta.classes.check import check_class, faults
from clientgo.meta.classes.wire import to_wire
from clientgo.meta.codec import codec_for

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Rule:
    host_name: str = ""


class Mode(enum.Enum):
    FAST = "Fast"


class Mixed(enum.Enum):
    ONE = 1
    TWO = "two"


class Keys(TypedDict):
    host_name: str


class Pair(NamedTuple):
    host_name: str


class Struct(msgspec.Struct, frozen=True, rename="camel"):
    host_name: str = ""


@dataclass(frozen=True)
class Box(Generic[T]):
    item: T


@dataclass
class Mutable:
    size: int = 0


@dataclass(frozen=True)
class Ring:
    inner: "tuple[Ring, ...]" = ()


class Model(pydantic.BaseModel):
    host_name: str = ""


@attrs.frozen
class Attrs:
    host_name: str = ""


@pydantic.dataclasses.dataclass(frozen=True)
class PydanticData:
    host_name: str = ""


class MutableStruct(msgspec.Struct):
    size: int = 0


class Snake(msgspec.Struct, frozen=True):
    size: int = 0
    host_name: str = ""


class Named(msgspec.Struct, frozen=True, rename="camel"):
    host_name: str = ""
    node_port: int = msgspec.field(default=0, name="node_port")


class Array(msgspec.Struct, frozen=True, array_like=True):
    size: int = 0


class Tagged(msgspec.Struct, frozen=True, tag=True):
    size: int = 0


class Holder(msgspec.Struct, frozen=True):
    rules: tuple[Rule, ...] = ()


Alias = NewType("Alias", Rule)


def kind_with(hint: Any, default: Any = dataclasses.MISSING) -> Any:
    """A kind whose field `part` has this annotation."""
    field = ("part", hint, dataclasses.field(default=default))
    built: Any = make_dataclass("Thing", [("metadata", ObjectMeta), field], frozen=True)
    return api_type(group="example.com", version="v1", status=False)(built)


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (Mutable, "Mutable is mutable: use @dataclass(frozen=True, slots=True)"),
        (tuple[Mutable, ...], "Mutable is mutable: use @dataclass(frozen=True, slots=True)"),
        (Mapping[str, Mutable | None], "Mutable is mutable: use @dataclass(frozen=True, slots=True)"),
        (Ring, "Ring is recursive, which a structural schema cannot express: use Mapping[str, Any]"),
        (Sequence[Rule], "Rule] has no schema: use tuple[X, ...]"),
        (Iterable[str], "use tuple[X, ...]"),
        (set[str], "Thing.part: set[str] has no schema: use tuple[X, ...]"),
        (frozenset[str] | None, "has no schema: use tuple[X, ...]"),
        (tuple[set[str], ...], "Thing.part: set[str] has no schema: use tuple[X, ...]"),
        (tuple[int, str], "use tuple[X, ...] or Mapping[str, X]"),
        (tuple, "use tuple[X, ...] or Mapping[str, X]"),
        (dict, "use tuple[X, ...] or Mapping[str, X]"),
        (Box[Rule], "has no schema: use a dataclass without type parameters"),
        (Box, "Box is generic: use a dataclass without type parameters"),
        (int | bool, "use one type, or int | str"),
        (Rule | Struct, "use one type, or int | str"),
        (int | msgspec.UnsetType, "use one type, or int | str"),
        (complex, "Thing.part: complex has no schema: use str, int, bool"),
        (object, "object has no schema: use str, int, bool"),
        (Decimal, "Decimal has no schema"),
        (date, "date has no schema: use str, int, bool, datetime"),
        (UUID, "UUID has no schema"),
        (Model, "Thing.part: Model is a class of pydantic: use @dataclass(frozen=True, slots=True) in its place"),
        (PydanticData, "PydanticData is a class of pydantic: use @dataclass(frozen=True, slots=True) in its place"),
        (Attrs, "Thing.part: Attrs is a class of attrs: use @dataclass(frozen=True, slots=True) in its place"),
        (tuple[Attrs, ...] | None, "Thing.part: Attrs is a class of attrs"),
        (Keys, "Keys has no schema"),
        (Pair, "Pair has no schema: use tuple[X, ...]"),
        (Mapping[int, str], "the keys of a map must be strings: use Mapping[str, ...]"),
        (Mapping[str, set[str]], "set[str] has no schema"),
        (Literal["a", 1], "the values of an enum must all be strings, or all integers"),
        (Literal[True], "the values of an enum must all be strings, or all integers"),
        (Mixed, "the values of an enum must all be strings, or all integers"),
        (InitVar[int], "Thing.part: an InitVar has no JSON form: use a field"),
        ("Missing", "cannot read the annotations of Thing: name 'Missing' is not defined"),
        (MutableStruct, "MutableStruct is mutable: use msgspec.Struct with frozen=True"),
        (Snake, 'Snake.host_name: its JSON name would be host_name instead of hostName: add rename="camel" to Snake'),
        (Array, "Array has no field names in JSON: remove array_like=True"),
        (Tagged, "Tagged has a field that its annotations lack: remove tag="),
        (Holder, "Holder.rules: a Struct cannot hold the dataclass Rule"),
    ],
)  # fmt: skip
def test_class_without_an_exact_form_is_rejected_with_class_field_and_remedy(hint: Any, expected: str) -> None:
    kind = kind_with(hint)
    with pytest.raises(TypeError, match="Thing cannot be used as an API type: ") as caught:
        codec_for(kind)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


@api_type(group="example.com", version="v1", status=False)
@dataclass
class MutableKind:
    metadata: ObjectMeta


@api_type(group="example.com", version="v1", status=False)
@dataclass(frozen=True)
class Nameless:
    name: str = ""


@api_type(group="example.com", version="v1", status=False)
@dataclass(frozen=True)
class Twins:
    metadata: ObjectMeta
    host_name: str = ""
    hostName: str = ""  # noqa: N815  # what is tested
    kind: str = ""
    size = 3


@api_type(group="example.com", version="v1", status=False)
class PydanticKind(pydantic.BaseModel):
    size: int = 0


@api_type(group="example.com", version="v1", status=False)
@attrs.frozen
class AttrsKind:
    metadata: ObjectMeta = ObjectMeta()


@pytest.mark.parametrize(
    ("cls", "expected"),
    [
        (MutableKind, ["MutableKind is mutable: use @dataclass(frozen=True, slots=True)"]),
        (Nameless, ["Nameless has no metadata: add `metadata: ObjectMeta`"]),
        (AttrsKind, ["AttrsKind is a class of attrs: use @dataclass(frozen=True, slots=True) in its place"]),
        (PydanticKind, ["PydanticKind is a class of pydantic: use @dataclass(frozen=True, slots=True) in its place"]),
        (
            Twins,
            [
                "Twins.hostName: the JSON name hostName is that of host_name: use another name",
                "Twins.kind: the JSON name kind is that of @api_type: use another name",
                "Twins.size: missing annotation: write `size: int = ...`",
            ],
        ),
    ],
)
def test_faults_of_a_kind_are_reported_together(cls: type[Any], expected: list[str]) -> None:
    assert sorted(map(str, faults(cls))) == expected
    with pytest.raises(TypeError, match="cannot be used as an API type"):
        codec_for(cls)


@api_type(group="example.com", version="v1", status=False)
@dataclass(frozen=True, slots=True)
class WithConstant:
    LIMIT: ClassVar[int] = 3
    metadata: ObjectMeta


def test_constant_of_a_class_is_no_field() -> None:
    assert list(faults(WithConstant)) == []
    assert to_dict(WithConstant(ObjectMeta())).keys() <= {"apiVersion", "kind", "metadata"}


def test_instance_of_a_rejected_class_is_not_encoded() -> None:
    with pytest.raises(TypeError, match="Mutable is mutable"):
        to_wire(Mutable())
    with pytest.raises(TypeError, match="MutableKind is mutable"):
        encode(MutableKind(ObjectMeta()))


AT = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("hint", "value", "written"),
    [
        (Annotated[int, Meta(default={})], 3, 3),
        (float, 1.5, 1.5),
        (bytes, b"ab", "YWI="),
        (MicroTime | None, MicroTime.of(AT), "2026-01-02T00:00:00.000000Z"),
        (Mode, Mode.FAST, "Fast"),
        (Literal[1, 2] | None, 2, 2),
        (Quantity, "1Gi", "1Gi"),
        (int | str | None, "a", "a"),
        (list[Rule], [Rule("a")], [{"hostName": "a"}]),
        (tuple[Rule | None, ...], (Rule("a"), None), [{"hostName": "a"}, None]),
        (Mapping[str, tuple[Rule, ...]], {"x": (Rule("a"),)}, {"x": [{"hostName": "a"}]}),
        (dict[str, Any], {"a_b": None}, {"a_b": None}),
        (Alias, Rule("a"), {"hostName": "a"}),
        (Struct, Struct("a"), {"hostName": "a"}),
        (Named, Named("a", 1), {"hostName": "a", "node_port": 1}),
        (Any, [1, None, {"a_b": True}], [1, None, {"a_b": True}]),
    ],
)
def test_accepted_class_is_written_and_read_exactly(hint: Any, value: Any, written: Any) -> None:
    kind = kind_with(hint)
    check_class(kind)
    obj = kind(ObjectMeta(name="x"), value)
    assert msgspec.json.decode(encode(obj))["part"] == written
    assert decode(kind, encode(obj)) == obj


def test_defaults_of_maps_are_no_fault() -> None:
    check_class(kind_with(Mapping[str, str], EMPTY_MAP))


def test_class_with_a_codec_of_its_own_has_the_json_form_of_that_codec() -> None:
    @api_type(group="example.com", version="v1")
    class Site(Unstructured, frozen=True, kw_only=True):
        pass

    check_class(Site)
    content = {"spec": {"hostName": "a"}}
    assert decode(Site, encode(Site(metadata=ObjectMeta(name="a"), content=content))).content == content
