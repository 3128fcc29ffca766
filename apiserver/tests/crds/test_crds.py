from typing import Any

import pytest

from apiserver.tests.inprocess import APPLY, CONFIG_MAPS, DEFINITIONS, FOOS, MERGE, Kube, definition, foo

BARS = "/apis/example.com/v1alpha1/namespaces/default/bars"


def bar(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1alpha1", "kind": "Bar", "metadata": {"name": "x"}, "spec": spec}


def bars(schema: dict[str, Any]) -> dict[str, Any]:
    return definition("bars", "Bar", "example.com", schema)


def conditions(kube: Kube, name: str) -> dict[str, str]:
    status = kube.ok("GET", f"{DEFINITIONS}/{name}")["status"]
    return {condition["type"]: condition["status"] for condition in status["conditions"]}


@pytest.mark.feature("A-17")
def test_definition_is_established_and_served_until_deleted(kube: Kube) -> None:
    kube.ok("POST", DEFINITIONS, bars({"type": "object", "x-kubernetes-preserve-unknown-fields": True}))
    assert conditions(kube, "bars.example.com") == {"NamesAccepted": "True", "Established": "True"}
    kube.ok("POST", BARS, bar(any={"thing": [1]}))
    kube.ok("DELETE", f"{DEFINITIONS}/bars.example.com")
    kube.refused(404, "GET", f"{DEFINITIONS}/bars.example.com")
    assert kube.send("GET", BARS).body == b"404 page not found\n"
    kube.ok("POST", DEFINITIONS, bars({"type": "object"}))
    assert kube.ok("GET", BARS)["items"] == []


def test_watches_of_a_deleted_kind_get_its_deletions_and_end(kube: Kube) -> None:
    kube.ok("POST", FOOS, foo())
    watch, other_items = kube.watch(FOOS), kube.watch(CONFIG_MAPS)
    kube.ok("DELETE", f"{DEFINITIONS}/foos.samplecontroller.k8s.io")
    assert watch.closed
    assert [frame["type"] for frame in watch.take()] == ["ADDED", "DELETED"]
    assert not other_items.closed
    kube.ok("POST", DEFINITIONS, definition())
    again = kube.watch(FOOS)
    kube.ok("POST", FOOS, foo("b"))
    assert [frame["type"] for frame in again.take()] == ["ADDED"]
    assert watch.take() == []


def test_the_watches_of_a_version_that_is_no_longer_served_end(kube: Kube) -> None:
    grown = kube.ok("GET", f"{DEFINITIONS}/foos.samplecontroller.k8s.io")
    first = grown["spec"]["versions"][0]
    grown["spec"]["versions"] = [first, {**first, "name": "v1beta1", "storage": False}]
    grown = kube.ok("PUT", f"{DEFINITIONS}/foos.samplecontroller.k8s.io", grown)
    watches = [kube.watch(FOOS), kube.watch(FOOS.replace("v1alpha1", "v1beta1"))]
    grown["spec"]["versions"][1]["served"] = False
    kube.ok("PUT", f"{DEFINITIONS}/foos.samplecontroller.k8s.io", grown)
    assert [watch.closed for watch in watches] == [False, True]


def test_kind_that_exists_in_its_group_is_not_accepted(kube: Kube) -> None:
    kube.ok("POST", DEFINITIONS, definition("otherfoos", "Foo"))
    result = conditions(kube, "otherfoos.samplecontroller.k8s.io")
    assert (result["NamesAccepted"], result["Established"]) == ("False", "False")
    kube.ok("DELETE", f"{DEFINITIONS}/foos.samplecontroller.k8s.io")
    assert conditions(kube, "otherfoos.samplecontroller.k8s.io")["Established"] == "True"


def test_definition_waits_for_the_finalizers_of_its_objects_and_takes_no_new_ones(kube: Kube) -> None:
    kube.ok("POST", FOOS, {**foo(), "metadata": {"name": "a", "finalizers": ["example.com/wait"]}})
    deleted = kube.ok("DELETE", f"{DEFINITIONS}/foos.samplecontroller.k8s.io")
    assert deleted["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert deleted["status"]["conditions"][-1]["reason"] == "InstanceDeletionPending"
    assert conditions(kube, "foos.samplecontroller.k8s.io")["Terminating"] == "True"
    status = kube.refused(403, "POST", FOOS, foo("b"))
    assert status["message"].endswith("create not allowed while custom resource definition is terminating")
    kube.refused(403, "PATCH", f"{FOOS}/b?fieldManager=m", foo("b"), APPLY)
    kube.ok("PATCH", f"{FOOS}/a", {"metadata": {"finalizers": None}}, MERGE)
    kube.refused(404, "GET", f"{DEFINITIONS}/foos.samplecontroller.k8s.io")


def test_objects_have_the_fields_and_defaults_of_their_stored_version(kube: Kube) -> None:
    new = bars({"type": "object", "properties": {"old": {"type": "string"}, "both": {"type": "string"}}})
    first = new["spec"]["versions"][0]
    spec = {"type": "object", "properties": {"both": {"type": "string"}, "new": {"type": "string", "default": "n"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    new["spec"]["versions"] = [{**first, "storage": False}, {**first, "name": "v1", "schema": schema}]
    kube.ok("POST", DEFINITIONS, new)
    assert kube.ok("POST", BARS, bar(old="o", both="b"))["spec"] == {"both": "b"}
    assert kube.ok("GET", f"{BARS.replace('v1alpha1', 'v1')}/x")["spec"] == {"both": "b", "new": "n"}
    assert kube.ok("GET", f"{BARS}/x")["spec"] == {"both": "b"}


def test_field_that_a_schema_loses_is_dropped_when_read(kube: Kube) -> None:
    kube.ok("POST", DEFINITIONS, bars({"type": "object", "properties": {"a": {"type": "string"}}}))
    kube.ok("POST", BARS, bar(a="x"))
    patch = {"spec": bars({"type": "object", "properties": {"b": {"type": "string"}}})["spec"]}
    kube.ok("PATCH", f"{DEFINITIONS}/bars.example.com", patch, MERGE)
    assert kube.ok("GET", f"{BARS}/x")["spec"] == {}
    assert kube.ok("GET", BARS)["items"][0]["spec"] == {}


def test_unknown_fields_are_kept_only_where_the_schema_says_so(kube: Kube) -> None:
    free: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    values = {"type": "object", "additionalProperties": True}
    described = {**free, "properties": {"inner": {"type": "object"}}}
    kube.ok("POST", DEFINITIONS, bars({"type": "object", "properties": {"f": free, "v": values, "d": described}}))
    child = {"a": {"b": 1}}
    spec = kube.ok("POST", BARS, bar(f=child, v=child, d={"inner": child, **child}, o=1))["spec"]
    assert spec == {"f": child, "v": {"a": {}}, "d": {"inner": {}, **child}}


def test_new_formats_that_are_not_checked_are_warned_of(kube: Kube) -> None:
    text = {"type": "string", "format": "made-up"}
    response = kube.send("POST", DEFINITIONS, bars({"type": "object", "properties": {"a": text}}))
    assert dict(response.headers)["Warning"] == '299 - "unrecognized format \\"made-up\\""'
    patch = {"metadata": {"labels": {"a": "b"}}}
    assert "Warning" not in dict(kube.send("PATCH", f"{DEFINITIONS}/bars.example.com", patch, MERGE).headers)


@pytest.mark.parametrize(
    ("replicas", "reason"),
    [
        (-1, ".spec.replicas: Invalid value: -1: should be a non-negative integer"),
        (2**31, ".spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647"),
        (
            "a",
            ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: a is of the type string, expected int64",
        ),
    ],
)
def test_replicas_of_a_kind_that_scales_are_small_numbers(kube: Kube, replicas: Any, reason: str) -> None:
    kube.ok("POST", DEFINITIONS, bars({"type": "object", "x-kubernetes-preserve-unknown-fields": True}))
    assert kube.refused(422, "POST", BARS, bar(replicas=replicas))["message"].endswith(reason)


def test_null_that_is_applied_is_invalid_unless_it_has_a_default(kube: Kube) -> None:
    fields: dict[str, Any] = {"a": {"type": "string"}, "b": {"type": "string", "default": "x"}, "o": {"type": "object"}}
    fields["any"] = {"x-kubernetes-preserve-unknown-fields": True}
    kube.ok("POST", DEFINITIONS, bars({"type": "object", "properties": fields}))
    url, applied = f"{BARS}/x?fieldManager=m", {**bar(), "metadata": {"name": "x"}}
    assert kube.ok("PATCH", url, {**applied, "spec": {"b": None, "o": {}}}, APPLY)["spec"] == {"b": "x", "o": {}}
    for field in ("a", "o"):
        status = kube.refused(422, "PATCH", url, {**applied, "spec": {field: None}}, APPLY)
        assert status["details"]["causes"][0]["field"] == f"spec.{field}"
    assert kube.ok("PATCH", url, {**applied, "spec": {"any": None, "o": {}}}, APPLY)["spec"] == {"b": "x", "o": {}}
    assert kube.ok("PATCH", f"{BARS}/x", {"spec": {"a": None}}, MERGE)["spec"] == {"b": "x", "o": {}}


def test_metadata_of_embedded_resources_is_decoded(kube: Kube) -> None:
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    kube.ok("POST", DEFINITIONS, bars({"type": "object", "properties": {"one": embedded}}))
    arguments = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "n", "other": 1}, "spec": {"x": 1.0}}
    stored = kube.ok("POST", BARS, bar(one=arguments))["spec"]["one"]
    assert stored["metadata"] == {"name": "n"}
    arguments["metadata"] = {"labels": {"a": 1}}
    assert "spec.one.metadata: Invalid value" in kube.refused(400, "POST", BARS, bar(one=arguments))["message"]
    status = kube.refused(422, "POST", BARS, bar(one={"kind": "a b", "metadata": {"labels": {"a b": "x"}}}))
    fields = [cause["field"] for cause in status["details"]["causes"]]
    assert fields == ["spec.one.apiVersion", "spec.one.kind", "spec.one.metadata.labels"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param({"metadata": {"name": "wrong.example.com"}}, "metadata.name", id="name"),
        pytest.param(
            {"metadata": {"annotations": {}}}, "metadata.annotations[api-approved.kubernetes.io]", id="approval"
        ),
    ],
)
def test_invalid_definition_is_rejected(kube: Kube, change: dict[str, Any], field: str) -> None:
    obj = definition("things", "Thing")
    obj["metadata"] |= change["metadata"]
    causes = kube.refused(422, "POST", DEFINITIONS, obj)["details"]["causes"]
    assert field in [cause["field"] for cause in causes]


@pytest.mark.feature("D-57")
@pytest.mark.parametrize(
    ("words", "messages"),
    [
        ({}, "example.com/v1alpha1 Bar is deprecated; use example.com/v1 Bar"),
        ({"deprecationWarning": 'say "v1"'}, 'say \\"v1\\"'),
    ],
)
def test_deprecated_version_returns_a_warning(kube: Kube, words: dict[str, str], messages: str) -> None:
    two = bars({"type": "object"})
    (old,) = two["spec"]["versions"]
    two["spec"]["versions"] = [{**old, "deprecated": True, **words}, {**old, "name": "v1", "storage": False}]
    kube.ok("POST", DEFINITIONS, two)
    for path, warned in ((BARS, True), (BARS.replace("v1alpha1", "v1"), False)):
        response = kube.send("GET", path)
        headers = [value for name, value in response.headers if name == "Warning"]
        assert headers == ([f'299 - "{messages}"'] if warned else [])


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "minLength": 2, "maxLength": 3},
        "when": {"type": "string", "format": "date-time"},
        "count": {"type": "integer", "multipleOf": 3, "maximum": 9, "exclusiveMaximum": True},
        "ratio": {"type": "number", "minimum": 0.5},
        "either": {"x-kubernetes-int-or-string": True},
        "list": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "map": {"type": "object", "maxProperties": 1, "additionalProperties": {"type": "integer"}},
        "maybe": {"type": "string", "nullable": True},
        "never": {
            "type": "object",
            "properties": {"deep": {"type": "object", "properties": {"x": {"type": "boolean"}}}},
        },
    },
}
FAULTS = [
    ({"text": "a"}, 'Invalid value: "a": spec.text in body should be at least 2 chars long'),
    ({"text": "abcd"}, "Too long: may not be more than 3 bytes"),
    ({"text": 1}, 'Invalid value: "integer": spec.text in body must be of type string: "integer"'),
    ({"when": "noon"}, 'Invalid value: "noon": spec.when in body must be of type date-time: "noon"'),
    ({"count": 4}, "Invalid value: 4: spec.count in body should be a multiple of 3"),
    ({"count": 9}, "Invalid value: 9: spec.count in body should be less than 9"),
    ({"count": 1.5}, 'Invalid value: "number": spec.count in body must be of type integer: "number"'),
    ({"ratio": 0.25}, "Invalid value: 0.25: spec.ratio in body should be greater than or equal to 0.5"),
    ({"either": True}, 'Invalid value: "boolean": spec.either in body must be of type integer,string: "boolean"'),
    ({"list": []}, "Invalid value: 0: spec.list in body should have at least 1 items"),
    ({"list": ["a", "b", "c"]}, "Too many: 3: must have at most 2 items"),
    ({"list": [1]}, 'Invalid value: "integer": spec.list[0] in body must be of type string: "integer"'),
    ({"set": ["a", "a"]}, 'Duplicate value: "a"'),
    ({"map": {"a": 1, "b": 2}}, "Too many: 2: must have at most 1 item"),
    ({"map": {"a": "x"}}, 'Invalid value: "string": spec.map.a in body must be of type integer: "string"'),
    (
        {"never": {"deep": {"x": 1}}},
        'Invalid value: "integer": spec.never.deep.x in body must be of type boolean: "integer"',
    ),
]


@pytest.mark.feature("A-21")
@pytest.mark.parametrize(("spec", "message"), FAULTS)
def test_invalid_value_is_reported_in_kubernetes_words(kube: Kube, spec: dict[str, Any], message: str) -> None:
    kube.ok("POST", DEFINITIONS, bars(SCHEMA))
    causes = kube.refused(422, "POST", BARS, bar(**spec))["details"]["causes"]
    assert message in [cause["message"] for cause in causes]


@pytest.mark.feature("A-22")
def test_values_a_schema_allows_are_stored_and_nulls_dropped_unless_nullable(kube: Kube) -> None:
    kube.ok("POST", DEFINITIONS, bars(SCHEMA))
    good = {"text": "ab", "count": 3, "ratio": 1, "either": "50%", "list": ["a"], "when": "2026-01-01T00:00:00Z"}
    stored = kube.ok("POST", BARS, bar(**good, maybe=None, map=None))
    assert stored["spec"] == {**good, "maybe": None}


DEFAULTED: dict[str, Any] = {
    "type": "object",
    "default": {},
    "properties": {
        "size": {"type": "integer", "default": 3},
        "maybe": {"type": "string", "nullable": True, "default": "x"},
        "parts": {
            "type": "array",
            "items": {"type": "object", "properties": {"on": {"type": "boolean", "default": True}}},
        },
    },
}


@pytest.mark.feature("A-22")
def test_defaults_replace_absent_and_null_fields_unless_nullable(kube: Kube) -> None:
    kube.ok("POST", DEFINITIONS, bars(DEFAULTED))
    without_spec = {key: value for key, value in bar().items() if key != "spec"}
    built = kube.ok("POST", BARS, without_spec)
    assert built["spec"] == {"size": 3, "maybe": "x"}
    built = kube.ok("PUT", f"{BARS}/x", {**built, "spec": {"size": None, "maybe": None, "parts": [{}]}})
    assert built["spec"] == {"size": 3, "maybe": None, "parts": [{"on": True}]}


@pytest.mark.feature("A-22")
def test_old_objects_are_read_with_new_defaults_and_stay_unchanged(kube: Kube) -> None:
    built = kube.ok("POST", FOOS, foo())
    grown = kube.ok("GET", f"{DEFINITIONS}/foos.samplecontroller.k8s.io")
    spec = grown["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["colour"] = {"type": "string", "default": "blue"}
    grown = kube.ok("PUT", f"{DEFINITIONS}/foos.samplecontroller.k8s.io", grown)
    stored = kube.ok("GET", f"{FOOS}/a")
    assert (stored["spec"]["colour"], stored["metadata"]) == ("blue", built["metadata"])
    assert kube.ok("GET", FOOS)["items"] == [stored]
    assert [frame["object"] for frame in kube.watch(FOOS).take()] == [stored]
    del grown["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["colour"]
    kube.ok("PUT", f"{DEFINITIONS}/foos.samplecontroller.k8s.io", grown)
    assert kube.ok("GET", f"{FOOS}/a") == built


def test_rules_in_cel_see_the_old_object_too(kube: Kube) -> None:
    rules = [
        {"rule": "self.min <= self.max", "message": "min must not exceed max"},
        {"rule": "self.max >= oldSelf.max", "messageExpression": "oldSelf.max > 4 ? 'not below 5' : 'not below 4'"},
    ]
    integer = {"type": "integer"}
    schema = {"type": "object", "properties": {"min": integer, "max": integer}, "x-kubernetes-validations": rules}
    kube.ok("POST", DEFINITIONS, bars(schema))
    status = kube.refused(422, "POST", BARS, bar(min=2, max=1))
    assert status["details"]["causes"][0]["message"] == "Invalid value: min must not exceed max"
    kube.ok("POST", BARS, bar(min=1, max=5))
    status = kube.refused(422, "PATCH", f"{BARS}/x", {"spec": {"max": 4}}, MERGE)
    assert status["details"]["causes"][0]["message"] == "Invalid value: not below 5"
    kube.ok("PATCH", f"{BARS}/x", {"spec": {"max": 6}}, MERGE)


@pytest.mark.feature("A-20")
def test_scale_reads_and_writes_where_the_definition_says(kube: Kube) -> None:
    built = kube.ok("POST", FOOS, foo(replicas=3))
    scale = kube.ok("GET", f"{FOOS}/a/scale")
    assert (scale["kind"], scale["spec"], scale["status"]) == ("Scale", {"replicas": 3}, {"replicas": 0})
    scaled = kube.ok("PUT", f"{FOOS}/a/scale", {**scale, "spec": {"replicas": 4}})
    assert scaled["spec"]["replicas"] == 4
    old = {"metadata": {"name": "a", "resourceVersion": built["metadata"]["resourceVersion"]}, "spec": {"replicas": 5}}
    kube.refused(409, "PUT", f"{FOOS}/a/scale", old)
    kube.refused(422, "PATCH", f"{FOOS}/a/scale", {"spec": {"replicas": 11}}, MERGE)
    kube.refused(422, "PATCH", f"{FOOS}/a/scale", {"spec": {"replicas": -1}}, MERGE)
    assert kube.ok("GET", f"{FOOS}/a")["spec"]["replicas"] == 4


@pytest.mark.parametrize(
    ("extra", "good", "bad", "reason"),
    [
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1}, {},
         "must validate at least one schema (anyOf)"),
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1}, {"a": 1, "b": 1},
         "Found 2 valid alternatives"),
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"b": 1}, {}, "Found none valid"),
        ({"not": {"required": ["a"]}}, {"b": 1}, {"a": 1}, "must not validate the schema (not)"),
        ({"allOf": [{"required": ["a"]}]}, {"a": 1}, {"b": 1}, "Required value"),
    ],
)  # fmt: skip
def test_schemas_are_combined(kube: Kube, extra: Any, good: Any, bad: Any, reason: str) -> None:
    integer = {"type": "integer"}
    kube.ok("POST", DEFINITIONS, bars({"type": "object", "properties": {"a": integer, "b": integer}, **extra}))
    kube.ok("POST", f"{BARS}?dryRun=All", bar(**good))
    assert reason in kube.refused(422, "POST", BARS, bar(**bad))["message"]


def test_pattern_that_is_not_in_re2_syntax_makes_a_definition_invalid(kube: Kube) -> None:
    spec = {"type": "object", "properties": {"text": {"type": "string", "pattern": "a(?!b)"}}}
    status = kube.refused(422, "POST", DEFINITIONS, definition("bars", "Bar", schema=spec))
    location = "spec.validation.openAPIV3Schema.properties[spec].properties[text].pattern"
    assert status["details"]["causes"][0]["field"] == location
    reason = "error parsing regexp: invalid or unsupported Perl syntax: `(?!`"
    assert f"must be a valid regular expression, but isn't: {reason}" in status["message"]


def test_required_status_is_missing_from_a_new_object_which_cannot_have_it(kube: Kube) -> None:
    required = definition("bars", "Bar", schema={"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    required["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["required"] = ["status"]
    kube.ok("POST", DEFINITIONS, required)
    bar = {**foo(), "kind": "Bar", "status": {"availableReplicas": 1}}
    failure = kube.refused(422, "POST", FOOS.replace("foos", "bars"), bar)
    assert [cause["field"] for cause in failure["details"]["causes"]] == ["status"]
