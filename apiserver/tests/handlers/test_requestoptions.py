"""Options of requests and versions of objects, in the odd forms that a real server accepts or rejects."""

from typing import Any

import pytest

from apiserver.tests.inprocess import APPLY, CONFIG_MAPS, JSON_PATCH, MERGE, STRATEGIC, Kube, names

BIG = "99999999999999999999999"
INVALID, RANGE = "invalid syntax", "value out of range"


def config_map(name: str = "a", **meta: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **meta}}


@pytest.fixture
def kube() -> Kube:
    cluster = Kube()
    for name in "abcde":
        cluster.ok("POST", CONFIG_MAPS, config_map(name, labels={"l": "1"}))
    return cluster


def test_name_that_the_client_chose_is_not_generated_again(kube: Kube) -> None:
    status = kube.refused(409, "POST", CONFIG_MAPS, config_map(generateName="a-"))
    assert status["message"] == (
        'configmaps "a" already exists, the server was not able to generate a unique name for the object'
    )
    assert status["details"]["retryAfterSeconds"] == 1
    assert kube.refused(409, "POST", CONFIG_MAPS, config_map())["message"] == 'configmaps "a" already exists'
    assert names(kube.ok("GET", CONFIG_MAPS)) == [*"abcde"]


@pytest.mark.parametrize(
    ("limit", "expected"), [("2", 2), ("+2", 2), ("02", 2), ("0", 5), ("-1", 5), ("9223372036854775807", 5)]
)
def test_limit_is_a_number_of_go(kube: Kube, limit: str, expected: int) -> None:
    assert len(kube.ok("GET", f"{CONFIG_MAPS}?limit={limit.replace('+', '%2B')}")["items"]) == expected


@pytest.mark.parametrize(
    ("limit", "reason"),
    [("", INVALID), ("1.5", INVALID), ("2_0", INVALID), ("9223372036854775808", RANGE), (BIG, RANGE)],
)
def test_limit_that_is_no_number_of_go_is_rejected(kube: Kube, limit: str, reason: str) -> None:
    message = kube.refused(400, "GET", f"{CONFIG_MAPS}?limit={limit}")["message"]
    assert message == f'strconv.ParseInt: parsing "{limit}": {reason}'


def test_next_page_from_the_cache_has_no_limit(kube: Kube) -> None:
    token = kube.ok("GET", f"{CONFIG_MAPS}?limit=1")["metadata"]["continue"]
    assert names(kube.ok("GET", f"{CONFIG_MAPS}?limit=2&continue={token}")) == ["b", "c"]
    assert names(kube.ok("GET", f"{CONFIG_MAPS}?limit=2&continue={token}&resourceVersion=0")) == [*"bcde"]


def test_watch_from_the_beginning_does_not_continue_a_list(kube: Kube) -> None:
    for version in ("", "&resourceVersion=0"):
        status = kube.refused(422, "GET", f"{CONFIG_MAPS}?watch=1&continue=x{version}")
        assert "resourceVersionMatch is forbidden when continue is provided" in status["message"]
    kube.watch(f"{CONFIG_MAPS}?continue=x&resourceVersion=5").close()


def test_get_of_one_object_is_never_a_watch(kube: Kube) -> None:
    assert kube.ok("GET", f"{CONFIG_MAPS}/a?watch=true")["metadata"]["name"] == "a"
    assert kube.send("GET", f"{CONFIG_MAPS}/none?watch=1").status == 404
    kube.watch("/api/v1/watch/namespaces/default/configmaps/a").close()


@pytest.mark.parametrize("version", ["x", "1.0", "-1", BIG, "18446744073709551616"])
def test_version_that_is_no_number_is_ignored_on_creation_and_an_error_of_an_update(kube: Kube, version: str) -> None:
    assert kube.ok("POST", CONFIG_MAPS, config_map("new", resourceVersion=version))["metadata"]["name"] == "new"
    reason = RANGE if version.isdigit() else INVALID
    message = f'strconv.ParseUint: parsing "{version}": {reason}'
    patch = [{"op": "replace", "path": "/metadata/resourceVersion", "value": version}]
    sent = config_map(resourceVersion=version)
    for method, body, kind in (("PUT", sent, ""), ("PATCH", sent, MERGE), ("PATCH", patch, JSON_PATCH)):
        assert kube.refused(500, method, f"{CONFIG_MAPS}/a", body, kind)["message"] == message
    applied = config_map("none", resourceVersion=version)
    url = f"{CONFIG_MAPS}/none?fieldManager=x"
    assert kube.refused(500, "PATCH", url, applied, APPLY)["message"] == message


def test_versions_are_compared_as_numbers(kube: Kube) -> None:
    version = kube.ok("GET", f"{CONFIG_MAPS}/a")["metadata"]["resourceVersion"]
    for equal in (f"0{version}", "0", "00"):
        assert kube.ok("PUT", f"{CONFIG_MAPS}/a", config_map(resourceVersion=equal))["metadata"]["name"] == "a"
    kube.refused(409, "PUT", f"{CONFIG_MAPS}/a", config_map(resourceVersion="18446744073709551615"))
    kube.refused(500, "POST", CONFIG_MAPS, config_map("new", resourceVersion="1"))


def test_dry_run_of_a_creation_shows_the_version_that_was_sent(kube: Kube) -> None:
    created = kube.ok("POST", f"{CONFIG_MAPS}?dryRun=All", config_map("new", resourceVersion="7"))
    assert created["metadata"]["resourceVersion"] == "7"
    assert "resourceVersion" not in kube.ok("POST", f"{CONFIG_MAPS}?dryRun=All", config_map("new"))["metadata"]


def test_collection_is_deleted_by_pages_like_a_list(kube: Kube) -> None:
    page = kube.ok("DELETE", f"{CONFIG_MAPS}?limit=2")
    assert names(page) == ["a", "b"]
    assert page["metadata"]["remainingItemCount"] == 3
    assert names(kube.ok("DELETE", f"{CONFIG_MAPS}?limit=2&continue={page['metadata']['continue']}")) == ["c", "d"]
    kube.refused(400, "DELETE", f"{CONFIG_MAPS}?continue=x")
    assert names(kube.ok("GET", CONFIG_MAPS)) == ["e"]


def test_empty_precondition_is_one(kube: Kube) -> None:
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"resourceVersion": ""}}
    assert "the precondition ()" in kube.refused(409, "DELETE", f"{CONFIG_MAPS}/a", options)["message"]
    assert kube.ok("DELETE", f"{CONFIG_MAPS}/a?resourceVersion=")["status"] == "Success"


@pytest.mark.parametrize(
    ("selector", "reason"),
    [
        (r"metadata.name=a\b", r"invalid field selector: invalid escape sequence: \b"),
        ("metadata.name=a\\", "invalid field selector: invalid escape sequence: \\"),
        ("metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
        ("metadata.name=a!=b", "invalid field selector: unescaped character in value: 61"),
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
    ],
)
def test_value_of_a_field_selector_is_escaped(kube: Kube, selector: str, reason: str) -> None:
    url = f"{CONFIG_MAPS}?fieldSelector={selector.replace('=', '%3D')}"
    assert kube.refused(400, "GET", url)["message"] == reason
    assert kube.ok("GET", rf"{CONFIG_MAPS}?fieldSelector=metadata.name%3Da\,\=\\")["items"] == []


def test_term_of_a_field_selector_without_field_and_value_selects_everything(kube: Kube) -> None:
    everything = kube.ok("GET", CONFIG_MAPS)["items"]
    for selector in ("%3D", "%3D%3D", "!%3D", ",%3D"):
        assert kube.ok("GET", f"{CONFIG_MAPS}?fieldSelector={selector}")["items"] == everything
    kube.refused(400, "GET", f"{CONFIG_MAPS}?fieldSelector=%3Da")


def test_invalid_byte_of_a_continue_token_is_named(kube: Kube) -> None:
    for token, at in (("x", 0), ("abcd*", 4), ("abcdefghi", 8)):
        message = kube.refused(400, "GET", f"{CONFIG_MAPS}?continue={token}")["message"]
        assert message.endswith(f"illegal base64 data at input byte {at}")


def test_equal_owner_references_are_stored_once_with_a_warning(kube: Kube) -> None:
    owner = {"apiVersion": "owners.io/v1", "kind": "Owner", "name": "o", "uid": "u"}
    meta = {"name": "owned", "ownerReferences": [owner, {**owner, "name": "p"}, owner]}
    unique = [owner, {**owner, "name": "p"}]
    created = kube.send("POST", CONFIG_MAPS, {"metadata": meta})
    assert created.json()["metadata"]["ownerReferences"] == unique
    assert ".metadata.ownerReferences contains duplicate entries; API server" in dict(created.headers)["Warning"]
    patch = {"metadata": {"ownerReferences": [owner, *unique]}}
    patched = kube.send("PATCH", f"{CONFIG_MAPS}/owned", patch, MERGE)
    assert patched.json()["metadata"]["resourceVersion"] == created.json()["metadata"]["resourceVersion"]
    assert "contains duplicate entries after mutating admission happens" in dict(patched.headers)["Warning"]


@pytest.mark.parametrize(("method", "kind"), [("POST", "Create"), ("PUT", "Update"), ("DELETE", "Delete")])
def test_each_value_of_dry_run_counts(kube: Kube, method: str, kind: str) -> None:
    url = CONFIG_MAPS if method == "POST" else f"{CONFIG_MAPS}/a"
    body = None if method == "DELETE" else config_map("new" if method == "POST" else "a")
    status = kube.refused(422, method, f"{url}?dryRun=All&dryRun=x", body)
    reason = f'{kind}Options.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["All","x"]'
    assert status["message"].startswith(reason)
    kube.ok("GET", f"{CONFIG_MAPS}/a")


def test_negative_timeout_is_that_of_the_server(kube: Kube) -> None:
    kube.ok("PATCH", f"{CONFIG_MAPS}/a?timeout=-1s", {"data": {"a": "b"}}, MERGE)


def test_object_cannot_be_exported(kube: Kube) -> None:
    status = kube.refused(400, "GET", f"{CONFIG_MAPS}/a?export=true")
    assert status["message"] == "the export parameter, deprecated since v1.14, is no longer supported"
    kube.ok("GET", f"{CONFIG_MAPS}?export=true")
    kube.ok("GET", f"{CONFIG_MAPS}/a?export=false")


def test_null_is_an_empty_strategic_patch_and_empty_options(kube: Kube) -> None:
    before = kube.ok("GET", f"{CONFIG_MAPS}/a")
    assert kube.ok("PATCH", f"{CONFIG_MAPS}/a", b"null", STRATEGIC) == before
    kube.refused(400, "PATCH", f"{CONFIG_MAPS}/a", b"null", MERGE)
    kube.refused(400, "DELETE", f"{CONFIG_MAPS}/a", b"[]")
    assert kube.ok("DELETE", f"{CONFIG_MAPS}/a", b"null")["status"] == "Success"


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        (rb"\ud800", "\ufffd"),
        (rb"\udc00\ud83d\ude00", "\ufffd\U0001f600"),
        (rb"\\ud800\ud800x", "\\ud800\ufffdx"),
    ],
)  # fmt: skip
def test_half_of_a_character_is_replaced(kube: Kube, text: bytes, stored: str) -> None:
    body = b'{"metadata":{"name":"half"},"data":{"k":"%s"}}' % text
    assert kube.ok("POST", CONFIG_MAPS, body)["data"] == {"k": stored}


def test_new_object_keeps_the_owners_that_the_client_sends(kube: Kube) -> None:
    sent = {
        "manager": "m", "operation": "Apply", "apiVersion": "v1", "time": "2020-01-01T00:00:00Z",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}, "f:z": {}}},
    }  # fmt: skip
    body = {**config_map("kept", managedFields=[sent]), "data": {"a": "b"}}
    first, second = kube.ok("POST", f"{CONFIG_MAPS}?fieldManager=c", body)["metadata"]["managedFields"]
    assert first == {**sent, "fieldsV1": {"f:data": {"f:z": {}}}}
    assert (second["manager"], second["fieldsV1"]) == ("c", {"f:data": {".": {}, "f:a": {}}})


@pytest.mark.parametrize("sent", [[], [{}], [{"manager": "m", "operation": "Foo"}]])
def test_owners_that_cannot_be_read_are_ignored(kube: Kube, sent: list[Any]) -> None:
    body = {**config_map("kept", managedFields=sent), "data": {"a": "b"}}
    [entry] = kube.ok("POST", f"{CONFIG_MAPS}?fieldManager=c", body)["metadata"]["managedFields"]
    assert entry["manager"] == "c"


def test_object_that_an_update_would_create_has_no_uid(kube: Kube) -> None:
    url = "/apis/coordination.k8s.io/v1/namespaces/default/leases/new"
    body = {"metadata": {"name": "new", "uid": "u"}, "spec": {}}
    assert "UID in precondition: u" in kube.refused(409, "PUT", url, body)["message"]
    kube.refused(404, "GET", url)
