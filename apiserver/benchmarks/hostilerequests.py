"""Hostile requests, as a table: patterns, patches, CEL, YAML, JSON, selectors, lists, tables, tokens, headers."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Request = tuple[str, str, bytes, str]
"""Method, path, body, and media type of the body."""

MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
JSON, JSON_PATCH = "application/json", "application/json-patch+json"
APPLY, YAML = "application/apply-patch+yaml", "application/yaml"

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MAPS = "/api/v1/namespaces/default/configmaps"
FOOS = "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/default/foos"
PODS = "/api/v1/namespaces/default/pods"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"


@dataclass(frozen=True)
class Row:
    """A hostile request, after the requests that prepare it."""

    name: str
    build: Callable[[], Iterator[Request]]
    pause: float = 0.0
    """Seconds of what the server does after its answer."""

    def requests(self) -> list[Request]:
        """Return the requests; the last one is hostile."""
        return list(self.build())


ROWS: list[Row] = []


def _row(name: str, build: Callable[[], Iterator[Request]]) -> None:
    ROWS.append(Row(name, build))


def encoded(value: Any) -> bytes:
    """Return JSON."""
    return json.dumps(value).encode()


def post(path: str, value: Any) -> Request:
    """Return a POST."""
    return "POST", path, value if isinstance(value, bytes) else encoded(value), JSON


def definition(plural: str, spec: Any, *, columns: Any = ()) -> Request:
    """Return the creation of a definition of kinds."""
    kind = plural.title()
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
        **({"additionalPrinterColumns": columns} if columns else {}),
    }
    names = {"plural": plural, "kind": kind, "singular": plural, "listKind": f"{kind}List"}
    spec = {"group": "hostile.io", "scope": "Namespaced", "names": names, "versions": [version]}
    meta = {"name": f"{plural}.hostile.io"}
    return post(DEFINITIONS, {"apiVersion": "apiextensions.k8s.io/v1", "metadata": meta, "spec": spec})


def objects_of(plural: str) -> str:
    """Return the path of a kind's objects."""
    return f"/apis/hostile.io/v1/namespaces/default/{plural}"


def custom(plural: str, spec: Any, name: str = "a") -> Request:
    """Return the creation of a custom object."""
    head = {"apiVersion": "hostile.io/v1", "kind": plural.title(), "metadata": {"name": name}}
    return post(objects_of(plural), {**head, "spec": spec})


def config_map(name: str, **fields: Any) -> Request:
    """Return the creation of a ConfigMap."""
    return post(MAPS, {"metadata": {"name": name, **fields.pop("meta", {})}, **fields})


# Patterns and CEL of CRDs: a definition, and an object.


def _validated(name: str, schema: Any, value: Any) -> None:
    plural = f"kind{len(ROWS)}"

    def build() -> Iterator[Request]:
        yield definition(plural, schema)
        yield custom(plural, value)

    _row(name, build)


def schema_object(**properties: Any) -> Any:
    """Return the schema of an object."""
    return {"type": "object", "properties": properties}


def text_schema(**schema: Any) -> Any:
    """Return the schema of a text."""
    return {"type": "string", **schema}


for _name, _pattern, _value in (
    ("nested quantifiers", "^([a-z0-9]+-?)+$", "a" * 40_000 + "!"),
    ("quantified alternatives", "^(a|aa)+$", "a" * 40_000 + "b"),
    ("two quantifiers", "(x+x+)+y", "x" * 40_000),
    ("star of star", "^(a*)*$", "a" * 40_000 + "b"),
    ("any characters", "^(.*)*(.*)*(.*)*z$", "a" * 100_000),
    ("large repetition", "^(a{1,900}){1,1}b$", "a" * 100_000),
    ("classes of Unicode", r"^(\p{L}+\s?)*$", "é" * 100_000 + "1"),
):
    _validated(f"pattern: {_name}", schema_object(a=text_schema(pattern=_pattern)), {"a": _value})

_LIST = {"type": "array", "items": {"type": "integer"}, "maxItems": 2_000}
_NUMBERS = list(range(2_000))
_LONG = text_schema(maxLength=100_000)


def with_rule(rule: str, **properties: Any) -> Any:
    """Return the schema of an object with a rule."""
    return {**schema_object(**properties), "x-kubernetes-validations": [{"rule": rule}]}


_CEL: list[tuple[str, Any, Any]] = [
    ("all in all", with_rule("self.n.all(i, self.n.exists(j, i == j))", n=_LIST), {"n": _NUMBERS}),
    ("three loops", with_rule("self.n.all(i, self.n.all(j, self.n.all(k, k >= 0)))", n={**_LIST, "maxItems": 100}),
     {"n": list(range(100))}),
    ("map of map", with_rule("self.n.map(i, self.n.map(j, i + j)).size() > 0", n={**_LIST, "maxItems": 1000}),
     {"n": list(range(1000))}),
    ("replace each character", with_rule("self.a.replace('a', 'bbbbbbbb').size() > 0", a=_LONG), {"a": "a" * 100_000}),
    ("split and join", with_rule("self.a.split('').join(',').size() > 0", a=_LONG), {"a": "a" * 100_000}),
    ("find all", with_rule("self.a.findAll('a').size() > 0", a=_LONG), {"a": "a" * 100_000}),
    ("match a hostile pattern", with_rule("self.a.matches('^([a-z0-9]+-?)+$')", a=_LONG),
     {"a": "a" * 100_000 + "!"}),
    ("contains in a loop", with_rule("self.n.all(i, !self.a.contains('ab'))", n={**_LIST, "maxItems": 100},
     a=text_schema(maxLength=10_000)), {"n": list(range(100)), "a": "a" * 10_000}),
    ("equality of long lists", with_rule("self.n.all(i, self.n == self.n)", n={**_LIST, "maxItems": 500}),
     {"n": list(range(500))}),
    ("sum, sorted, distinct", with_rule("self.n.isSorted() && self.n.sum() >= 0", n=_LIST), {"n": _NUMBERS}),
]  # fmt: skip
for _name, _schema, _value in _CEL:
    _validated(f"CEL: {_name}", _schema, _value)


def _ruled(name: str, rule: str) -> None:
    plural = f"kind{len(ROWS)}"
    _row(f"rule: {name}", lambda: iter([definition(plural, with_rule(rule, a=text_schema()))]))


for _name, _rule in (
    ("500 conjunctions", " && ".join(["self.a != ''"] * 500)),
    ("300 parentheses", "(" * 300 + "true" + ")" * 300),
    ("10,000 members of a list", "[" + ",".join(["1"] * 10_000) + "].size() > 0"),
    ("a text of 100,000 characters", f"self.a != '{'x' * 100_000}'"),
    ("nested loops of literals", "[1,2,3,4,5,6,7,8].all(a, " * 6 + "true" + ")" * 6),
):
    _ruled(_name, _rule)

# Lists of CRDs.

_PAIR = {"type": "array", "items": {**schema_object(a=text_schema(), b=text_schema()), "required": ["a", "b"]}}
for _name, _schema, _items in (
    ("map", {**_PAIR, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"]},
     [{"a": str(n), "b": "x"} for n in range(20_000)]),
    ("set", {"type": "array", "items": text_schema(), "x-kubernetes-list-type": "set"},
     [str(n) for n in range(50_000)]),
    ("unique items of a map, duplicates", {**_PAIR, "x-kubernetes-list-type": "map",
     "x-kubernetes-list-map-keys": ["a", "b"]}, [{"a": "a", "b": "x"}] * 20_000),
    ("enum", {"type": "array", "items": text_schema(enum=[f"v{n}" for n in range(2_000)])}, ["v1999"] * 20_000),
    ("errors in each of 50,000 items", {"type": "array", "items": text_schema(maxLength=1)}, ["long"] * 50_000),
):  # fmt: skip
    _validated(f"list: {_name}", schema_object(l=_schema), {"l": _items})

# Patches.


def _patched(name: str, body: bytes, content_type: str, obj: Request, path: str) -> None:
    _row(f"patch: {name}", lambda: iter([obj, ("PATCH", path, body, content_type)]))


def _operations(*operations: Any) -> bytes:
    return encoded(list(operations))


_COPIES = [{"op": "copy", "from": "/data", "path": f"/data/{n}"} for n in range(40)]
_ADDITIONS = [{"op": "add", "path": "/metadata/finalizers/0", "value": f"a.io/{n}"} for n in range(10_000)]
_MAP = config_map("patched", data={"a": "x"})
for _name, _body, _type in (
    ("40 copies that double", _operations(*_COPIES), JSON_PATCH),
    ("10,001 operations", _operations(*[{"op": "test", "path": "/data/a", "value": "x"}] * 10_001), JSON_PATCH),
    ("10,000 additions to the start of a list",
     _operations({"op": "add", "path": "/metadata/finalizers", "value": []}, *_ADDITIONS[:9_999]), JSON_PATCH),
    ("10,000 tests of the whole object", _operations(*[{"op": "test", "path": "", "value": {}}] * 10_000), JSON_PATCH),
    ("100,000 nulls", encoded({"data": {f"k{n}": None for n in range(100_000)}}), MERGE),
    ("100,000 new keys", encoded({"data": {f"k{n}": "" for n in range(100_000)}}), MERGE),
    ("nested 50,000 levels", b'{"a":' * 50_000 + b"1" + b"}" * 50_000, MERGE),
    ("paths of 10,000 segments", _operations({"op": "add", "path": "/a" * 10_000, "value": 1}), JSON_PATCH),
):  # fmt: skip
    _patched(_name, _body, _type, _MAP, f"{MAPS}/patched")

_CONTAINER = {"name": "c", "image": "i", "env": [{"name": f"v{n}", "value": "x"} for n in range(5_000)]}
_POD = post(PODS, {"metadata": {"name": "patched"}, "spec": {"containers": [_CONTAINER]}})
_patched(
    "5,000 items of a list by key",
    encoded({"metadata": {"finalizers": [f"a.io/{n}" for n in range(5_000)]}, "spec": {"containers": [_CONTAINER]}}),
    STRATEGIC,
    _POD,
    f"{PODS}/patched",
)
_LABELS = {f"k{n}": "v" for n in range(10_000)}
_HEAD = {"apiVersion": "v1", "kind": "ConfigMap"}
_row(
    "apply: 10,000 labels, twice",
    lambda: iter(
        [
            ("PATCH", f"{MAPS}/applied?fieldManager=m{n}&force=true", body, APPLY)
            for n in range(2)
            for body in [encoded({**_HEAD, "metadata": {"name": "applied", "labels": _LABELS}})]
        ]
    ),
)

# Bodies.


def _posted(name: str, body: bytes, content_type: str) -> None:
    _row(name, lambda: iter([("POST", MAPS, body, content_type)]))


_ALIASES = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10)
)
_YAML_HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\n"
for _name, _text_body, _type in (
    ("YAML: aliases of aliases", f"{_YAML_HEAD}data:\n  a: b\n{_ALIASES}", YAML),
    ("YAML: nested 100,000 levels", f"{_YAML_HEAD}x: {'[' * 100_000}", YAML),
    ("YAML: 2.9 MB of keys", _YAML_HEAD + "data:\n" + "".join(f"  k{n}: v\n" for n in range(200_000)), YAML),
    ("YAML: merge keys", f"{_YAML_HEAD}a: &a {{b: c}}\ndata:\n" + "".join(
        f"  k{n}: {{<<: *a}}\n" for n in range(50_000)), YAML),
    ("YAML: an anchor for each of 100,000 items", f"{_YAML_HEAD}x:\n" + "".join(f"- &a{n} 1\n" for n in range(100_000)),
     YAML),
    ("JSON: nested 1,000,000 levels", "[" * 1_000_000, JSON),
    ("JSON: a number of 1,000,000 digits", '{"metadata":{"name":"n","generation":' + "9" * 1_000_000 + "}}", JSON),
    ("JSON: an exponent of 9 digits", '{"metadata":{"name":"n","generation":1e400000000}}', JSON),
    ("JSON: one key 200,000 times", "{" + ",".join(['"a":1'] * 200_000) + "}", JSON),
    ("JSON: 2.9 MB of annotations", encoded({"metadata": {"name": "n", "annotations": {
        f"a/{n}": "x" * 100 for n in range(25_000)}}}).decode(), JSON),
    ("JSON: 200,000 unknown fields", encoded({
        "metadata": {"name": "n"}, **{f"f{n}": 1 for n in range(200_000)}}).decode(), JSON),
    ("JSON: 4 MB", '{"metadata":{"name":"' + "n" * 4_000_000 + '"}}', JSON),
):  # fmt: skip
    _posted(_name, _text_body.encode(), _type)

# Selectors, lists, tables, tokens.


def _gets(name: str, query: str, *, count: int = 0) -> None:
    def build() -> Iterator[Request]:
        for number in range(count):
            foo = {"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo"}
            spec = {"deploymentName": "a", "replicas": 1}
            yield post(FOOS, {**foo, "metadata": {"name": f"foo-{number}", "labels": {"a": "b"}}, "spec": spec})
        yield "GET", f"{FOOS}?{query}", b"", ""

    _row(name, build)


_gets("selector: 20,000 requirements", "labelSelector=" + ",".join(f"a{n}" for n in range(20_000)), count=3_000)
_gets("selector: 50,000 values", "labelSelector=a+in+(" + ",".join(f"v{n}" for n in range(50_000)) + ")")
_gets("selector: 20,000 parentheses", "labelSelector=a+in+" + "(" * 20_000)
_gets("selector: 10,000 fields", "fieldSelector=" + ",".join(f"metadata.name!=n{n}" for n in range(10_000)))
_gets("list: 3,000 Foos in one response", "")
_gets("list: a token of 500,000 characters", "limit=1&continue=" + "A" * 500_000)
_gets("list: a token of nested JSON", "limit=1&continue=" + "W1tb" * 50_000)
_gets("list: a limit beyond 64 bits", "limit=99999999999999999999999")
_gets("list: a resource version of 100,000 digits", "resourceVersion=" + "9" * 100_000)
_gets("query: 50,000 parameters", "&".join(f"p{n}=1" for n in range(50_000)))
_row(
    "columns: a path through everything",
    lambda: iter(
        [
            definition(
                "columns",
                {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                columns=[{"name": "all", "type": "string", "jsonPath": ".spec" + ".items[*]" * 8}],
            ),
            custom("columns", _nested(6)),
            ("GET", objects_of("columns"), b"", ""),
        ]
    ),
)


def _nested(levels: int) -> Any:
    return {"items": [_nested(levels - 1) for _ in range(7)]} if levels else {"items": []}


_row(
    "JSON: 137,000 nested objects",
    lambda: iter([_any_definition("nests"), custom("nests", _nested(6))]),
)
_row(
    "patch: a label of an object of 1.4 MB",
    lambda: iter(
        [
            _any_definition("larges"),
            custom("larges", {"items": [{"a": "b" * 9} for _ in range(60_000)]}),
            ("PATCH", f"{objects_of('larges')}/a", b'{"metadata":{"labels":{"a":"b"}}}', MERGE),
        ]
    ),
)


def _any_definition(plural: str) -> Request:
    return definition(plural, {"type": "object", "x-kubernetes-preserve-unknown-fields": True})


_ANY = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"]}
_DEEP: Any = {"type": "object", "properties": {}}
for _ in range(90):
    _DEEP = {"type": "object", "properties": {"a": _DEEP}}
_row("definition: nested 90 levels", lambda: iter([definition("deep", _DEEP)]))
_row(
    "definition: 10,000 properties",
    lambda: iter([definition("wide", schema_object(**{f"p{n}": text_schema(maxLength=9) for n in range(10_000)}))]),
)
_row("definition: its document", lambda: iter([("GET", "/openapi/v3/apis/hostile.io/v1", b"", "")]))
_row("documents: OpenAPI v2", lambda: iter([("GET", "/openapi/v2", b"", "")]))
_row(
    "policy: a loop over namespaces' labels",
    lambda: iter(
        [
            post(
                POLICIES,
                {
                    "metadata": {"name": "hostile"},
                    "spec": {
                        "matchConstraints": {
                            "resourceRules": [
                                {
                                    "apiGroups": [""],
                                    "apiVersions": ["v1"],
                                    "operations": ["*"],
                                    "resources": ["secrets"],
                                }
                            ]
                        },
                        "validations": [{"expression": "object.metadata.labels.all(a, " * 4 + "a == a" + ")" * 4}],
                    },
                },
            ),
            post(
                f"{POLICIES}bindings".replace("policiesbindings", "policybindings"),
                {"metadata": {"name": "hostile"}, "spec": {"policyName": "hostile", "validationActions": ["Deny"]}},
            ),
            post(
                "/api/v1/namespaces/default/secrets",
                {"metadata": {"name": "s", "labels": {f"k{n}": "v" for n in range(300)}}},
            ),
        ]
    ),
)
_row(
    "delete: 3,000 Foos at once",
    lambda: iter([("DELETE", f"{FOOS}?propagationPolicy=Foreground", b"", "")]),
)
