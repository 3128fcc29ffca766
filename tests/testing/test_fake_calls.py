"""The fake answers the calls of `fakecalls.txt` as the bundled server does, request by request."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from clientgo.envtest import BundledServer, Environment
from clientgo.errors import ApiError
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import GroupVersionResource, Scheme, api_of
from clientgo.meta.patches import mergepatch
from clientgo.rest.client import RESTClient
from clientgo.rest.request import APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Request, Requester
from clientgo.testing.clock import FakeClock
from clientgo.testing.fake import FakeRequester
from controller.api.v1alpha1 import Foo

Object = dict[str, Any]

ROOT = Path(__file__).parents[2]
RESOURCES: dict[str, GroupVersionResource] = {"cm": api_of(ConfigMap).gvr, "foo": api_of(Foo).gvr}
PLAIN: dict[str, Object] = {
    "cm": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}},
    "foo": {
        "apiVersion": "samplecontroller.k8s.io/v1alpha1",
        "kind": "Foo",
        "metadata": {"name": "a"},
        "spec": {"deploymentName": "d", "replicas": 1},
    },
}
PATCHES = {"merge": MERGE_PATCH, "json": JSON_PATCH, "strategic": STRATEGIC_PATCH}
VERBS = ("create", "update", "apply", "get", "list", "watch", "delete", "deletecollection")
REFERENCE = re.compile(r"\$(\d+)\.(\w+)")
TIMES = ("creationTimestamp", "deletionTimestamp", "continue")


def read_scripts() -> dict[str, list[str]]:
    lines = (Path(__file__).parent / "fakecalls.txt").read_text().splitlines()
    text = "\n".join(line for line in lines if not line.startswith("#"))
    blocks = (block.splitlines() for block in text.strip().split("\n\n"))
    return {title: calls for title, *calls in blocks}


def call(line: str, results: list[Any], requester: Requester) -> Any:
    """Make the call that a line describes; return its decoded response, or the error."""
    line = REFERENCE.sub(lambda match: str(results[int(match[1])]["metadata"][match[2]]), line)
    what, _, query_text = line.partition(" ? ")
    how, target, *remainder = what.split(" ", 2)
    kind, name, subresource, *_ = (*target.split("/"), "", "")
    query: Object = json.loads(query_text or "{}")
    request = Request(
        verb=how if how in VERBS else "patch",
        resource=RESOURCES[kind],
        namespace="default",
        name=name,
        subresource=subresource,
        query={key: str(value) for key, value in query.items() if key != "events"},
        body=body(how, kind, remainder[0] if remainder else ""),
        content_type=APPLY_PATCH if how == "apply" else JSON if how in VERBS else PATCHES.get(how, how),
    )
    try:
        if how != "watch":
            return json.loads(requester.do(request))
        with closing(requester.watch(request)) as stream:
            return [[event.type, json.loads(bytes(event.object))] for event in islice(stream, query["events"])]
    except ApiError as error:
        return error


def body(how: str, kind: str, text: str) -> bytes | None:
    if how not in ("create", "update", "apply"):
        return text.encode() or None
    if text.startswith("="):
        return text[1:].encode()
    return json.dumps(mergepatch.apply(PLAIN[kind], json.loads(text or "{}"))).encode()


def outcome(requester: Requester, calls: list[str]) -> list[Any]:
    results: list[Any] = []
    for line in calls:
        results.append(call(line, results, requester))
    return [[line, result] for line, result in zip(calls, comparable(results), strict=True)]


def comparable(results: list[Any]) -> list[Any]:
    """Return results without what differs between two servers; equal versions and uids stay equal."""
    tokens: dict[str, dict[str, str]] = {"uid": {}, "resourceVersion": {}}

    def shown(value: Any, key: str = "") -> Any:
        if isinstance(value, ApiError):
            return value.code, value.reason
        if isinstance(value, list):
            return [shown(item, key) for item in value]
        if isinstance(value, dict):
            if "items" in value:  # a version that other writes may have passed
                value = {**value, "metadata": {**value["metadata"], "resourceVersion": ""}}
            hidden = ("managedFields", "apiVersion", "kind") if key == "items" else ("managedFields",)
            return {
                name: shown(value[name], name) for name in sorted(value) if name not in hidden and value[name] != ""
            }
        if key in tokens:
            return tokens[key].setdefault(value, f"{key} {len(tokens[key])}")
        return key if key in TIMES else re.sub(r"^gen-.+", "gen-*", value) if key == "name" else value

    return [shown(result) for result in results]


@pytest.fixture(scope="module")
def server() -> Iterator[Requester]:
    with (
        Environment(crd_paths=[ROOT / "artifacts" / "crd"], server=BundledServer(simulate=False)) as config,
        closing(RESTClient(config)) as it,
    ):
        yield it


def clear(server: Requester) -> None:
    for kind in RESOURCES:
        for item in call(f"list {kind}", [], server)["items"]:
            name = item["metadata"]["name"]
            call(f'merge {kind}/{name} {{"metadata": {{"finalizers": null}}}}', [], server)
            call(f"delete {kind}/{name}", [], server)


@pytest.mark.integration
@pytest.mark.parametrize(("title", "calls"), read_scripts().items(), ids=read_scripts())
def test_calls_have_the_same_outcome_on_a_server(server: Requester, title: str, calls: list[str]) -> None:
    fake = FakeRequester(scheme=Scheme(ConfigMap, Foo), clock=FakeClock(auto=True))
    try:
        expected = outcome(server, calls)
    finally:
        clear(server)
    assert outcome(fake, calls) == expected
