"""The generated types hold everything the official client's models hold, under the same names."""

import importlib
import json
import types
import typing
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
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
Keep = Callable[[], bool]
TIME = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def ours(official: type[Any]) -> type[Any]:
    module = importlib.import_module(f"clientgo.kubernetes.types.{SURVEY.places[official]}")
    found: type[Any] = getattr(module, SURVEY.models[official].name)
    return found


def value_of(hint: Any, depth: int, keep: Keep) -> Any:
    """A value for a pydantic annotation, each optional part filled if `keep` says so; nothing below `depth` levels."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return value_of(args[0], depth, keep)
    if origin in (typing.Union, types.UnionType):
        return value_of(next(arg for arg in args if arg is not type(None)), depth, keep)
    if origin is list:
        return [value_of(args[0], depth, keep)]
    if origin is dict:
        return {"one": value_of(args[1], depth, keep), "two": value_of(args[1], depth, keep)}
    if isinstance(hint, type) and hasattr(hint, "model_fields"):
        return populated(hint, depth - 1, keep)
    return {bytes: "aGVsbG8=", str: "some/text", int: 7, float: 1.5, bool: True, datetime: TIME, Any: {"a": [1, None]}}[
        hint
    ]


def populated(official: type[Any], depth: int = 2, keep: Keep = lambda: True) -> Any:
    values = {}
    for name, info in official.model_fields.items():
        nested = "client.models" in str(info.annotation)
        left_out = not info.is_required() and ((nested and depth <= 0) or not keep())
        if not left_out and not (is_kind(official) and name in ("api_version", "kind")):
            values[info.alias or name] = value_of(info.annotation, depth, keep)
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


@pytest.mark.parametrize("name", ["V1Deployment", "V1Service", "V2HorizontalPodAutoscaler", "CoreV1Event", "V1Job"])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_partly_populated_object_survives_a_round_trip(name: str, data: st.DataObject) -> None:
    kept = data.draw(st.randoms(use_true_random=False))
    sent = json_of(populated(BY_NAME[name], keep=lambda: kept.random() < 0.5))
    assert round_trip(BY_NAME[name], sent) == sent


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
