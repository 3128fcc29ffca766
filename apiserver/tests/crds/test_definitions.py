from typing import Any

import pytest

from apiserver.tests.inprocess import definition
from clientgo_apiserver.crds.crdschema import with_defaults, with_stored_version
from clientgo_apiserver.crds.definitions import definition_errors

Object = dict[str, Any]
OBJECT = {"type": "object"}
HOOK: Object = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}}


def changed(*changes: tuple[str, Any]) -> Object:
    """Return a definition with values at dotted paths of its spec; `0` is the first version."""
    result = definition("bars", "Bar", "example.com", {"type": "object", "properties": {"a": {"type": "array"}}})
    result["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": OBJECT}
    for path, value in changes:
        *parents, last = path.split(".")
        location = result["spec"]["versions"][0] if parents[:1] == ["0"] else result["spec"]
        for part in parents[1:] if parents[:1] == ["0"] else parents:
            location = location.setdefault(part, {})
        location[last] = value
    return result


def completed(new: Object) -> Object:
    return with_stored_version(with_defaults(new))


def fields(new: Object, old: Object | None = None) -> list[str]:
    return [f"{cause.field}: {cause.message}" for cause in definition_errors(completed(new), old)]


@pytest.mark.parametrize(
    ("path", "value", "error"),
    [
        ("scope", "Other", 'spec.scope: Unsupported value: "Other"'),
        ("names.shortNames", ["B"], 'spec.names.shortNames[0]: Invalid value: "B": a DNS-1035 label'),
        ("names.categories", ["a b"], 'spec.names.categories[0]: Invalid value: "a b": a DNS-1035 label'),
        ("names.listKind", "Bar", "kind and listKind may not be the same"),
        ("names.listKind", "B_", "may have mixed case, but should otherwise match: a DNS-1035 label"),
        ("preserveUnknownFields", True, "spec.preserveUnknownFields: Invalid value: true: cannot set to true"),
        ("0.storage", False, "must have exactly one version marked as storage version"),
        ("0.schema", {}, "spec.versions[0].schema.openAPIV3Schema: Required value"),
        ("0.deprecationWarning", "old", "can only be set for deprecated versions"),
        ("0.subresources.scale", {"statusReplicasPath": ".status.n"}, "scale.specReplicasPath: Required value"),
        ("0.subresources.scale.labelSelectorPath", ".x", "should be a json path under either .spec or .status"),
        ("0.additionalPrinterColumns", [{"name": "A", "type": "x", "jsonPath": ".a"}], "must be one of boolean,date"),
        ("0.additionalPrinterColumns", [{"name": "A", "type": "date"}], "additionalPrinterColumns[0].JSONPath: Req"),
        ("0.selectableFields", [{"jsonPath": ".spec.a"}], "is an invalid path: does not refer to a valid field"),
        ("conversion.strategy", "X", 'spec.conversion.strategy: Unsupported value: "X"'),
        ("conversion", {"strategy": "Webhook"}, "spec.conversion.webhookClientConfig: Required value: required when"),
        ("conversion", HOOK, "spec.conversion.webhookClientConfig: Required value"),
        ("group", "x", 'spec.group: Invalid value: "x": should be a domain with at least one dot'),
    ],
)
def test_invalid_field_of_a_definition_is_reported(path: str, value: Any, error: str) -> None:
    assert [text for text in fields(changed((path, value))) if error in text]


def test_valid_definition_has_no_errors() -> None:
    assert fields(changed()) == []


def test_schemas_that_differ_are_reported_at_their_versions() -> None:
    new = changed()
    other = {"name": "v1", "served": True, "schema": {"openAPIV3Schema": {"type": "string"}}}
    new["spec"]["versions"].append(other)
    assert fields(new) == [
        'spec.versions[1].schema.openAPIV3Schema.type: Invalid value: "string": must be object at the root'
    ]


@pytest.mark.parametrize(("established", "count"), [("True", 4), ("False", 2)])
def test_scope_and_kind_are_immutable_once_established(established: str, count: int) -> None:
    old = completed(changed())
    old["status"]["conditions"] = [{"type": "Established", "status": established}]
    new = changed(("scope", "Cluster"), ("names.kind", "Baz"), ("names.plural", "bazs"), ("group", "other.com"))
    assert len([text for text in fields(new, old) if text.endswith("field is immutable")]) == count
