"""Generated types have all fields of the official client's models, with the same names."""

import functools
import importlib
import json
import pkgutil
import types
import typing
from datetime import UTC, datetime
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clientgo.codegen.builtin.groups import OfficialKind
from clientgo.codegen.builtin.survey import Survey, survey
from clientgo.kubernetes import types as kubernetes_types
from clientgo.kubernetes.types.apiextensions_v1 import JSONSchemaProps
from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.meta.codec import codec_for, decode, encode_value
from clientgo.meta.objects import MicroTime
from clientgo.meta.scheme import ApiType

MODULES = [
    importlib.import_module(f"{kubernetes_types.__name__}.{module.name}")
    for module in pkgutil.iter_modules(kubernetes_types.__path__)
]
TYPES: list[type[Any]] = [
    value
    for module in MODULES
    for value in vars(module).values()
    if isinstance(value, type) and value.__module__ == module.__name__
]
KINDS = [cls for cls in TYPES if "__api_type__" in vars(cls)]
TIME = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Choice:
    """Choices for generated objects: all fields and always the same, or random ones."""

    TEXTS = ("some/text", "x", "naïve ☕ 文字", 'quo"te\\n', "0", "true", "2026-01-02", "a" * 300)
    NUMBERS = (7, 1, -1, 2**31 - 1, 2**53 + 1, -(2**31))

    def __init__(self, random: Random | None = None) -> None:
        self._random = random

    def keep(self) -> bool:
        """Return whether to set an optional field."""
        return self._random is None or self._random.random() < 0.5

    def count(self) -> int:
        """Return the number of items of a list."""
        return 1 if self._random is None else self._random.randint(1, 3)

    def scalar(self, hint: Any) -> Any:
        """Return a value of this type."""
        first: dict[Any, tuple[Any, ...]] = {
            bytes: ("aGVsbG8=", "AA=="), str: self.TEXTS, int: self.NUMBERS, float: (1.5, -0.25, 1e21),
            bool: (True, False), datetime: (TIME,), Any: ({"a": [1, None]}, [], "", 0, False, {"b": {}}),
        }  # fmt: skip
        return first[hint][0] if self._random is None else self._random.choice(first[hint])


@functools.cache
def official_models() -> dict[type[Any], type[Any]]:
    """Return the official client's model of each of our types; not at import, because reading them takes seconds."""
    result = official_survey()
    return {
        getattr(
            importlib.import_module(f"{kubernetes_types.__name__}.{result.places[model]}"), messages.record.name
        ): model
        for model, messages in result.models.items()
    }


@functools.cache
def official_survey() -> Survey:
    return survey()


@functools.cache
def official_kinds() -> dict[type[Any], OfficialKind]:
    return {kind.model: kind for group in official_survey().kinds.values() for kind in group}


def id_of(cls: type[Any]) -> str:
    return f"{cls.__module__.rpartition('.')[2]}.{cls.__name__}"


def value_of(hint: Any, depth: int, choice: Choice) -> Any:
    """Return a value for a pydantic annotation, with at most `depth` levels."""
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
        if not left_out and not (official in official_kinds() and name in ("api_version", "kind")):
            values[info.alias or name] = value_of(info.annotation, depth, choice)
    return official(**values)


def json_of(model: Any) -> Any:
    return json.loads(model.model_dump_json(by_alias=True, exclude_none=True))


def plain_times(value: Any) -> Any:
    """Convert MicroTimes to the official client's format, without six zeros."""
    if isinstance(value, dict):
        return {k: plain_times(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain_times(v) for v in value]
    return "2026-01-02T03:04:05Z" if value == "2026-01-02T03:04:05.000000Z" else value


def round_trip(cls: type[Any], sent: Any) -> Any:
    if cls in KINDS:
        codec = codec_for(cls)
        again = json.loads(codec.encode(codec.decode(json.dumps(sent).encode())))
        assert (again.pop("apiVersion"), again.pop("kind")) == (codec.api.api_version, codec.api.kind)
    else:
        decoder = msgspec.json.Decoder(cls, dec_hook=lambda expected, text: MicroTime.of(MicroTime.fromisoformat(text)))
        again = json.loads(encode_value(decoder.decode(json.dumps(sent).encode())))
    return plain_times(again)


@pytest.mark.parametrize("cls", TYPES, ids=id_of)
def test_fully_populated_object_survives_a_round_trip(cls: type[Any]) -> None:
    sent = json_of(populated(official_models()[cls]))
    assert round_trip(cls, sent) == sent


@pytest.mark.parametrize("cls", TYPES, ids=id_of)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_any_object_survives_a_round_trip(cls: type[Any], seed: int) -> None:
    sent = json_of(populated(official_models()[cls], choice=Choice(Random(seed))))
    assert round_trip(cls, sent) == sent


def test_required_scalars_are_sent_even_when_zero() -> None:
    missing = [
        f"{cls.__name__}.{name}"
        for cls, model in official_models().items()
        for name, info in model.model_fields.items()
        if info.is_required()
        and info.annotation in (str, int, bool, float)
        and (info.serialization_alias or name) not in json.loads(encode_value(cls()))
    ]
    assert missing == []


def test_there_are_types_enough_to_call_it_the_api() -> None:
    assert len(TYPES) >= 300


def test_each_model_of_the_official_client_has_a_type() -> None:
    assert set(TYPES) == set(official_models())
    assert {official_models()[cls] for cls in KINDS} == set(official_kinds())


@pytest.mark.parametrize("cls", KINDS, ids=id_of)
def test_kind_knows_what_the_api_calls_it(cls: type[Any]) -> None:
    api: ApiType = cls.__dict__["__api_type__"]
    official = official_kinds()[official_models()[cls]].api
    assert (api.gvk, api.gvr) == (official.gvk, official.gvr)
    assert (api.namespaced, api.status, api.scale) == (official.namespaced, official.status, official.scale)


def test_required_and_top_level_structs_are_zero_structs() -> None:
    from_nothing = decode(Deployment, b"{}")
    assert from_nothing.spec.replicas is None
    assert from_nothing.spec.template.spec.containers == ()
    assert from_nothing.spec.selector.match_labels.get("app") is None
    assert from_nothing.status.conditions == ()


def test_type_that_contains_itself_is_read() -> None:
    read = msgspec.json.decode(
        b'{"properties":{"a":{"items":{"type":"string"},"not":{"$ref":"x"}}}}', type=JSONSchemaProps
    )
    assert read.properties["a"].not_ == JSONSchemaProps(ref="x")
