"""Conversion webhooks: apiextensions.k8s.io/v1 ConversionReview, for any number of kinds at one path.

The response contains all objects in their order, or none: if one cannot be converted, it names the object and the
reason.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import CallbackFailed
from clientgo.internal.callbacks import run_callback, text_of
from clientgo.log import context, get_logger
from clientgo.meta.codec import encode_value
from clientgo.meta.shallow_json import UNREADABLE
from clientgo.serving import Route
from clientgo.webhook.admission import BadReview, Review
from clientgo.webhook.field import Errors
from clientgo.webhook.handlers import raised_at
from clientgo.webhook.hub import ConversionError, Hub
from clientgo.webhook.routes import WebhookMetrics, review_route

log = get_logger(__name__)

API_VERSION, KIND = "apiextensions.k8s.io/v1", "ConversionReview"

PATH = "/convert"

Object = dict[str, Any]

Hubs = Mapping[tuple[str, str], Hub[Any]]
"""Hubs by group and kind."""


class _Request(msgspec.Struct, frozen=True):
    uid: str = ""
    desired: str | None = msgspec.field(default="", name="desiredAPIVersion")
    objects: list[Object] | None = None


class _ConversionReview(Review, frozen=True):
    request: _Request | None = None


_REVIEW = msgspec.json.Decoder(_ConversionReview)


def conversion_route(hubs: Hubs, *, largest: int, path: str = PATH, clock: Clock = SYSTEM_CLOCK) -> Route:
    """Return the route that handles ConversionReviews of at most `largest` bytes; `hubs` may grow."""

    def answer(body: bytes, metrics: WebhookMetrics) -> bytes:
        request = _read(body)
        try:
            converted = [_convert(hubs, obj, request, metrics) for obj in request.objects or ()]
        except ConversionError as error:
            # Failure is the only other status of metav1; an API server checks only for Success.
            return _write(request.uid, [], {"metadata": {}, "status": "Failure", "message": str(error)})
        return _write(request.uid, converted, {"metadata": {}, "status": "Success"})

    def late(body: bytes, message: str) -> bytes:
        return _write(_read(body).uid, [], {"metadata": {}, "status": "Failure", "message": message})

    return review_route(path, answer, late, largest=largest, clock=clock)


def _read(body: bytes) -> _Request:
    try:
        review = _REVIEW.decode(body)
    except UNREADABLE as error:
        raise BadReview(f"the body is not a {KIND}: {error}") from error
    review.check(API_VERSION, KIND)
    if review.request is None or not review.request.uid:
        raise BadReview(f"the {KIND} has no request with a uid")
    return review.request


def _convert(hubs: Hubs, obj: Object, request: _Request, metrics: WebhookMetrics) -> Object:
    """Convert one object to the desired version; raise `ConversionError` with its name."""
    kind, group = str(obj.get("kind", "")), str(obj.get("apiVersion", "")).rpartition("/")[0]
    metadata: Any = obj.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    name = "/".join(part for part in (named.get("namespace"), named.get("name")) if isinstance(part, str))
    described = f"{kind or 'an object without kind'} {name}".rstrip()
    with context(uid=request.uid, kind=kind, object=name):
        try:
            return run_callback(_converted, hubs.get((group, kind)), obj, request.desired or "")
        except CallbackFailed as failed:
            error = failed.__cause__
            if isinstance(error, ConversionError | Errors | ValueError):
                reason = f"invalid object: {text_of(error)}" if isinstance(error, ValueError) else text_of(error)
                log.warning("cannot convert object", extra={"err": reason, "at": raised_at(error)})
                raise ConversionError(f"{described}: {reason}") from error
            # A bug in a conversion function: the API server gets a response with the reason.
            metrics.panics.inc()
            log.exception("bug: cannot convert object")
            raise ConversionError(f"{described}: the conversion failed: {failed}") from error


def _converted(hub: Hub[Any] | None, obj: Object, desired: str) -> Object:
    if hub is None:
        raise ConversionError(f"unknown kind {obj.get('apiVersion')}, Kind={obj.get('kind', '')}")
    return hub.convert(obj, desired)


def _write(uid: str, objects: list[Object], result: Object) -> bytes:
    response = {"uid": uid, "convertedObjects": objects, "result": result}
    return encode_value({"kind": KIND, "apiVersion": API_VERSION, "response": response})
