"""Requests and responses alone: paths, queries, headers, warnings and content negotiation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.http.messages import (
    LISTED,
    Form,
    HTTPRequest,
    Target,
    check_accept,
    negotiate,
    parse_path,
    parse_query,
    read_headers,
    warning_headers,
)

NAMES = st.from_regex(r"[a-z]([-a-z0-9]{0,10}[a-z0-9])?", fullmatch=True).filter(
    lambda name: name not in ("watch", "namespaces", "api", "apis")
)


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/api/v1/pods", Target("", "v1", "", "pods", "", "")),
        ("/api/v1/pods/", Target("", "v1", "", "pods", "", "")),
        ("/api/v1/nodes/n/status", Target("", "v1", "", "nodes", "n", "status")),
        ("/api/v1/namespaces/d/pods/p/log", Target("", "v1", "d", "pods", "p", "log")),
        ("/api/v1/namespaces", Target("", "v1", "", "namespaces", "", "")),
        ("/api/v1/namespaces/d", Target("", "v1", "", "namespaces", "d", "")),
        ("/api/v1/namespaces/d/status", Target("", "v1", "", "namespaces", "d", "status")),
        ("/api/v1/namespaces/d/finalize", Target("", "v1", "", "namespaces", "d", "finalize")),
        ("/api/v1/namespaces/d/pods", Target("", "v1", "d", "pods", "", "")),
        ("/api/v1/watch/pods", Target("", "v1", "", "pods", "", "", watch=True)),
        ("/api/v1/watch/namespaces/d/pods/p", Target("", "v1", "d", "pods", "p", "", watch=True)),
        ("/apis/apps/v1/deployments", Target("apps", "v1", "", "deployments", "", "")),
        ("/apis/apps/v1/watch/deployments", Target("apps", "v1", "", "deployments", "", "", watch=True)),
        ("/apis/apps/v1/namespaces/d/status", Target("apps", "v1", "d", "status", "", "")),
        ("/api/v1/namespaces//pods", Target("", "v1", "", "pods", "", "")),
        ("/api/v1/nodes/n/proxy/a/b", Target("", "v1", "", "nodes", "n", "proxy")),
    ],
)
def test_path_names_its_target(path: str, target: Target) -> None:
    assert parse_path(path) == target


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "/api",
        "/api/v1",
        "/apis/apps/v1",
        "/healthz",
        "/api/v1/pods//x",
        "/apis/apps/v1//deployments",
        "//api/v1/pods",
    ],
)
def test_other_paths_name_no_resource(path: str) -> None:
    assert parse_path(path) is None


@given(st.tuples(*[NAMES] * 6))
def test_every_part_of_a_path_is_read(pieces: tuple[str, ...]) -> None:
    group, version, namespace, plural, name, subresource = pieces
    path = f"/apis/{group}/{version}/namespaces/{namespace}/{plural}/{name}/{subresource}"
    assert parse_path(path) == Target(group, version, namespace, plural, name, subresource)


@given(st.text(alphabet="/apisv1nw.%"))
def test_any_path_is_parsed(path: str) -> None:
    assert isinstance(parse_path(path), Target | None)


def test_first_of_repeated_parameters_counts() -> None:
    query = parse_query("a=1&b=&a=2")
    assert query == {"a": "1", "b": ""}
    assert list(query.pairs) == [("a", "1"), ("b", ""), ("a", "2")]
    assert parse_query("") == {}


@pytest.mark.parametrize(
    ("text", "value"), [("", False), ("f=", True), ("f", True), ("f=0", False), ("f=False", False), ("f=1", True)]
)
def test_flag_is_true_unless_it_is_0_or_false(text: str, *, value: bool) -> None:
    assert parse_query(text).flag("f") is value


def test_repeated_headers_are_joined_and_those_of_impersonation_stay_apart() -> None:
    raw = [(b"accept", b"a"), (b"accept", b"b"), (b"impersonate-group", b"x,y"), (b"impersonate-group", b"z")]
    assert read_headers(raw) == {"accept": "a, b", "impersonate-group": "x,y\nz"}


def test_warnings_are_quoted_and_sent_once() -> None:
    request = HTTPRequest("GET", "/", warnings=['say "a\\b"', "plain", "plain", "", "two\nlines"])
    assert warning_headers(request) == [("Warning", '299 - "say \\"a\\\\b\\""'), ("Warning", '299 - "plain"')]


TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", Form()),
        ("*/*", Form()),
        ("application/json", Form()),
        ("application/yaml", Form(yaml=True)),
        (f"{TABLE},application/json", Form("Table")),
        (TABLE.replace("v=v1", "v=v1beta1"), Form("Table", "v1beta1")),
        (f"{TABLE.replace('v=v1', 'v=v2')},application/json", Form()),
        (f"{TABLE.replace('Table', 'Chair')}, */*", Form()),
        ("text/html,application/yaml", Form(yaml=True)),
        ("application/vnd.kubernetes.protobuf,application/json", Form()),
    ],
)
def test_first_acceptable_type_is_the_form_of_the_response(accept: str, form: Form) -> None:
    assert negotiate(accept) == form


@pytest.mark.parametrize(
    "accept", ["text/html", "application/vnd.kubernetes.protobuf", TABLE.replace("meta.k8s.io", "example.com")]
)
def test_types_that_are_not_produced_are_not_acceptable(accept: str) -> None:
    with pytest.raises(ApiFailure, match=r"accepted: application/json, application/yaml, application/vnd") as caught:
        negotiate(accept)
    assert caught.value.code == 406


def test_protobuf_is_acceptable_for_built_in_kinds() -> None:
    check_accept("application/vnd.kubernetes.protobuf")
    with pytest.raises(ApiFailure, match="Not Acceptable"):
        check_accept("text/html", LISTED)
