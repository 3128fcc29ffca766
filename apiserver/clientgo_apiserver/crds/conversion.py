"""Conversion of custom objects between versions.

With strategy None only `apiVersion` changes. With strategy Webhook the definition's webhook converts whole lists at
once. No result is kept: the next request shows what the webhook does by then. As on a real server, of the metadata it
may change only labels and annotations.
"""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from clientgo_apiserver.api.gotext import go_type, json_type
from clientgo_apiserver.api.limits import CONVERSION_SECONDS
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import ApiFailure, joined
from clientgo_apiserver.gotypes.metadata import field_errors
from clientgo_apiserver.http.webhookclient import (
    CallFailed,
    ReviewStatus,
    WebhookClient,
    WebhookEndpoint,
    WebhookReview,
    endpoint_of,
)

_API_VERSION = "apiextensions.k8s.io/v1"
_CHANGEABLE = ("labels", "annotations")


class _ConversionResponse(msgspec.Struct, rename="camel"):
    """Response of a conversion webhook."""

    uid: str | None = None
    converted_objects: list[Any] | None = None
    result: ReviewStatus | None = None


class _ConversionReview(WebhookReview):
    """A webhook's ConversionReview."""

    response: _ConversionResponse | None = None


class WebhookConverter:
    """Conversion by the webhook of one definition; converters with the same configuration are equal."""

    def __init__(
        self, kind: str, config: Mapping[str, Any], services: Mapping[str, WebhookEndpoint], client: WebhookClient
    ) -> None:
        self._kind = kind
        self._config = dict(config)
        self._services = services
        self._client = client

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WebhookConverter) and (self._kind, self._config) == (other._kind, other._config)

    def __hash__(self) -> int:
        return hash(self._kind)

    async def convert(self, objects: Sequence[Object], api_version: str) -> list[Object]:
        """Return the objects in this version, in the same order (500)."""
        in_other_versions = [obj for obj in objects if obj["apiVersion"] != api_version]
        converted = iter(await self._call_webhook(in_other_versions, api_version) if in_other_versions else ())
        return [obj if obj["apiVersion"] == api_version else next(converted) for obj in objects]

    async def _call_webhook(self, objects: list[Object], api_version: str) -> list[Object]:
        uid = str(uuid.uuid4())
        request = {"uid": uid, "desiredAPIVersion": api_version, "objects": objects}
        review = {"kind": "ConversionReview", "apiVersion": _API_VERSION, "request": request}
        webhook = f"conversion webhook for {objects[0]['apiVersion']}, Kind={self._kind}"
        try:
            endpoint = endpoint_of(self._config, self._services, seconds=CONVERSION_SECONDS)
            converted = _objects_of(
                await self._client.post(endpoint, review, CONVERSION_SECONDS, _ConversionReview), uid
            )
        except CallFailed as error:
            raise ApiFailure(500, "", f"{webhook} failed: {error}") from error
        if len(converted) != len(objects):
            raise ApiFailure(500, "", f"{webhook} returned {len(converted)} objects, expected {len(objects)}")
        pairs = zip(objects, converted, strict=True)
        return [_restored(webhook, original, returned, api_version) for original, returned in pairs]


def converter_of(
    definition: Object, services: Mapping[str, WebhookEndpoint], client: WebhookClient
) -> WebhookConverter | None:
    """Return the converter of a definition; None if only apiVersion differs."""
    spec = definition["spec"]
    conversion = spec.get("conversion") or {}
    if conversion.get("strategy") != "Webhook":
        return None
    config = (conversion.get("webhook") or {}).get("clientConfig") or {}
    return WebhookConverter(spec["names"]["kind"], config, services, client)


def _objects_of(review: _ConversionReview, uid: str) -> list[Any]:
    """Return the converted objects of a response; raise `CallFailed`. As kube-apiserver's webhookConverter."""
    response = review.response
    if review.kind is None:
        raise CallFailed(f"expected webhook response of {_API_VERSION}, Kind=ConversionReview, got /, Kind=")
    if response is None:
        raise CallFailed("no response provided")
    if response.uid != uid:
        raise CallFailed(f'expected response.uid="{uid}", got "{response.uid or ""}"')
    result = response.result or ReviewStatus()
    if result.status != "Success":
        raise CallFailed(result.message or f"response.result.status was '{result.status or ''}', not 'Success'")
    return response.converted_objects or []


def _restored(webhook: str, original: Object, returned: Any, api_version: str) -> Object:
    """Return a converted object whose metadata is the original's, except for labels and annotations (500)."""
    _check_decodable(returned)
    for name, expected, received in (
        ("groupVersion", api_version, returned.get("apiVersion") or ""),
        ("kind", original["kind"], returned["kind"]),
    ):
        if received != expected:
            reason = f"invalid {name} (expected {expected}, received {received})"
            raise ApiFailure(500, "", f"{webhook} returned invalid object at index 0: {reason}")
    meta = returned["metadata"] if isinstance(returned.get("metadata"), dict) else {}
    for field, name in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        expected, received = (each.get(field) or "" for each in (original["metadata"], meta))
        if received != expected:
            reason = f"must have the same {name}: {expected} != {received if isinstance(received, str) else ''}"
            raise ApiFailure(500, "", f"{webhook} returned invalid object: {reason}")
    if reason := next(filter(None, (_field_error(field, original["metadata"], meta) for field in _CHANGEABLE)), ""):
        raise ApiFailure(500, "", f"{webhook} returned invalid metadata: {reason}")
    restored = {field: value for field, value in original["metadata"].items() if field not in _CHANGEABLE}
    restored |= {field: meta[field] for field in _CHANGEABLE if meta.get(field)}
    return {**returned, "metadata": restored}


def _check_decodable(returned: Any) -> None:
    """Check that a converted object is a map with a kind (500)."""
    if returned is None:
        raise ApiFailure(500, "", "unexpected end of JSON input")
    if not isinstance(returned, dict):
        kind = json_type(returned)
        raise ApiFailure(500, "", f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}")
    if not returned.get("kind"):
        raise ApiFailure(500, "", f"Object 'Kind' is missing in '{msgspec.json.encode(returned).decode()}'")


def _field_error(field: str, original: Object, meta: Object) -> str:
    """Return the error in the labels or annotations of a converted object, or ""."""
    texts = meta.get(field)
    if texts is None:
        return ""
    if not isinstance(texts, dict):
        return f"invalid metadata.{field} of type {go_type(texts)} in converted object"
    for key, value in texts.items():
        if not isinstance(value, str):
            kind = "<nil>" if value is None else go_type(value)
            return f"metadata.{field}[{key}] must be a string, but is {kind} in converted object"
    if texts == (original.get(field) or {}):
        return ""
    errors = [cause.text for cause in field_errors({field: texts})]
    return joined(errors).replace("metadata.annotations", "metadata.annotation") if errors else ""
