"""Limits of sizes, times and counts, and their table in the guide."""

from pathlib import Path

import pytest

from clientgo.cache.backoff import ReflectorBackoff
from clientgo.cache.watchlist import BOOKMARK_TIMEOUT
from clientgo.errors import MAX_RETRY_AFTER, TooManyRequests, error_from_response
from clientgo.meta import yamlio
from clientgo.rest import bounds, execplugin
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.connections import dial, http1
from clientgo.testing.clock import FakeClock
from clientgo.testing.transport import FakeTransport, refusal, reply

YEARS = 999_999_999


@pytest.mark.parametrize(
    ("row", "default"),
    [
        ("Body of a response", f"{bounds.MAX_RESPONSE_BYTES >> 30} GiB; {bounds.MAX_FRAME >> 20} MiB"),
        ("Error response", f"{bounds.MAX_ERROR_BYTES >> 20} MiB, {bounds.SILENCE:g} s; {http1._MAX_HEAD >> 10} KiB"),
        ("Duration of a request", f"none; {dial.CONNECT_TIMEOUT:g} s"),
        ("Silence of the server", f"{bounds.SILENCE:g} s"),
        ("Silence of a watch", f"{Config('h').watch_idle_timeout:g} s"),
        (f"Silence before: the requested duration ({bounds.MAX_WATCH_SECONDS:g} s", f"{bounds.END_GRACE:g} s"),
        ("Silence of a streamed list", f"{BOOKMARK_TIMEOUT:g} s"),
        ("Retries, and redirects", f"{bounds.MAX_RETRIES}; {bounds.MAX_REDIRECTS}"),
        ("Retry-After", f"{MAX_RETRY_AFTER:g} s"),
        ("Pages", f"{bounds.MAX_PAGES}"),
        ("Kubeconfig", f"{bounds.MAX_FILE_BYTES >> 20} MiB; {yamlio.MAX_VALUES}, {yamlio.MAX_DEPTH}"),
        (
            "Credential plugin",
            f"{bounds.MAX_PLUGIN_BYTES >> 20} MiB, {execplugin.PLUGIN_SECONDS:g} s, "
            f"{execplugin.INTERACTIVE_SECONDS:g} s",
        ),
    ],
)
def test_table_in_the_guide_has_the_defaults(row: str, default: str) -> None:
    guide = Path("docs/guide/rest.md").read_text(encoding="utf-8")
    [line] = [line for line in guide.splitlines() if line.startswith(f"| {row}")]
    assert line.split(" | ")[1] == default


def test_retry_after_is_limited_wherever_it_is_read() -> None:
    body = b'{"reason":"TooManyRequests","details":{"retryAfterSeconds":%d}}' % YEARS
    in_details = error_from_response(429, body, {})
    in_header = error_from_response(429, b"", {"Retry-After": str(YEARS)})
    for error in (in_details, in_header, TooManyRequests(retry_after=YEARS)):
        assert error.retry_after == MAX_RETRY_AFTER
        assert ReflectorBackoff(rand=lambda: 0.0).next(error) == MAX_RETRY_AFTER
    assert in_details.details.retry_after_seconds == YEARS


def test_retry_of_a_request_waits_for_a_limited_time() -> None:
    clock = FakeClock(auto=True)
    transport = FakeTransport(refusal(429, retry_after=YEARS), reply(b"ok"))
    assert RESTClient(Config("http://api"), transport=transport, clock=clock).raw("GET", "/") == b"ok"
    assert clock.now() == MAX_RETRY_AFTER
