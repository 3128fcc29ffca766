"""Types of YAML scalars by the rules of kubectl and the API server (go-yaml 2), whose values have a form in JSON.

They differ from PyYAML's: `08`, `0o10` and `1e3` are numbers, `y` is a boolean, and `22:22`, `2024-01-01` and `=` are
texts. Unknown tags have no effect, and no tag creates anything but plain values.
"""

import binascii
import math
from typing import Any

from clientgo.internal.gotext import json_number
from clientgo.internal.patterns import lazy_pattern
from clientgo.meta.readonly import ReadOnlyDict

_NO_TYPE: Any = object()
_INFINITE = {f"{sign}.{name}": math.inf for sign in ("", "+", "-") for name in ("inf", "Inf", "INF")}
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **_INFINITE,
}
_NUMERIC = frozenset("0123456789+-")
_INTEGER = lazy_pattern(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<binary>[01]+)|0[oO]?(?P<octal>[0-7]+)"
    r"|(?P<decimal>0|[1-9][0-9]*))|0b(?P<signed>[-+][01]+)"
)
_BASES = {"hex": 16, "binary": 2, "octal": 8, "decimal": 10, "signed": 2}
_FLOAT = lazy_pattern(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_DIGITS_OF_64_BITS = 64
_TAG = "tag:yaml.org,2002:"
_TYPES: ReadOnlyDict[str, tuple[type[Any], ...]] = ReadOnlyDict({
    f"{_TAG}bool": (bool,),
    f"{_TAG}int": (int,),
    f"{_TAG}float": (int, float),
    f"{_TAG}null": (type(None),),
})  # fmt: skip


def plain_scalar(text: str) -> Any:
    """Return the value of a scalar without quotes and tag.

    Raises:
        ValueError: it is infinite or no number.
    """
    value = _WORDS.get(text, _NO_TYPE)
    if value is _NO_TYPE:
        first = text[0]
        if first in _NUMERIC:
            return _number(text.replace("_", ""), text)
        return _float(text, text) if first == "." else text
    if value.__class__ is float:
        raise ValueError(f"{text} has no form in JSON: write a number or a quoted text")
    return value


def tagged_scalar(text: str, tag: str) -> Any:
    """Return the value of a scalar with a tag; raise ValueError if it is not of that type."""
    if tag == f"{_TAG}binary":
        return _binary(text)
    types = _TYPES.get(tag)
    if types is None:
        return text
    value = plain_scalar(text)
    if not isinstance(value, types) or (value.__class__ is bool and bool not in types):
        raise ValueError(f"cannot decode {text!r} as a !!{tag.removeprefix(_TAG)}")
    return value


def key_of(value: Any) -> str:
    """Return the key of a map in JSON; raise ValueError if there is none for a null, a list or a map."""
    match value:
        case str():
            return value
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
    raise ValueError("a key of a map is neither a text, a number nor a boolean")


def _number(plain: str, text: str) -> Any:
    integer = _INTEGER.fullmatch(plain)
    if integer is None:
        return _float(plain, text)
    form = str(integer.lastgroup)
    digits = integer[form]
    if len(digits.lstrip("0")) <= _DIGITS_OF_64_BITS:
        value = int((integer["sign"] or "") + digits, _BASES[form])
        if -(2**63) <= value < (2**63 if integer["sign"] else 2**64):
            return value
    return _float(plain, text)


def _float(plain: str, text: str) -> Any:
    if _FLOAT.fullmatch(plain) is None:
        return text
    value = float(plain)
    if math.isinf(value):
        return text
    return json_number(value)


def _binary(text: str) -> str:
    try:
        return binascii.a2b_base64(text.replace("\n", ""), strict_mode=True).decode(errors="replace")
    except binascii.Error as error:
        raise ValueError("!!binary value contains invalid base64 data") from error
