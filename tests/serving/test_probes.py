"""Probe responses in Kubernetes' format."""

import logging

import pytest

from clientgo.serving import Check, Handler, Response, ServingRequest, Unhealthy, probe_routes
from clientgo.serving.message import parse_head
from clientgo.serving.routing import Router


def fails() -> None:
    raise Unhealthy("the canary has died")


def breaks() -> None:
    raise ZeroDivisionError


def exits() -> None:
    raise SystemExit(1)


def passes() -> None:
    return


async def passes_later() -> None:
    return


async def fails_later() -> None:
    raise Unhealthy("the database is gone")


def get(routes: dict[str, Handler], target: str) -> Response:
    request: ServingRequest = parse_head(f"GET {target} HTTP/1.1\r\nHost: x".encode(), peer="10.0.0.1")
    return Router(routes, lambda _: Response(401)).answer(request)


def test_passing_checks_return_ok() -> None:
    assert get(probe_routes({"a": passes}), "/healthz") == Response(200, "ok")


def test_without_a_check_there_is_ping() -> None:
    routes = probe_routes({}, path="/livez")
    assert get(routes, "/livez?verbose").body == "[+]ping ok\nlivez check passed\n"
    assert get(routes, "/livez/ping") == Response(200, "ok")


@pytest.mark.feature("A-25")
def test_failing_check_is_listed_and_its_reason_withheld() -> None:
    response = get(probe_routes({"a": passes, "b": fails}, path="/readyz"), "/readyz")
    assert response == Response(500, "[+]a ok\n[-]b failed: reason withheld\nreadyz check failed\n")


def test_check_may_be_a_coroutine_function() -> None:
    routes = probe_routes({"a": passes_later, "b": fails_later})
    assert get(routes, "/healthz/a") == Response(200, "ok")
    assert get(routes, "/healthz/b") == Response(500, "internal server error: the database is gone\n")


@pytest.mark.feature("A-25")
def test_verbose_lists_all() -> None:
    assert get(probe_routes({"a": passes}), "/healthz?verbose=1").body == "[+]a ok\nhealthz check passed\n"


@pytest.mark.feature("A-25")
def test_single_check_shows_the_reason() -> None:
    routes = probe_routes({"a": passes, "b": fails, "c": breaks, "e": exits})
    assert get(routes, "/healthz/a") == Response(200, "ok")
    assert get(routes, "/healthz/b") == Response(500, "internal server error: the canary has died\n")
    assert get(routes, "/healthz/c") == Response(500, "internal server error: ZeroDivisionError\n")
    assert get(routes, "/healthz/d").status == 404
    assert get(routes, "/healthz/e") == Response(500, "internal server error: SystemExit: 1\n")


@pytest.mark.feature("A-25")
def test_check_is_excluded_and_unknown_one_is_reported() -> None:
    routes = probe_routes({"a": passes, "b": fails})
    assert get(routes, "/healthz?exclude=b") == Response(200, "ok")
    body = get(routes, "/healthz?verbose&exclude=b&exclude=x,y").body
    assert body == (
        "[+]a ok\n[+]b excluded: ok\n"
        'warn: some health checks cannot be excluded: no matches for "x", "y"\nhealthz check passed\n'
    )


def test_checks_may_be_added_while_served() -> None:
    checks: dict[str, Check] = {}
    routes = probe_routes(checks)
    checks["late"] = fails
    assert get(routes, "/healthz").status == 500


def test_failure_is_logged_when_it_begins_and_when_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "clientgo.serving")
    ill = [True]
    routes = probe_routes({"a": lambda: fails() if ill else None})
    for _ in range(3):
        assert get(routes, "/healthz").status == 500
    ill.clear()
    for _ in range(3):
        assert get(routes, "/healthz").status == 200
    assert [record.msg for record in caplog.records] == ["check failing", "check passing again"]
    assert vars(caplog.records[0])["reason"] == "the canary has died"
