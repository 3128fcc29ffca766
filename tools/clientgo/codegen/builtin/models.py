"""Reader of the official client's models into records of Structs.

The defaults follow Go's value semantics. Lists and maps are empty when absent; a required struct, and `metadata`,
`spec` and `status` anywhere, is a zero struct, so that `deployment.spec.template.spec.containers` needs no None check;
a required scalar is its zero and, as in Go, always sent. Everything else that is absent is None. A free-form object is
no map but a value: `subresources: {status: {}}` means something, so it is None when absent.
"""

import keyword
import types
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple, Union, get_args, get_origin

from clientgo.codegen.builtin.groups import plain_name
from clientgo.codegen.render.structs import Attribute, StructType
from clientgo.meta.classes.hints import unwrap
from clientgo.meta.scheme import ApiType

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

_PLAIN: dict[Any, str] = {
    **{kind: kind.__name__ for kind in (str, int, float, bool, bytes)}, datetime: "Time", Any: "Any", object: "Any",
}  # fmt: skip
# A factory and not a value: msgspec leaves out what is its default, and a required field must be sent.
_FACTORIES = {**{text: text for text in ("str", "int", "float", "bool", "bytes")}, "int | str": "int"}
_VALUES = ("metadata", "spec", "status")


class Model(NamedTuple):
    """Record of an official class; `needs` are the classes it refers to, `zeros` those in its defaults."""

    official: type[Any]
    record: StructType
    needs: frozenset[type[Any]]
    zeros: frozenset[type[Any]]


def read_model(official: type[Any], api: ApiType | None) -> Model:
    """Read a class; if it is a kind, without apiVersion and kind, which the codec handles."""
    attributes: list[Attribute] = []
    needs: set[type[Any]] = set()
    zeros: set[type[Any]] = set()
    for name, info in official.model_fields.items():
        attribute = _attribute(official, name, info)
        if api is None or attribute.json_name not in ("apiVersion", "kind"):
            attributes.append(attribute)
            models = set(_models_in(info.annotation))
            needs |= models
            zeros |= models if attribute.default.removesuffix("()") not in ("", attribute.default) else set()
    record = StructType(name=plain_name(official.__name__), doc="", attributes=tuple(attributes), api=api)
    return Model(official, record, frozenset(needs), frozenset(zeros))


def _attribute(official: type[Any], name: str, info: Any) -> Attribute:
    json_name = info.serialization_alias or name
    # The official client stores `from`, `continue` and `schema` as var_from, var_continue, var_schema.
    plain = name.removeprefix("var_")
    plain = plain if json_name.lstrip("$") == plain else name
    hint = unwrap(info.annotation)[0]
    text = "MicroTime" if (official.__name__, json_name) in _MICRO_TIMES else _type_text(hint)
    default, factory = "None", ""
    if get_origin(hint) is list:
        default = "()"
    elif get_origin(hint) is dict and get_args(hint)[1] is not Any:
        default = "EMPTY_MAP"
    elif _is_model(hint) and (info.is_required() or name in _VALUES):
        default = f"{text}()"
    elif info.is_required() and text in _FACTORIES:
        default, factory = "", _FACTORIES[text]
    elif hint is not Any:
        text = f"{text} | None"
    return Attribute(
        name=f"{plain}_" if keyword.iskeyword(plain) else plain,
        json_name=json_name,
        type=text,
        default=default,
        factory=factory,
    )


def _type_text(hint: Any) -> str:
    hint = unwrap(hint)[0]
    origin, args = get_origin(hint), get_args(hint)
    if _is_model(hint):
        return OURS.get(hint.__name__) or plain_name(hint.__name__)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if origin is list:
        return f"tuple[{_type_text(args[0])}, ...]"
    if origin in (dict, Mapping):
        return f"Mapping[str, {_type_text(args[1])}]"
    if origin in (Union, types.UnionType):
        texts = [_type_text(arg) for arg in args]
        if set(texts) == {"bytes", "str"}:
            return "bytes"  # base64 in JSON, which msgspec reads and writes by itself
        return "float | int" if set(texts) == {"float", "int"} else " | ".join(texts)
    raise TypeError(f"no rule for the type {hint} of the official client: add one to models.py")


def _is_model(hint: Any) -> bool:
    return isinstance(hint, type) and hasattr(hint, "model_fields")


def _models_in(hint: Any) -> Iterator[type[Any]]:
    hint = unwrap(hint)[0]
    if _is_model(hint):
        yield hint
    for arg in get_args(hint):
        yield from _models_in(arg)
