"""Selectors of declared webhooks, as they are in manifests."""

from typing import Any

import pytest

from clientgo.codegen.inputs.declarations import label_selector


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("", {}),
        ({"b": "2", "a": "1"}, {"matchLabels": {"a": "1", "b": "2"}}),
        ("a=1,a=2", {"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "a", "operator": "In", "values": ["2"]}]}),
        ("a!=1", {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}),
        ("a notin (2,1)", {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1", "2"]}]}),
        ("a in (x)", {"matchExpressions": [{"key": "a", "operator": "In", "values": ["x"]}]}),
        ("a", {"matchExpressions": [{"key": "a", "operator": "Exists"}]}),
    ],
)
def test_selector_is_written_as_in_manifests(selector: Any, expected: object) -> None:
    assert label_selector(selector) == expected
