"""HTTP handling of webhooks: rejected requests, metrics, and a response to every request."""

import asyncio
import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.log.fields import current_fields
from clientgo.metrics import NoMetrics, set_provider
from clientgo.serving import Route
from clientgo.serving.prometheus import PrometheusProvider
from clientgo.webhook import AdmissionRequest, AdmissionResponse, allowed, defaulting, patched, validating
from clientgo.webhook.routes import admission_route
from tests.webhook.homes import Home, HomeDefaulter, HomeValidator, answer_of, home, patch_of, posted, review

PATH = "/validate-ajd-my-domain-v1-home"
ROUTE = admission_route(PATH, validating(Home, HomeValidator()))
DEFAULTING = admission_route("/mutate", defaulting(Home, HomeDefaulter()))


def broken(request: AdmissionRequest) -> AdmissionResponse:
    raise ZeroDivisionError("division by zero")


def cancelled(request: AdmissionRequest) -> AdmissionResponse:
    raise asyncio.CancelledError


def unwritable(request: AdmissionRequest) -> AdmissionResponse:
    return patched("", {"op": "add", "path": "/a", "value": object()})


@pytest.mark.feature("A-15")
def test_the_same_uid_comes_back() -> None:
    response = answer_of(ROUTE(posted(review("CREATE", home(owner="ann")))))
    assert (response["uid"], response["allowed"]) == (review()["request"]["uid"], True)
    assert patch_of(answer_of(DEFAULTING(posted(review("CREATE", home()))))) == [
        {"op": "add", "path": "/spec/rooms", "value": 1}
    ]


class Silent(ValueError):
    def __str__(self) -> str:
        raise SystemExit("no text")


def silent(request: AdmissionRequest) -> AdmissionResponse:
    raise Silent


def choosy(request: AdmissionRequest) -> AdmissionResponse:
    return allowed(str(int("lots")))


@pytest.mark.parametrize(
    ("route", "obj", "reason", "levels"),
    [
        (ROUTE, home(rooms="many"), "Home default/villa cannot be decoded: Expected `int | null`", [logging.DEBUG]),
        (admission_route("/", choosy), home(), "invalid object: invalid literal", [logging.WARNING, logging.DEBUG]),
        (admission_route("/", silent), home(), "invalid object: <Silent that", [logging.WARNING, logging.DEBUG]),
    ],
    ids=["undecodable", "ValueError", "without text"],
)
def test_invalid_object_is_denied_and_logged_without_a_traceback(
    route: Route, obj: dict[str, Any], reason: str, levels: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="clientgo.webhook"):
        response = answer_of(route(posted(review("CREATE", obj))))
    assert (response["allowed"], response["status"]["code"]) == (False, 400)
    assert response["status"]["message"].startswith(reason)
    assert [(record.levelno, record.exc_info) for record in caplog.records] == [(level, None) for level in levels]


@pytest.mark.parametrize("content_type", ["application/json", "application/json; charset=utf-8", "Application/JSON"])
def test_json_is_accepted(content_type: str) -> None:
    assert ROUTE(posted(review("CREATE", home(owner="a")), content_type=content_type)).status == 200


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/yaml", "application/vnd.kubernetes.protobuf"])
def test_other_content_types_are_rejected(content_type: str) -> None:
    response = ROUTE(posted(review("CREATE", home(owner="a")), content_type=content_type))
    assert response.status == 415
    assert response.body == f"invalid content type {content_type or 'nothing'}: expected application/json\n"


def test_invalid_bodies_are_rejected() -> None:
    assert ROUTE(posted(b"")).status == 400
    response = ROUTE(posted(b"{}"))
    assert (response.status, response.body) == (
        400,
        "expected admission.k8s.io/v1, Kind=AdmissionReview, got nothing, Kind=nothing\n",
    )


def test_denial_is_logged_at_debug(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="clientgo.webhook"):
        ROUTE(posted(review("CREATE", home(owner="ann"))))
        assert caplog.records == []
        ROUTE(posted(review("CREATE", home())))
    [record] = caplog.records
    assert (record.levelno, vars(record)["code"]) == (logging.DEBUG, 422)


@pytest.mark.parametrize(
    ("handler", "reason"),
    [
        (broken, "ZeroDivisionError: division by zero"),
        (unwritable, "cannot encode [0].value as JSON: object has no JSON form"),
        (cancelled, "CancelledError"),
    ],
)
def test_handler_s_bug_denies_with_500_and_is_logged_with_the_uid(
    handler: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    response = answer_of(admission_route("/x", handler)(posted(review("CREATE", home()))))
    assert (response["allowed"], response["status"]["code"]) == (False, 500)
    assert response["status"]["message"].startswith(f"the webhook failed: {reason}")
    assert response["uid"] == review()["request"]["uid"]
    [record] = caplog.records
    assert record.levelno == logging.ERROR
    assert record.exc_info is not None


def test_log_lines_of_a_handler_have_the_request() -> None:
    seen: dict[str, Any] = {}

    def handler(request: AdmissionRequest) -> AdmissionResponse:
        seen.update(current_fields())
        return allowed()

    admission_route("/x", handler)(posted(review("CREATE", home())))
    uid = review()["request"]["uid"]
    assert seen == {
        "webhook": "/x", "uid": uid, "operation": "CREATE", "kind": "Home", "namespace": "default", "name": "villa",
    }  # fmt: skip


@pytest.mark.feature("B-CR-12")
def test_requests_are_counted_by_path_and_code() -> None:
    prometheus_provider = PrometheusProvider(process=False)
    set_provider(prometheus_provider)
    try:
        route, buggy = admission_route(PATH, validating(Home, HomeValidator())), admission_route("/buggy", broken)
    finally:
        set_provider(NoMetrics())

    def value(name: str, **labels: str) -> float | None:
        return prometheus_provider.registry.get_sample_value(f"controller_runtime_webhook_{name}", labels)

    assert value("requests_total", webhook=PATH, code="200") == value("requests_total", webhook=PATH, code="500") == 0
    route(posted(review("CREATE", home())))
    route(posted(b"{}"))
    buggy(posted(review("CREATE", home())))
    assert value("requests_total", webhook=PATH, code="200") == 1
    assert value("requests_total", webhook=PATH, code="400") == 1
    assert value("latency_seconds_count", webhook=PATH) == 2
    assert value("requests_in_flight", webhook=PATH) == 0
    assert value("panics_total") == 1
    assert value("requests_total", webhook="/buggy", code="200") == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
MEMBERS = ("metadata", "spec", "status", "apiVersion", "kind")


@given(st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_body_is_answered(body: bytes) -> None:
    assert ROUTE(posted(body)).status == 400


@given(st.dictionaries(st.sampled_from([*review("CREATE")["request"], "subResource"]), JSON, max_size=4))
def test_request_fields_of_any_type_are_answered(members: dict[str, Any]) -> None:
    body = review("CREATE", home(owner="a"))
    body["request"].update(members)
    assert DEFAULTING(posted(body)).status in (200, 400)


@given(st.dictionaries(st.sampled_from(MEMBERS), JSON), JSON)
def test_any_object_is_handled_or_rejected(members: dict[str, Any], spec: Any) -> None:
    for obj in ({**home(owner="a"), **members}, {**home(), "spec": spec}):
        for route in (ROUTE, DEFAULTING):
            response = answer_of(route(posted({**review(), "request": {**review()["request"], "object": obj}})))
            assert response["allowed"] or response["status"]["code"] in (400, 422)
