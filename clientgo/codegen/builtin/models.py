"""Reader of the official client's models into records of Structs.

The defaults follow Go's value semantics. Lists and maps are empty when absent; a required struct, and `metadata`,
`spec` and `status` anywhere, is a zero struct, so that `deployment.spec.template.spec.containers` needs no None check;
a required scalar is its zero and, as in Go, always sent. Everything else that is absent is None. A free-form object is
no map but a value: `subresources: {status: {}}` means something, so it is None when absent.
"""

import keyword
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Union, get_args, get_origin

from clientgo.codegen.builtin.groups import plain_name
from clientgo.codegen.render.source import first_sentence
from clientgo.codegen.render.structs import Attribute

OURS = {
    "V1ObjectMeta": "ObjectMeta",
    "V1OwnerReference": "OwnerReference",
    "V1ListMeta": "ListMeta",
    "V1ManagedFieldsEntry": "ManagedFieldsEntry",
}
"""Official classes that `clientgo.meta.objects` defines."""

_MICRO_TIMES = {
    ("V1LeaseSpec", "acquireTime"),
    ("V1LeaseSpec", "renewTime"),
    ("CoreV1Event", "eventTime"),
    ("CoreV1EventSeries", "lastObservedTime"),
    ("EventsV1Event", "eventTime"),
    ("EventsV1EventSeries", "lastObservedTime"),
}
"""metav1.MicroTime in Go; the official models call every time a datetime."""

_SCALARS: dict[Any, str] = {str: "str", int: "int", float: "float", bool: "bool"}
_VALUES = ("metadata", "spec", "status")


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Record of an official class; `needs` are the classes it refers to, `zeros` those in its defaults."""

    official: type[Any]
    name: str
    doc: str
    attributes: tuple[Attribute, ...]
    needs: frozenset[type[Any]]
    zeros: frozenset[type[Any]]


@dataclass(frozen=True, slots=True)
class _Field:
    official: type[Any]
    name: str
    json_name: str
    hint: Any
    optional: bool
    required: bool


def read_model(official: type[Any], *, is_kind: bool) -> Model:
    """Read a class, without apiVersion and kind, which the codec handles."""
    attributes: list[Attribute] = []
    needs: set[type[Any]] = set()
    zeros: set[type[Any]] = set()
    for field, doc in _fields(official):
        if is_kind and field.json_name in ("apiVersion", "kind"):
            continue
        type_text, default, factory = _shape(field)
        models = set(_models_in(field.hint))
        needs |= models
        if default.endswith("()") and default != "()":
            zeros |= models
        attributes.append(
            Attribute(
                name=_attribute_name(field.name, field.json_name),
                json_name=field.json_name,
                type=type_text,
                default=default,
                factory=factory,
                doc=first_sentence(doc),
            )
        )
    return Model(
        official=official,
        name=plain_name(official.__name__),
        doc=first_sentence((official.__doc__ or "").split("Attributes:")[0].strip()),
        attributes=tuple(attributes),
        needs=frozenset(needs),
        zeros=frozenset(zeros),
    )


def _fields(official: type[Any]) -> Iterator[tuple[_Field, str]]:
    for name, info in official.model_fields.items():
        hint, optional = _without_none(info.annotation)
        json_name = info.serialization_alias or name
        yield _Field(official, name, json_name, hint, optional, info.is_required()), info.description or ""


def _without_none(hint: Any) -> tuple[Any, bool]:
    hint = _bare(hint)
    if get_origin(hint) not in (Union, types.UnionType):
        return hint, False
    rest = [_bare(arg) for arg in get_args(hint) if arg is not type(None)]
    if len(rest) == len(get_args(hint)):
        return hint, False
    return (rest[0] if len(rest) == 1 else Union[tuple(rest)]), True  # noqa: UP007  # built from a list of types


def _bare(hint: Any) -> Any:
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    return hint


def _attribute_name(name: str, json_name: str) -> str:
    # The official client stores `from`, `continue` and `schema` as var_from, var_continue, var_schema.
    plain = name.removeprefix("var_") if json_name.lstrip("$") == name.removeprefix("var_") else name
    return plain + "_" if keyword.iskeyword(plain) else plain


def _shape(field: _Field) -> tuple[str, str, str]:
    """Annotation, default expression, default factory."""
    text = _type_text(field.hint, field)
    origin = get_origin(field.hint)
    if origin is list:
        return text, "()", ""
    if origin is dict and get_args(field.hint)[1] is not Any:
        return text, "EMPTY_MAP", ""
    if field.hint is Any:
        return text, "None", ""
    if _is_model(field.hint) and (field.required or field.name in _VALUES):
        return text, f"{text}()", ""
    zero = _zero_factory(text) if field.required else ""
    return (text, "", zero) if zero else (f"{text} | None", "None", "")


def _zero_factory(text: str) -> str:
    # A factory and not a value: msgspec leaves out what is its default, and a required field must be sent.
    return "int" if text == "int | str" else text if text in (*_SCALARS.values(), "bytes") else ""


def _type_text(hint: Any, field: _Field) -> str:
    hint = _bare(hint)
    if _is_model(hint):
        return _model_name(hint)
    if hint in _SCALARS:
        return _SCALARS[hint]
    if hint is datetime:
        return "MicroTime" if (field.official.__name__, field.json_name) in _MICRO_TIMES else "datetime"
    if hint is Any or hint is object:
        return "Any"
    return _generic_text(hint, field)


def _generic_text(hint: Any, field: _Field) -> str:
    origin, args = get_origin(hint), [_bare(arg) for arg in get_args(hint)]
    if origin is list:
        return f"tuple[{_type_text(args[0], field)}, ...]"
    if origin in (dict, Mapping):
        return f"Mapping[str, {_type_text(args[1], field)}]"
    if origin in (Union, types.UnionType):
        if set(args) == {bytes, str}:
            return "bytes"  # base64 in JSON, which msgspec reads and writes by itself
        if set(args) == {float, int}:
            return "float | int"
        return " | ".join(_type_text(arg, field) for arg in args)
    raise TypeError(f"{field.official.__name__}.{field.name}: no rule for the type {hint}; add one to models.py")


def _is_model(hint: Any) -> bool:
    return isinstance(hint, type) and hasattr(hint, "model_fields")


def _model_name(model: type[Any]) -> str:
    return OURS.get(model.__name__) or plain_name(model.__name__)


def _models_in(hint: Any) -> Iterator[type[Any]]:
    hint = _bare(hint)
    if _is_model(hint):
        yield hint
    for arg in get_args(hint):
        yield from _models_in(arg)
