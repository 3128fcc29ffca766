import base64
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apiserver.tests.http.protobufs import envelope, message
from clientgo_apiserver.gotypes.messages import Message, find_message
from clientgo_apiserver.http.decode import read_body
from clientgo_apiserver.http.protobuf import MEDIA_TYPE
from clientgo_apiserver.registry.builtin import builtin_resources

KINDS = [(resource.api_version, resource.kind) for resource in builtin_resources()]
OF_SUBRESOURCES = [
    *(("policy/v1", "Eviction"), ("autoscaling/v1", "Scale"), ("v1", "Binding")),
    *(("authentication.k8s.io/v1", "TokenRequest"), ("meta.k8s.io/v1", "DeleteOptions")),
]


@pytest.mark.parametrize(("api_version", "kind"), KINDS)
def test_every_kind_has_a_message_with_metadata(api_version: str, kind: str) -> None:
    result = find_message(api_version, kind)
    assert result is not None
    assert result.fields[1].name == "metadata"


def instant(seconds: int, form: str) -> tuple[bytes, str]:
    return message((1, seconds), (2, 0)), datetime.fromtimestamp(seconds, UTC).strftime(form)


SECONDS = st.integers(-(10**9), 10**10)
VALUES: list[Any] = [None, False, 0, "", [], {}, {"a": [1, "b"]}]
RAW = st.sampled_from(VALUES).map(lambda it: (message((1, json.dumps(it))), it))
TEXTS = st.text(max_size=3)
# Messages whose JSON is not an object of their fields: pairs of what is sent and what is read.
SPECIAL: dict[str, st.SearchStrategy[tuple[bytes, Any]]] = {
    "Time": SECONDS.map(lambda at: instant(at, "%Y-%m-%dT%H:%M:%SZ")),
    "MicroTime": SECONDS.map(lambda at: instant(at, "%Y-%m-%dT%H:%M:%S.000000Z")),
    "Quantity": st.sampled_from(["1", "500m", "2Gi"]).map(lambda text: (message((1, text)), text)),
    "IntOrString": st.integers(-9, 9).map(lambda number: (message((1, 0), (2, number), (3, "")), number))
    | TEXTS.map(lambda text: (message((1, 1), (2, 0), (3, text)), text)),
    "ExtraValue": st.lists(TEXTS).map(lambda texts: (message(*((1, text) for text in texts)), texts)),
    **dict.fromkeys(("JSON", "RawExtension", "FieldsV1"), RAW),
    "JSONSchemaPropsOrBool": st.booleans().map(lambda allows: (message((1, allows)), allows)),
    "JSONSchemaPropsOrArray": st.just((message((1, message((5, "string")))), {"type": "string"})),
    "JSONSchemaPropsOrStringArray": st.just((message((2, "a"), (2, "b")), ["a", "b"])),
}
SCALARS: dict[str, st.SearchStrategy[tuple[Any, Any]]] = {
    "s": TEXTS.map(lambda text: (text, text)),
    "i": st.integers(-(2**31), 2**31 - 1).map(lambda number: (number, number)),
    "l": st.integers(-(2**63), 2**63 - 1).map(lambda number: (number, number)),
    "b": st.booleans().map(lambda flag: (flag, flag)),
    "d": st.floats(allow_nan=False, allow_infinity=False).map(lambda number: (number, number)),
    "y": st.binary(max_size=3).map(lambda data: (data, base64.b64encode(data).decode())),
}


@st.composite
def encoded(draw: st.DrawFn, of: Message, depth: int = 0) -> tuple[bytes, Any]:
    """Return a message as Go's encoder writes it (all but absent pointers, lists and maps), and its JSON."""
    if of.name in SPECIAL:
        return draw(SPECIAL[of.name])
    sent: list[tuple[int, Any]] = []
    expected: dict[str, Any] = {}
    chosen = draw(st.sets(st.sampled_from(sorted(of.fields)), max_size=3)) if of.fields and depth < 5 else ()
    for number, field in of.fields.items():
        if not number:
            continue  # only in JSON
        item = SCALARS[field.type] if field.message is None else encoded(field.message, depth + 1)
        optional = field.pointer or field.repeated or field.mapped
        if optional and number not in chosen:
            expected.update({field.name: None} if field.always else {})
            continue
        pairs = draw(st.lists(item, min_size=1, max_size=2)) if field.repeated else [draw(item)]
        sent += [(number, raw) for raw, _ in pairs]
        values = [it for _, it in pairs]
        value: Any = values if field.repeated else values[0]
        if field.mapped:
            value = {value["key"]: value["value"]}
        if not field.name:
            expected.update(value)
        elif value or field.always or field.pointer:
            expected[field.name] = value
    return message(*sent), expected


@pytest.mark.parametrize(("api_version", "kind"), [*KINDS, *OF_SUBRESOURCES])
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_is_encoded_is_decoded(api_version: str, kind: str, data: st.DataObject) -> None:
    result = find_message(api_version, kind)
    assert result is not None
    raw, expected = data.draw(encoded(result))
    read = read_body(envelope(api_version, kind, raw), MEDIA_TYPE, kind)
    assert read == {"apiVersion": api_version, "kind": kind, **expected}
