"""Routes of webhooks: decode reviews, call the handler, encode the response, count and log.

An API server treats a status other than 200 as a failure of the webhook, and applies its failurePolicy. So each review
with a uid gets a response with 200, even if its handler has a bug: the request is then denied with code 500 in the
review, and the user sees the reason.

The handlers of `handlers.py` decide, for example `defaulting` about the JSON patch of a defaulted object.
"""

from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import CallbackFailed
from clientgo.internal.callbacks import run_callback
from clientgo.log import context, get_logger
from clientgo.metrics import Counter, safe_provider
from clientgo.program.flags import seconds
from clientgo.serving import Access, Response, Route, ServingRequest
from clientgo.serving.message import JSON
from clientgo.stop.lifecycle import is_stopped_request
from clientgo.webhook.admission import AdmissionRequest, BadReview, errored, read_review, write_review
from clientgo.webhook.handlers import AdmissionHandler, AsyncAdmissionHandler, with_rejections

log = get_logger(__name__)

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds in seconds. The last is an API server's default timeout."""

_FROM_THE_START = ("200", "500")


class WebhookMetrics:
    """Metrics of one webhook with controller-runtime's names; create it after the program has set a provider."""

    def __init__(self, path: str, *, clock: Clock = SYSTEM_CLOCK) -> None:
        name, self._labels = "controller_runtime_webhook_", {"webhook": path}
        self._clock = clock
        self._name, self._provider = name, safe_provider()
        # Series from the start, so that rates begin at zero.
        self._codes = {code: self._counter(code) for code in _FROM_THE_START}
        self._in_flight = self._provider.gauge(
            f"{name}requests_in_flight", "Admission requests in progress", self._labels
        )
        self._seconds = self._provider.histogram(
            f"{name}latency_seconds", "Duration of admission requests", self._labels, buckets=BUCKETS
        )
        self.panics = self._provider.counter(
            f"{name}panics_total", "Admission requests that failed because of a bug", {}
        )

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Measure the block as one request."""
        began = self._clock.now()
        self._in_flight.inc()
        try:
            yield
        finally:
            self._in_flight.dec()
            self._seconds.observe(self._clock.now() - began)

    def count(self, code: int) -> None:
        """Count a request with this HTTP status."""
        text = str(code)
        if text not in self._codes:
            # Two threads may both create it: the provider returns the same one.
            self._codes[text] = self._counter(text)
        self._codes[text].inc()

    def _counter(self, code: str) -> Counter:
        labels = {**self._labels, "code": code}
        return self._provider.counter(f"{self._name}requests_total", "Admission requests, by HTTP status", labels)


LARGEST_ADMISSION = 7 * 1024 * 1024
"""Bytes: two objects of 3 MiB, the maximum of an API server, and their envelope (controller-runtime's)."""

ReviewFunc = Callable[[bytes, WebhookMetrics], bytes]
"""Returns the response to a body; raises `BadReview`."""

LateReview = Callable[[bytes, str], bytes]
"""Returns the response to a body whose handler did not answer in time, with this message; raises `BadReview`."""

DEFAULT_SECONDS = 30.0
"""Seconds for a call whose URL has no `timeout`, and at most for any: an API server waits no longer."""

_MARGIN = 0.25
"""Seconds before the API server's timeout in which the reason is sent to it."""


def seconds_for(request: ServingRequest) -> float:
    """Return the seconds that a call may take: the `timeout` that an API server adds to the URL, less a margin."""
    try:
        timeout = min(seconds(request.first("timeout")) or DEFAULT_SECONDS, DEFAULT_SECONDS)
    except (ArgumentTypeError, ValueError):  # the response does not depend on it
        timeout = DEFAULT_SECONDS
    return timeout - min(_MARGIN, timeout / 10)


def admission_route(
    path: str, handler: AdmissionHandler | AsyncAdmissionHandler, *, clock: Clock = SYSTEM_CLOCK
) -> Route:
    """Return the route that handles AdmissionReviews at `path`."""
    handle_request = with_rejections(handler)

    def review(body: bytes, metrics: WebhookMetrics) -> bytes:
        request = read_review(body)
        return _decision(path, handle_request, request, metrics)

    def late(body: bytes, message: str) -> bytes:
        return write_review(read_review(body).uid, errored(HTTPStatus.GATEWAY_TIMEOUT, message))

    return review_route(path, review, late, clock=clock)


def review_route(
    path: str, review: ReviewFunc, late: LateReview, *, largest: int | None = None, clock: Clock = SYSTEM_CLOCK
) -> Route:
    """Return the route that handles reviews at `path`, of at most `largest` bytes (default: the server's limit)."""
    metrics = WebhookMetrics(path, clock=clock)

    def handle(request: ServingRequest) -> Response:
        with metrics.measuring():
            response = _rejection(request) or _response(request, review, metrics)
        metrics.count(response.status)
        return response

    def handle_late(request: ServingRequest) -> Response:
        message = f"the webhook {path} did not answer within {seconds_for(request):g} s"
        response = _response(request, lambda body, _: late(body, message), metrics)
        metrics.count(HTTPStatus.GATEWAY_TIMEOUT)
        return response

    return Route(handle, methods=("POST",), access=Access.OPEN, largest=largest, seconds=seconds_for, late=handle_late)


def _rejection(request: ServingRequest) -> Response | None:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != JSON:
        received = media_type or "nothing"
        return Response(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"invalid content type {received}: expected {JSON}\n")
    if not request.body:
        return Response(HTTPStatus.BAD_REQUEST, "the request has no body\n")
    return None


def _response(request: ServingRequest, review: ReviewFunc, metrics: WebhookMetrics) -> Response:
    try:
        return Response(HTTPStatus.OK, review(request.body, metrics), JSON)
    except BadReview as error:
        log.debug("webhook request is not a review", extra={"path": request.path, "peer": request.peer, "err": error})
        return Response(HTTPStatus.BAD_REQUEST, f"{error}\n")


def _decision(path: str, handle_request: AdmissionHandler, request: AdmissionRequest, metrics: WebhookMetrics) -> bytes:
    about = {"webhook": path, "uid": request.uid, "operation": request.operation, "kind": request.kind.kind}
    with context(**about, namespace=request.namespace or None, name=request.name or None):
        try:
            return run_callback(_review, handle_request, request)
        except CallbackFailed as error:
            if error.__cause__ is not None and is_stopped_request(error.__cause__):
                log.warning("webhook handler cancelled: the call has ended, or the program stops")
                return write_review(request.uid, errored(HTTPStatus.SERVICE_UNAVAILABLE, str(error)))
            # The user gets one sentence, and the API server a response.
            metrics.panics.inc()
            log.exception("bug: webhook handler failed; request denied")
            reason = f"the webhook failed: {error}"
            return write_review(request.uid, errored(HTTPStatus.INTERNAL_SERVER_ERROR, reason))


def _review(handle_request: AdmissionHandler, request: AdmissionRequest) -> bytes:
    response = handle_request(request)
    if not response.allowed:
        log.debug("request denied", extra={"code": response.status.code, "why": response.status.message})
    return write_review(request.uid, response)
