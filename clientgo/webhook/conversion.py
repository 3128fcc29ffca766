"""Conversion webhooks: apiextensions.k8s.io/v1 ConversionReview, for any number of kinds at one path.

The answer has all objects, in their order, or none: where one can't be converted the API server is told which and why.
"""

import logging
from collections.abc import Mapping
from typing import Any

import msgspec

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.log import context
from clientgo.meta.codec import encode_value
from clientgo.serving import Route
from clientgo.webhook.admission import BadReview
from clientgo.webhook.answering import WebhookMetrics, review_route
from clientgo.webhook.field import Errors
from clientgo.webhook.handlers import raised_at
from clientgo.webhook.hub import ConversionError, Hub

log = logging.getLogger(__name__)

API_VERSION, KIND = "apiextensions.k8s.io/v1", "ConversionReview"

PATH = "/convert"

Object = dict[str, Any]

Hubs = Mapping[tuple[str, str], Hub[Any]]
"""The hub of each kind, by its group and kind."""


class _Request(msgspec.Struct, frozen=True):
    uid: str = ""
    desired: str | None = msgspec.field(default="", name="desiredAPIVersion")
    objects: list[Object] | None = None


class _Review(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    request: _Request | None = None


_REVIEW = msgspec.json.Decoder(_Review)
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def conversion_route(hubs: Hubs, *, largest: int, path: str = PATH, clock: Clock = SYSTEM_CLOCK) -> Route:
    """Answers ConversionReviews of at most `largest` bytes; `hubs` may grow meanwhile."""

    def answer(body: bytes, metrics: WebhookMetrics) -> bytes:
        request = _read(body)
        try:
            converted = [_convert(hubs, one, request, metrics) for one in request.objects or ()]
        except ConversionError as error:
            # metav1 has no other word for it than Failure; an API server only asks whether it is Success.
            return _write(request.uid, [], {"metadata": {}, "status": "Failure", "message": str(error)})
        return _write(request.uid, converted, {"metadata": {}, "status": "Success"})

    return review_route(path, answer, largest=largest, clock=clock)


def _read(body: bytes) -> _Request:
    try:
        review = _REVIEW.decode(body)
    except _UNREADABLE as error:
        raise BadReview(f"the body is no {KIND}: {error}") from error
    if (review.api_version, review.kind) != (API_VERSION, KIND):
        given = f"{review.api_version or 'nothing'}, Kind={review.kind or 'nothing'}"
        raise BadReview(f"this is a webhook for {API_VERSION}, Kind={KIND}; it was sent {given}")
    if review.request is None or not review.request.uid:
        raise BadReview(f"the {KIND} has no request with a uid")
    return review.request


def _convert(hubs: Hubs, obj: Object, request: _Request, metrics: WebhookMetrics) -> Object:
    """One object in the version that is desired; raises `ConversionError`, which names it."""
    kind, group = str(obj.get("kind", "")), str(obj.get("apiVersion", "")).rpartition("/")[0]
    metadata: Any = obj.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    name = "/".join(part for part in (named.get("namespace"), named.get("name")) if isinstance(part, str))
    where = f"{kind or 'an object without kind'} {name}".rstrip()
    with context(uid=request.uid, kind=kind, object=name):
        try:
            hub = hubs.get((group, kind))
            if hub is None:
                raise ConversionError(f"nothing is known here of {obj.get('apiVersion')}, Kind={kind}")
            return hub.convert(obj, request.desired or "")
        except (ConversionError, Errors, ValueError) as error:
            why = f"invalid object: {error}" if isinstance(error, ValueError) else str(error)
            log.warning("an object can't be converted", extra={"err": why, "at": raised_at(error)})
            raise ConversionError(f"{where}: {why}") from error
        except Exception as error:
            # A bug in one version's functions: the API server gets an answer, and whoever reads it the reason.
            metrics.failed()
            log.exception("bug: an object can't be converted")
            raise ConversionError(f"{where}: the conversion failed: {type(error).__name__}: {error}") from error


def _write(uid: str, objects: list[Object], result: Object) -> bytes:
    response = {"uid": uid, "convertedObjects": objects, "result": result}
    return encode_value({"kind": KIND, "apiVersion": API_VERSION, "response": response})
