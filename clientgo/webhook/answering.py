"""Between HTTP and webhooks: what is no review is refused in a sentence, and no bug of a handler ends a connection.

An API server takes a status other than 200 for a webhook that failed, and then asks its failurePolicy. So whatever has
a uid is answered with 200 and a review, also when its handler has a bug: the request is denied with code 500 in that
review, and the user reads why.
"""

import logging
from collections.abc import Callable
from http import HTTPStatus

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.log import context
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
from clientgo.webhook.webhookmetrics import WebhookMetrics

log = logging.getLogger(__name__)

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
