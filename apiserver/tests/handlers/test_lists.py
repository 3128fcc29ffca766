import pytest

from apiserver.tests.inprocess import CONFIG_MAPS, DEPLOYMENTS, FOOS, MERGE, Kube, deployment, foo, names
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.api.users import ADMIN
from clientgo_apiserver.state import ServerOptions
from clientgo_apiserver.storage.selection import parse_labels


def test_pages_show_the_state_of_the_first_page_to_the_end(kube: Kube) -> None:
    for name in "abcde":
        kube.ok("POST", FOOS, foo(name))
    first = kube.ok("GET", f"{FOOS}?limit=2")
    kube.ok("DELETE", f"{FOOS}/c")
    kube.ok("POST", FOOS, foo("cc"))
    second = kube.ok("GET", f"{FOOS}?limit=2&continue={first['metadata']['continue']}")
    third = kube.ok("GET", f"{FOOS}?limit=2&continue={second['metadata']['continue']}")
    assert names(first) + names(second) + names(third) == list("abcde")
    assert first["metadata"]["remainingItemCount"] == 3
    assert third["metadata"].get("continue", "") == ""
    assert {page["metadata"]["resourceVersion"] for page in (first, second, third)} == {
        first["metadata"]["resourceVersion"]
    }


def test_page_of_selected_objects_continues_while_any_object_follows(kube: Kube) -> None:
    for name in "abc":
        kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": name, "labels": {"name": name}}})
    full, last = (kube.ok("GET", f"{CONFIG_MAPS}?limit=1&labelSelector=name%3D{name}")["metadata"] for name in "ac")
    assert ("continue" in full, "continue" in last) == (True, False)
    assert kube.ok("GET", f"{CONFIG_MAPS}?limit=1&continue={full['continue']}&labelSelector=name%3Da")["items"] == []
    assert "continue" not in kube.ok("GET", f"{CONFIG_MAPS}?limit=1&fieldSelector=metadata.name%3Da")["metadata"]


def test_page_older_than_history_is_expired_with_inconsistent_token() -> None:
    kube = Kube(ServerOptions(history=3))
    for name in "abc":
        kube.ok("POST", FOOS, foo(name))
    token = kube.ok("GET", f"{FOOS}?limit=1")["metadata"]["continue"]
    for replicas in range(2, 8):
        kube.ok("PATCH", f"{FOOS}/a", {"spec": {"replicas": replicas}}, MERGE)
    status = kube.refused(410, "GET", f"{FOOS}?limit=1&continue={token}")
    assert status["reason"] == "Expired"
    stored = kube.ok("GET", f"{FOOS}?continue={status['metadata']['continue']}")
    assert names(stored) == ["b", "c"]


def test_exact_revision_is_listed_and_future_one_fails(kube: Kube) -> None:
    at = kube.ok("POST", FOOS, foo("a"))["metadata"]["resourceVersion"]
    kube.ok("POST", FOOS, foo("b"))
    assert names(kube.ok("GET", f"{FOOS}?resourceVersion={at}&resourceVersionMatch=Exact")) == ["a"]
    status = kube.refused(504, "GET", f"{FOOS}?resourceVersion=99999")
    assert "Too large resource version" in status["message"]


def test_field_selectors_know_the_fields_of_their_kind(kube: Kube) -> None:
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "b"}})
    assert names(kube.ok("GET", f"{CONFIG_MAPS}?fieldSelector=metadata.name!=a")) == ["b"]
    status = kube.refused(400, "GET", f"{CONFIG_MAPS}?fieldSelector=data.x=1")
    assert status["message"].startswith('"data.x" is not a known field selector')


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a,", "found '', expected: identifier after ','"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("a=(1)", "unable to parse requirement: found '(', expected: identifier"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a in (b,=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
        ("-a", 'unable to parse requirement: <nil>: Invalid value: "-a": name part must consist of'),
        ("a=-b", 'unable to parse requirement: values[0][a]: Invalid value: "-b": a valid label must be an empty'),
        (
            "a>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must",
        ),
    ],
)
def test_invalid_label_selector_is_explained(text: str, reason: str) -> None:
    with pytest.raises(ApiFailure) as failure:
        parse_labels(text)
    assert failure.value.code == 400
    assert failure.value.message.startswith(reason)


def test_selectors_are_parsed_before_options_are_validated(kube: Kube) -> None:
    kube.refused(400, "GET", f"{CONFIG_MAPS}?labelSelector=%3Da&resourceVersionMatch=Exact")
    kube.refused(422, "GET", f"{CONFIG_MAPS}?fieldSelector=data.x%3D1&resourceVersionMatch=Exact")
    kube.refused(422, "GET", f"{CONFIG_MAPS}?watch=1&resourceVersionMatch=Exact&limit=1")


def test_list_of_metadata_without_items_has_null(kube: Kube) -> None:
    accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    url = f"{CONFIG_MAPS}?fieldSelector=metadata.name%3Dmissing"
    assert kube.ok("GET", url, accept=accept)["items"] is None


def test_items_of_built_in_lists_carry_no_kind_and_custom_ones_do(kube: Kube) -> None:
    kube.ok("POST", DEPLOYMENTS, deployment())
    kube.ok("POST", FOOS, foo())
    assert "kind" not in kube.ok("GET", DEPLOYMENTS)["items"][0]
    assert kube.ok("GET", FOOS)["items"][0]["kind"] == "Foo"


def test_events_of_both_groups_are_one_store(kube: Kube) -> None:
    event = {
        "metadata": {"name": "e"}, "involvedObject": {"kind": "Foo", "name": "a", "namespace": "default"},
        "message": "hello", "reason": "Synced", "type": "Normal",
    }  # fmt: skip
    kube.ok("POST", "/api/v1/namespaces/default/events", event)
    stored = kube.ok("GET", "/apis/events.k8s.io/v1/namespaces/default/events/e")
    assert (stored["apiVersion"], stored["note"], stored["regarding"]["name"]) == ("events.k8s.io/v1", "hello", "a")
    assert "reportingController" not in stored
    selected = kube.ok("GET", "/apis/events.k8s.io/v1/namespaces/default/events?fieldSelector=regarding.name=a")
    assert len(selected["items"]) == 1


def test_unserved_path_is_not_found(kube: Kube) -> None:
    for path in ("/nope", "/apis/no.such/v1/x", "//api/v1", "/metrics/"):
        assert kube.send("GET", path).body == b"404 page not found\n"
    for path in ("/apis/apps/v1/namespaces/default/foos", "/api/v2", f"{FOOS}/a/nope"):
        assert kube.refused(404, "GET", path)["reason"] == "NotFound"
    for method in ("GET", "POST"):  # of kinds that are not listed, only the paths of namespaces
        kube.refused(404, method, "/api/v1/bindings")


def test_invalid_credentials_are_rejected_and_none_are_anonymous() -> None:
    kube = Kube(ServerOptions(tokens={"secret": ADMIN}))
    assert kube.send("GET", FOOS, authorization="Bearer wrong").status == 401
    assert kube.send("GET", FOOS, authorization="Bearer secret").status == 200
    assert kube.send("GET", FOOS).status == 200
    assert kube.send("GET", FOOS, authorization="Bearer").status == 200
    spaced = kube.send("GET", FOOS, authorization="Bearer  wrong")
    assert (spaced.status, "extra space before the bearer token" in str(spaced.headers)) == (200, True)
    kube.set_options(anonymous=False)
    assert kube.send("GET", FOOS).status == 401
