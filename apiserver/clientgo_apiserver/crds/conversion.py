"""Conversion of custom objects between versions.

With strategy None only `apiVersion` changes. With strategy Webhook the definition's webhook converts whole lists at
once. No result is kept: the next request shows what the webhook does by then. As on a real server, of the metadata it
may change only labels and annotations.
"""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from clientgo_apiserver.api.limits import CONVERSION_SECONDS
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.http.webhookclient import CallFailed, ReviewStatus, WebhookClient, WebhookEndpoint, endpoint_of

_API_VERSION = "apiextensions.k8s.io/v1"
_CHANGEABLE = ("labels", "annotations")


class _ConversionResponse(msgspec.Struct, rename="camel"):
    """Response of a conversion webhook."""

    uid: str | None = None
    converted_objects: list[Any] | None = None
    result: ReviewStatus | None = None


class _ConversionReview(msgspec.Struct):
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
        try:
            endpoint = endpoint_of(self._config, self._services, seconds=CONVERSION_SECONDS)
            review_response = await self._client.post(endpoint, review, CONVERSION_SECONDS, _ConversionReview)
            return _checked(objects, review_response.response, uid, api_version)
        except CallFailed as error:
            start = f"conversion webhook for {objects[0]['apiVersion']}, Kind={self._kind} failed: "
            raise ApiFailure(500, "", f"{start}{error}") from error


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


def _checked(objects: list[Object], response: _ConversionResponse | None, uid: str, api_version: str) -> list[Object]:
    if response is None:
        raise CallFailed("no response provided")
    if response.uid != uid:
        raise CallFailed(f'expected response.uid="{uid}", got "{response.uid or ""}"')
    result, converted = response.result or ReviewStatus(), response.converted_objects or []
    if result.status != "Success":
        raise CallFailed(result.message or "response.result.status was 'Failure', not 'Success'")
    if len(converted) != len(objects):
        raise CallFailed(f"webhook returned {len(converted)} objects, expected {len(objects)}")
    restored = []
    for index, (original, returned) in enumerate(zip(objects, converted, strict=True)):
        reason = _change(original, returned, api_version)
        if reason:
            raise CallFailed(f"invalid converted object at index {index}: {reason}")
        # Of the metadata, only labels and annotations may change.
        meta = {field: value for field, value in original["metadata"].items() if field not in _CHANGEABLE}
        meta |= {field: returned["metadata"][field] for field in _CHANGEABLE if returned["metadata"].get(field)}
        restored.append({**returned, "metadata": meta})
    return restored


def _change(original: Object, returned: Any, api_version: str) -> str:
    if not isinstance(returned, dict) or not isinstance(returned.get("metadata"), dict):
        return "no object with metadata"
    for field, expected in (("apiVersion", api_version), ("kind", original["kind"])):
        if returned.get(field) != expected:
            return f"invalid {field}: expected {expected}, got {returned.get(field) or ''}"
    for field in _CHANGEABLE:
        value = returned["metadata"].get(field) or {}
        if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
            return f"metadata.{field} must be a map of strings"
    fields = ("name", "namespace", "uid")
    changed = [name for name in fields if returned["metadata"].get(name, "") != original["metadata"].get(name, "")]
    return f"metadata.{changed[0]} must not change" if changed else ""
