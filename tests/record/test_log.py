"""Logging of events without optional fields."""

import pytest

from clientgo.kubernetes.types.core_v1 import Event, ObjectReference
from clientgo.meta import ObjectMeta
from clientgo.record.broadcaster import log_structured, text_line


@pytest.mark.parametrize(
    ("about", "named"),
    [
        pytest.param(ObjectReference(namespace="shop", name="web"), "shop/web", id="namespaced"),
        pytest.param(ObjectReference(name="node-1"), "node-1", id="cluster-scoped"),
        pytest.param(ObjectReference(), "", id="without a name"),
    ],
)
def test_structured_log_has_empty_strings_for_missing_fields(
    caplog: pytest.LogCaptureFixture, about: ObjectReference, named: str
) -> None:
    with caplog.at_level("INFO"):
        log_structured(Event(metadata=ObjectMeta(), involved_object=about))
    [record] = caplog.records
    fields = ("object", "fieldPath", "kind", "apiVersion", "type", "reason", "note")
    assert [getattr(record, name) for name in fields] == [named, "", "", "", "", "", ""]


def test_text_line_has_empty_strings_for_missing_fields() -> None:
    event = Event(
        metadata=ObjectMeta(), involved_object=ObjectReference(name="w"), type="Normal", reason="R", message="m"
    )
    assert text_line(event) == (
        'Event(v1.ObjectReference{Kind:"", Namespace:"", Name:"w", UID:"", APIVersion:"", ResourceVersion:"", '
        "FieldPath:\"\"}): type: 'Normal' reason: 'R' m"
    )
