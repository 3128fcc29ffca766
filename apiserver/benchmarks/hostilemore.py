"""More hostile requests: tables, selectors, pages, watches, deletions, lists of specs, budgets of rules, headers."""

from collections.abc import Callable, Iterator
from typing import Any

from apiserver.benchmarks.hostilerequests import (
    APPLY,
    JSON,
    JSON_PATCH,
    MAPS,
    PODS,
    POLICIES,
    STRATEGIC,
    YAML,
    Request,
    Row,
    config_map,
    custom,
    definition,
    encoded,
    post,
    schema_object,
    text_schema,
    with_rule,
)

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_MANY = 5_000
NAMESPACE = "/api/v1/namespaces/many"
CONTAINER = {"name": "c", "image": "i"}


class Table(list[Row]):
    """Rows of one server; those of a name in `hostilestreams.STREAMS` end with what that runs."""

    def row(self, name: str, build: Callable[[], Iterator[Request]], *, pause: float = 0.0) -> None:
        """Add a row."""
        self.append(Row(name, build, pause))

    def only(self, name: str, request: Request, *, pause: float = 0.0) -> None:
        """Add a row of a single request."""
        self.row(name, lambda: iter([request]), pause=pause)

    def get(self, name: str, path: str, accept: str = JSON) -> None:
        """Add a row of a GET."""
        self.only(name, ("GET", path, b"", f"\r\nAccept: {accept}"))


LISTS = Table()

# 5,000 ConfigMaps with 30 labels each, and 2,000 changes of one of them.


def _many() -> Iterator[Request]:
    yield post("/api/v1/namespaces", {"metadata": {"name": "many"}})
    labels = {f"label{n}": "value" for n in range(30)}
    for number in range(_MANY):
        yield post(
            f"{NAMESPACE}/configmaps", {"metadata": {"name": f"m{number}", "labels": labels}, "data": {"a": "b"}}
        )
    yield "GET", f"{NAMESPACE}/configmaps", b"", ""


LISTS.row("list: 5,000 objects", _many)
LISTS.get("list: 5,000 objects as a table", f"{NAMESPACE}/configmaps?includeObject=Object", TABLE)
LISTS.get("list: 5,000 objects as YAML", f"{NAMESPACE}/configmaps", YAML)
LISTS.get("list: 5,000 objects, indented", f"{NAMESPACE}/configmaps?pretty=true")
LISTS.get("list: 5,000 objects, compressed", f"{NAMESPACE}/configmaps", f"{JSON}\r\nAccept-Encoding: gzip")
LISTS.get(
    "list: metadata of 5,000 objects",
    f"{NAMESPACE}/configmaps",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
)
LISTS.get(
    "selector: 3,000 requirements, 5,000 objects",
    f"{NAMESPACE}/configmaps?labelSelector=" + ",".join(f"!a{n}" for n in range(3_000)),
)
LISTS.get(
    "selector: 6,000 values, 5,000 objects",
    f"{NAMESPACE}/configmaps?labelSelector=label1+notin+(" + ",".join(f"v{n}" for n in range(6_000)) + ")",
)
LISTS.get(
    "selector: 1,500 fields, 5,000 objects",
    f"{NAMESPACE}/configmaps?fieldSelector=" + ",".join(f"metadata.name!=n{n}" for n in range(1_500)),
)
LISTS.get(
    "watch: 5,000 initial events",
    f"{NAMESPACE}/configmaps?watch=1&timeoutSeconds=1&sendInitialEvents=true"
    "&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
)
LISTS.get("watch: 5,000 initial events as tables", f"{NAMESPACE}/configmaps?watch=1&timeoutSeconds=1", TABLE)
LISTS.get(
    "watch: 5,000 objects with 3,000 requirements",
    f"{NAMESPACE}/configmaps?watch=1&timeoutSeconds=1&labelSelector=" + ",".join(f"!a{n}" for n in range(3_000)),
)
LISTS.only("delete: a dry run of 5,000 objects", ("DELETE", f"{NAMESPACE}/configmaps?dryRun=All", b"", ""))
LISTS.only(
    "delete: 5,000 objects of 3,000 requirements",
    (
        "DELETE",
        f"{NAMESPACE}/configmaps?dryRun=All&labelSelector=" + ",".join(f"!a{n}" for n in range(3_000)),
        b"",
        "",
    ),
)
LISTS.only("delete: 5,000 objects", ("DELETE", f"{NAMESPACE}/configmaps", b"", ""))
LISTS.row(
    "delete: a namespace of 3,000 objects",
    lambda: iter(
        [
            post("/api/v1/namespaces", {"metadata": {"name": "full"}}),
            *(post("/api/v1/namespaces/full/configmaps", {"metadata": {"name": f"m{n}"}}) for n in range(3_000)),
            ("DELETE", "/api/v1/namespaces/full", b"", ""),
        ]
    ),
    pause=3.0,
)

# Managed fields.

_FIELDS: Any = {"f:data": {f"f:k{n}": {} for n in range(60_000)}}
LISTS.only(
    "managedFields: 60,000 fields",
    post(
        MAPS,
        {
            "metadata": {
                "name": "managed",
                "managedFields": [
                    {
                        "manager": "m",
                        "operation": "Update",
                        "apiVersion": "v1",
                        "fieldsType": "FieldsV1",
                        "fieldsV1": _FIELDS,
                    }
                ],
            }
        },
    ),
)
LISTS.row(
    "managedFields: 300 managers",
    lambda: iter(
        [
            (
                "PATCH",
                f"{MAPS}/shared?fieldManager=m{n}&force=true",
                encoded(
                    {
                        "apiVersion": "v1",
                        "kind": "ConfigMap",
                        "metadata": {"name": "shared"},
                        "data": {f"k{n}-{m}": "v" for m in range(20)},
                    }
                ),
                APPLY,
            )
            for n in range(300)
        ]
    ),
)
LISTS.row(
    "managedFields: 30,000 keys are replaced",
    lambda: iter(
        [
            config_map("replaced", data={f"k{n}": "" for n in range(30_000)}),
            (
                "PUT",
                f"{MAPS}/replaced",
                encoded({"metadata": {"name": "replaced"}, "data": {f"n{n}": "" for n in range(30_000)}}),
                JSON,
            ),
        ]
    ),
)
LISTS.row(
    "apply: 30,000 keys of another manager",
    lambda: iter(
        [
            (
                "PATCH",
                f"{MAPS}/applied-large?fieldManager=m{n}&force=true",
                encoded(
                    {
                        "apiVersion": "v1",
                        "kind": "ConfigMap",
                        "metadata": {"name": "applied-large"},
                        "data": {f"k{m}": str(n) for m in range(30_000)},
                    }
                ),
                APPLY,
            )
            for n in range(2)
        ]
    ),
)
LISTS.only(
    "apply: 2.9 MB of YAML",
    (
        "PATCH",
        f"{MAPS}/yaml?fieldManager=m",
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\ndata:\n"
            + "".join(f"  k{n}: v\n" for n in range(200_000))
        ).encode(),
        APPLY,
    ),
)
LISTS.only(
    "YAML: aliases in aliases of an apply",
    (
        "PATCH",
        f"{MAPS}/aliases?fieldManager=m",
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: aliases}\na0: &a0 {a: b}\n"
            + "".join(f"a{n}: &a{n} {{{', '.join(f'k{m}: *a{n - 1}' for m in range(8))}}}\n" for n in range(1, 7))
        ).encode(),
        APPLY,
    ),
)

# Strategic merges and JSON patches of long lists.

_ENV = [{"name": f"v{n}", "value": "x"} for n in range(10_000)]
_LONG_POD = post(PODS, {"metadata": {"name": "long"}, "spec": {"containers": [{**CONTAINER, "env": _ENV}]}})


def _strategic(name: str, container: Any, **spec: Any) -> None:
    body = encoded({"spec": {"containers": [{"name": "c", **container}], **spec}})
    LISTS.row(f"strategic: {name}", lambda: iter([_LONG_POD, ("PATCH", f"{PODS}/long?dryRun=All", body, STRATEGIC)]))


_strategic("10,000 items are deleted", {"env": [{"name": each["name"], "$patch": "delete"} for each in _ENV]})
_strategic("the order of 10,000 items", {"$setElementOrder/env": [{"name": each["name"]} for each in reversed(_ENV)]})
_strategic("10,000 items are replaced", {"env": [{"$patch": "replace"}, *_ENV]})
LISTS.row(
    "strategic: 20,000 values of a list are deleted",
    lambda: iter(
        [
            config_map("final", meta={"finalizers": [f"a.io/{n}" for n in range(20_000)]}),
            (
                "PATCH",
                f"{MAPS}/final?dryRun=All",
                encoded({"metadata": {"$deleteFromPrimitiveList/finalizers": [f"a.io/{n}" for n in range(20_000)]}}),
                STRATEGIC,
            ),
        ]
    ),
)
for _name, _operations in {
    "10,000 moves within a list": [
        {"op": "move", "from": "/metadata/finalizers/0", "path": "/metadata/finalizers/19999"}
    ]
    * 10_000,
    "10,000 removals from the start of a list": [{"op": "remove", "path": "/metadata/finalizers/0"}] * 10_000,
    "10,000 tests of a list": [
        {"op": "test", "path": "/metadata/finalizers", "value": [f"a.io/{n}" for n in range(30)]}
    ]
    * 3_000,
    "3,000 replacements of the object": [{"op": "replace", "path": "/data", "value": {}}] * 3_000,
}.items():
    LISTS.only(f"JSON patch: {_name}", ("PATCH", f"{MAPS}/final?dryRun=All", encoded(_operations), JSON_PATCH))

# Budgets of rules.

_ITEMS = {
    "type": "array",
    "maxItems": 5_000,
    "items": with_rule("self.a.split('').all(c, c != 'x')", a=text_schema(maxLength=10)),
}
_JOIN = with_rule(
    "self.n.all(i, self.m.exists(j, j.id == i.id))",
    **{name: {"type": "array", "maxItems": 200, "items": schema_object(id=text_schema(maxLength=64))} for name in "nm"},
)


def _ruled(name: str, plural: str, schema: Any, value: Any) -> None:
    LISTS.row(f"budget: {name}", lambda: iter([definition(plural, schema), custom(plural, value)]))


_ruled("a rule for each of 5,000 items", "items", schema_object(n=_ITEMS), {"n": [{"a": "abcdefghij"}] * 5_000})
_ruled("a join of lists", "joins", _JOIN, {name: [{"id": f"{'x' * 60}{n}"} for n in range(200)] for name in "nm"})
_ruled(
    "rules that are cancelled",
    "heavies",
    {
        "type": "object",
        "properties": {
            f"p{n}": with_rule(
                "[1,2,3,4,5,6,7].all(a, " * 0 + "self.n.all(i, self.n.all(j, self.n.all(k, k >= 0)))",
                n={"type": "array", "maxItems": 46, "items": {"type": "integer"}},
            )
            for n in range(20)
        },
    },
    {f"p{n}": {"n": list(range(46))} for n in range(20)},
)
_LOOP = "object.metadata.labels.all(a, " * 2 + "a == a" + ")" * 2


def _policies() -> Iterator[Request]:
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["secrets"]}]
    for number in range(50):
        name = f"p{number}"
        yield post(
            POLICIES,
            {
                "metadata": {"name": name},
                "spec": {"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": _LOOP}]},
            },
        )
        yield post(
            POLICIES.replace("policies", "policybindings"),
            {"metadata": {"name": name}, "spec": {"policyName": name, "validationActions": ["Deny"]}},
        )
    yield post(
        "/api/v1/namespaces/default/secrets", {"metadata": {"name": "s", "labels": {f"k{n}": "v" for n in range(60)}}}
    )


LISTS.row("budget: 50 policies with loops", _policies)
