from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta.jsonpath import parse

DOCUMENT: dict[str, Any] = {
    "metadata": {
        "name": "a",
        "labels": {"app.kubernetes.io/name": "x"},
        "annotations": {"example.com/a.b": "y", "it's": "z"},
    },
    "spec": {"replicas": 0, "ports": [{"name": "http", "port": 80}, {"name": "https", "port": 443}]},
    "status": {
        "conditions": [
            {"type": "Ready", "status": "True"},
            {"type": "Progressing", "status": "False", "reason": "Why (not)"},
        ]
    },
}


@pytest.mark.parametrize(
    ("path", "result"),
    [
        (".metadata.name", ["a"]),
        ("metadata.name", ["a"]),
        ("{.metadata.name}", ["a"]),
        ("$.metadata.name", ["a"]),
        (".spec.replicas", [0]),
        (".spec.absent.deeper", []),
        (".metadata.name.deeper", []),
        (r".metadata.labels.app\.kubernetes\.io/name", ["x"]),
        (".metadata.labels['app.kubernetes.io/name']", ["x"]),
        (r".metadata.annotations['example\.com/a\.b']", ["y"]),
        ('.metadata.annotations["it\'s"]', ["z"]),
        (".spec.ports[0].port", [80]),
        (".spec.ports[-1].port", [443]),
        (".spec.ports[7].port", []),
        (".spec.ports[*].port", [80, 443]),
        (".spec.ports[0:1].port", [80]),
        (".spec.ports[1:].port", [443]),
        (".spec.ports.*.name", ["http", "https"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type == 'Progressing')].reason", ["Why (not)"]),
        ('.status.conditions[?(@.type!="Ready")].status', ["False"]),
        ('.status.conditions[?(@.type=="Absent")].status', []),
        (".status.conditions[?(@.reason)].type", ["Progressing"]),
        (".spec.ports[?(@.port>100)].name", ["https"]),
        (".spec.ports[?(@.port<=80)].name", ["http"]),
        ("..port", [80, 443]),
        ("", [DOCUMENT]),
    ],
)
def test_path_leads_to_the_values_it_names(path: str, result: list[Any]) -> None:
    assert parse(path).find(DOCUMENT) == result


@pytest.mark.parametrize("path", [".a[", ".a[?(@.b=]", ".a[x]", ".a..", ".a['b]", ".a[?(@.b==c)]", ".a[::0]"])
def test_invalid_path_is_rejected(path: str) -> None:
    with pytest.raises(ValueError, match="JSON path"):
        parse(path)


@given(st.lists(st.text(min_size=1), min_size=1, max_size=5), st.integers())
def test_any_field_name_can_be_quoted(names: list[str], leaf: int) -> None:
    document: Any = leaf
    path = ""
    for name in reversed(names):
        document = {name: document}
        path = "['" + name.replace("\\", "\\\\").replace("'", "\\'") + "']" + path
    assert parse(path).find(document) == [leaf]
