"""The generated types hold everything the official client's models hold, under the same names."""

import importlib
import json
import types
import typing
from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clientgo.codegen.builtin.survey import Survey, survey
from clientgo.meta.codec import codec_for, decode, encode_value
from clientgo.meta.objects import MicroTime
from clientgo.meta.scheme import ApiType

SURVEY: Survey = survey()
MARKED = {kind.model: kind for group in SURVEY.kinds.values() for kind in group}
TYPES = sorted(SURVEY.models, key=lambda official: official.__name__)
BY_NAME = {official.__name__: official for official in TYPES}
TIME = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Choice:
    """Chooses what a generated object has: everything, and always the same, unless given a source of randomness."""

    TEXTS = ("some/text", "x", "naïve ☕ 文字", 'quo"te\\n', "0", "true", "2026-01-02", "a" * 300)
    NUMBERS = (7, 1, -1, 2**31 - 1, 2**53 + 1, -(2**31))

    def __init__(self, random: Random | None = None) -> None:
        self._random = random

    def keep(self) -> bool:
        """Whether an optional part is there."""
        return self._random is None or self._random.random() < 0.5

    def count(self) -> int:
        """How many items a list has."""
        return 1 if self._random is None else self._random.randint(1, 3)

    def scalar(self, hint: Any) -> Any:
        """A value of this type."""
        first: dict[Any, tuple[Any, ...]] = {
            bytes: ("aGVsbG8=", "AA=="),
            str: self.TEXTS,
            int: self.NUMBERS,
            float: (1.5, -0.25, 1e21),
            bool: (True, False),
            datetime: (TIME,),
            Any: ({"a": [1, None]}, [], "", 0, False, {"b": {}}),
        }
        return first[hint][0] if self._random is None else self._random.choice(first[hint])


def ours(official: type[Any]) -> type[Any]:
    module = importlib.import_module(f"clientgo.kubernetes.types.{SURVEY.places[official]}")
    found: type[Any] = getattr(module, SURVEY.models[official].name)
    return found


def value_of(hint: Any, depth: int, choice: Choice) -> Any:
    """A value for a pydantic annotation, nothing below `depth` levels."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return value_of(args[0], depth, choice)
    if origin in (typing.Union, types.UnionType):
        return value_of(next(arg for arg in args if arg is not type(None)), depth, choice)
    if origin is list:
        return [value_of(args[0], depth, choice) for _ in range(choice.count())]
    if origin is dict:
        return {"one": value_of(args[1], depth, choice), "two": value_of(args[1], depth, choice)}
    if isinstance(hint, type) and hasattr(hint, "model_fields"):
        return populated(hint, depth - 1, choice)
    return choice.scalar(hint)


def populated(official: type[Any], depth: int = 2, choice: Choice | None = None) -> Any:
    choice = choice or Choice()
    values = {}
    for name, info in official.model_fields.items():
        nested = "client.models" in str(info.annotation)
        left_out = not info.is_required() and ((nested and depth <= 0) or not choice.keep())
        if not left_out and not (is_kind(official) and name in ("api_version", "kind")):
            values[info.alias or name] = value_of(info.annotation, depth, choice)
    return official(**values)


def is_kind(official: type[Any]) -> bool:
    return official in MARKED


def json_of(official: Any) -> Any:
    return json.loads(official.model_dump_json(by_alias=True, exclude_none=True))


def plain_times(value: Any) -> Any:
    """MicroTimes as the official client writes them: without six zeros."""
    if isinstance(value, dict):
        return {k: plain_times(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain_times(v) for v in value]
    return "2026-01-02T03:04:05Z" if value == "2026-01-02T03:04:05.000000Z" else value


def round_trip(official: type[Any], sent: Any) -> Any:
    cls = ours(official)
    if is_kind(official):
        codec = codec_for(cls)
        again = json.loads(codec.encode(codec.decode(json.dumps(sent).encode())))
        assert (again.pop("apiVersion"), again.pop("kind")) == (codec.api.api_version, codec.api.kind)
    else:
        decoder = msgspec.json.Decoder(cls, dec_hook=lambda wanted, text: MicroTime.of(MicroTime.fromisoformat(text)))
        again = json.loads(encode_value(decoder.decode(json.dumps(sent).encode())))
    return plain_times(again)


@pytest.mark.parametrize("official", TYPES, ids=lambda official: official.__name__)
def test_a_fully_populated_object_survives_a_round_trip(official: type[Any]) -> None:
    sent = json_of(populated(official))
    assert round_trip(official, sent) == sent


@pytest.mark.parametrize("official", TYPES, ids=lambda official: official.__name__)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_any_object_survives_a_round_trip(official: type[Any], seed: int) -> None:
    sent = json_of(populated(official, choice=Choice(Random(seed))))
    assert round_trip(official, sent) == sent


def test_required_scalars_are_sent_even_when_zero() -> None:
    missing = [
        f"{official.__name__}.{name}"
        for official in TYPES
        for name, info in official.model_fields.items()
        if info.is_required()
        and info.annotation in (str, int, bool, float)
        and (info.serialization_alias or name) not in json.loads(encode_value(ours(official)()))
    ]
    assert missing == []


def test_there_are_types_enough_to_call_it_the_api() -> None:
    assert len(TYPES) >= 300


def marked_classes() -> Iterator[Any]:
    for kind in MARKED.values():
        yield pytest.param(kind, id=f"{kind.group}/{kind.version}/{kind.model.__name__}")


@pytest.mark.parametrize("kind", list(marked_classes()))
def test_a_kind_knows_what_the_api_calls_it(kind: Any) -> None:
    api: ApiType = ours(kind.model).__dict__["__api_type__"]
    assert (api.group, api.version, api.kind) == (kind.group, kind.version, ours(kind.model).__name__)
    assert (api.namespaced, api.status, api.scale is not None) == (kind.namespaced, kind.status, kind.scale)


def test_required_and_top_level_structs_are_zero_structs() -> None:
    from_nothing = decode(ours(BY_NAME["V1Deployment"]), b"{}")
    assert from_nothing.spec.replicas is None
    assert from_nothing.spec.template.spec.containers == ()
    assert from_nothing.spec.selector.match_labels.get("app") is None
    assert from_nothing.status.conditions == ()


def test_a_type_that_contains_itself_is_read() -> None:
    props = ours(BY_NAME["V1JSONSchemaProps"])
    read = msgspec.json.decode(b'{"properties":{"a":{"items":{"type":"string"},"not":{"$ref":"x"}}}}', type=props)
    assert read.properties["a"].not_.ref == "x"
