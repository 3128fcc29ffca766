"""Access control: open, authorized and private routes."""

import pytest

from clientgo.serving import Access, Response, Route, ServingRequest
from clientgo.serving.routing import Router, from_this_machine

ROUTES = {
    "/open": Route(lambda _: Response(200, "open"), access=Access.OPEN),
    "/guarded": Route(lambda _: Response(200, "guarded")),
    "/private": Route(lambda _: Response(200, "private"), access=Access.PRIVATE),
}
FAR, NEAR = "10.0.0.1", "127.0.0.1"


def status(router: Router, path: str, peer: str) -> int:
    return router.answer(ServingRequest("GET", path, peer=peer)).status


def test_without_an_authorizer_private_routes_are_for_this_machine() -> None:
    router = Router(ROUTES)
    assert [status(router, path, FAR) for path in ROUTES] == [200, 200, 403]
    assert [status(router, path, NEAR) for path in ROUTES] == [200, 200, 200]


def test_authorizer_guards_what_is_not_open() -> None:
    router = Router(ROUTES, lambda _: Response(401))
    assert [status(router, path, FAR) for path in ROUTES] == [200, 401, 401]
    assert [status(router, path, NEAR) for path in ROUTES] == [200, 401, 200]


def test_authorizer_grants_access() -> None:
    router = Router(ROUTES, lambda _: None)
    assert [status(router, path, FAR) for path in ROUTES] == [200, 200, 200]


def test_failing_authorizer_denies_access(caplog: pytest.LogCaptureFixture) -> None:
    def breaks(_: ServingRequest) -> Response | None:
        raise RuntimeError("no answer")

    assert status(Router(ROUTES, breaks), "/guarded", FAR) == 500
    assert "no answer" in caplog.text


@pytest.mark.parametrize(
    ("peer", "host", "near"),
    [
        ("127.0.0.1", "localhost:8080", True),
        ("127.0.0.1", "127.0.0.1", True),
        ("::1", "[::1]:8080", True),
        ("::ffff:127.0.0.1", "127.0.0.1:1", True),
        ("127.0.0.6", "localhost", False),
        ("10.0.0.1", "localhost", False),
        ("::2", "localhost", False),
        ("", "localhost", False),
        ("127.0.0.1", "evil.example:8080", False),
        ("127.0.0.1", "localhost.evil.example", False),
    ],
)
def test_local_client_is_recognized_by_address_and_host(peer: str, host: str, near: bool) -> None:
    assert from_this_machine(ServingRequest("GET", "/", peer=peer, headers={"host": host})) is near


def test_longest_prefix_handles_the_request() -> None:
    router = Router({"/a/": lambda _: Response(200, "outer"), "/a/b/": lambda _: Response(200, "inner")})
    assert router.answer(ServingRequest("GET", "/a/b/c")).body == "inner"
    assert router.answer(ServingRequest("GET", "/a/bc")).body == "outer"
    assert router.answer(ServingRequest("GET", "/a")).status == 404
    assert router.paths == ["/a/", "/a/b/"]
