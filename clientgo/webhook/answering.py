"""Between HTTP and webhooks: what is no review is refused in a sentence, and no bug of a handler ends a connection.

An API server takes a status other than 200 for a webhook that failed, and then asks its failurePolicy. So whatever has
a uid is answered with 200 and a review, also when its handler has a bug: the request is denied with code 500 in that
review, and the user reads why.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.log import context
from clientgo.metrics import Counter, provider
from clientgo.serving import Access, Response, Route, ServingRequest
from clientgo.serving.message import JSON
from clientgo.webhook.admission import (
    AdmissionRequest,
    BadReview,
    errored,
    read_review,
    write_review,
)
from clientgo.webhook.handlers import AdmissionHandler, judged

log = logging.getLogger(__name__)

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds in seconds. The last is an API server's default patience."""

_FROM_THE_START = ("200", "500")


class WebhookMetrics:
    """Counts the requests to one webhook, by its path; made after the program has chosen a provider."""

    def __init__(self, path: str, *, clock: Clock = SYSTEM_CLOCK) -> None:
        name, self._labels = "controller_runtime_webhook_", {"webhook": path}
        self._clock = clock
        self._name, self._provider = name, provider()
        # Series from the start, so that rates begin at zero.
        self._codes = {code: self._counter(code) for code in _FROM_THE_START}
        self._in_flight = self._provider.gauge(
            f"{name}requests_in_flight", "Admission requests that are being answered", self._labels
        )
        self._seconds = self._provider.histogram(
            f"{name}latency_seconds", "How long admission requests took", self._labels, buckets=BUCKETS
        )
        self._panics = self._provider.counter(f"{name}panics_total", "Admission requests that failed by a bug", {})

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Measure what happens in the block as one request."""
        began = self._clock.now()
        self._in_flight.inc()
        try:
            yield
        finally:
            self._in_flight.dec()
            self._seconds.observe(self._clock.now() - began)

    def answered(self, code: int) -> None:
        """A request was answered with this HTTP status."""
        text = str(code)
        if text not in self._codes:
            # Two threads may both make it: a provider finds the same again.
            self._codes[text] = self._counter(text)
        self._codes[text].inc()

    def failed(self) -> None:
        """A handler had a bug."""
        self._panics.inc()

    def _counter(self, code: str) -> Counter:
        labels = {**self._labels, "code": code}
        return self._provider.counter(f"{self._name}requests_total", "Admission requests, by HTTP status", labels)


LARGEST_ADMISSION = 7 * 1024 * 1024
"""Bytes: two objects of 3 MiB, the largest that an API server takes, and what is around them (controller-runtime's)."""

Answer = Callable[[bytes, WebhookMetrics], bytes]
"""The review that answers a body; raises `BadReview`."""


def admission_route(path: str, handler: AdmissionHandler, *, clock: Clock = SYSTEM_CLOCK) -> Route:
    """Answers AdmissionReviews at `path`."""
    judge = judged(handler)

    def answer(body: bytes, metrics: WebhookMetrics) -> bytes:
        request = read_review(body)
        return _judgement(path, judge, request, metrics)

    return review_route(path, answer, largest=LARGEST_ADMISSION, clock=clock)


def review_route(path: str, answer: Answer, *, largest: int, clock: Clock = SYSTEM_CLOCK) -> Route:
    """Answers reviews of any kind at `path`, of `largest` bytes at most."""
    metrics = WebhookMetrics(path, clock=clock)

    def handle(request: ServingRequest) -> Response:
        with metrics.answering():
            response = _refusal(request, largest) or _answered(request, answer, metrics)
        metrics.answered(response.status)
        return response

    return Route(handle, methods=("POST",), access=Access.OPEN)


def _refusal(request: ServingRequest, largest: int) -> Response | None:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != JSON:
        given = media_type or "nothing"
        return Response(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"a review is {JSON}, and this is {given}\n")
    if len(request.body) > largest:
        return Response(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a review has {largest} bytes at most\n")
    if not request.body:
        return Response(HTTPStatus.BAD_REQUEST, "the request has no body\n")
    return None


def _answered(request: ServingRequest, answer: Answer, metrics: WebhookMetrics) -> Response:
    try:
        return Response(HTTPStatus.OK, answer(request.body, metrics), JSON)
    except BadReview as error:
        log.debug("a webhook was sent no review", extra={"path": request.path, "peer": request.peer, "err": error})
        return Response(HTTPStatus.BAD_REQUEST, f"{error}\n")


def _judgement(path: str, judge: AdmissionHandler, request: AdmissionRequest, metrics: WebhookMetrics) -> bytes:
    about = {"webhook": path, "uid": request.uid, "operation": request.operation, "kind": request.kind.kind}
    with context(**about, namespace=request.namespace or None, name=request.name or None):
        try:
            response = judge(request)
            if not response.allowed:
                log.debug("a request is denied", extra={"code": response.status.code, "why": response.status.message})
            return write_review(request.uid, response)
        except Exception as error:
            # Whatever it is, the user is to read a sentence, and the API server to get an answer.
            metrics.failed()
            log.exception("bug: a webhook could not judge a request, which is denied")
            why = f"the webhook failed: {type(error).__name__}: {error}"
            return write_review(request.uid, errored(HTTPStatus.INTERNAL_SERVER_ERROR, why))
