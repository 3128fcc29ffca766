"""Conversion of custom objects between versions.

With strategy None only `apiVersion` changes. With strategy Webhook the definition's webhook converts whole lists at
once; results are cached, so an unchanged object is converted once. As on a real server, of the metadata it may change
only labels and annotations.
"""

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from clientgo.apiserver.admission.webhookcalls import CallFailed, endpoint_of, post
from clientgo.apiserver.http.status import ApiFailure
from clientgo.apiserver.registry.registry import Object
from clientgo.apiserver.state import WebhookEndpoint
from clientgo.apiserver.suspension import ExternalCall, Paused
from clientgo.boundeddict import BoundedDict

Key = bytes

_API_VERSION = "apiextensions.k8s.io/v1"
_SECONDS = 30.0  # apiextensions-apiserver's limit
_CACHE_SIZE = 20_000
_CHANGEABLE = ("labels", "annotations")
_encode = msgspec.json.Encoder().encode


class WebhookConverter:
    """Conversion by the webhook of one definition; converters with the same configuration are equal."""

    def __init__(self, kind: str, client: Mapping[str, Any], services: Mapping[str, WebhookEndpoint]) -> None:
        self._kind = kind
        self._client = dict(client)
        self._services = services
        self._converted: BoundedDict[Key, Object] = BoundedDict(_CACHE_SIZE)
        self._failed: dict[Key, str] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WebhookConverter) and (self._kind, self._client) == (other._kind, other._client)

    def __hash__(self) -> int:
        return hash(self._kind)

    def convert(self, objects: Sequence[Object], api_version: str) -> list[Object]:
        """Return the objects in this version, in the same order.

        Raises:
            Paused: the webhook has to be asked first.
            ApiFailure: 500, it could not be asked, or did not convert.
        """
        keys = [_key(obj, api_version) for obj in objects]
        failures = [self._failed.pop(key) for key in keys if key in self._failed]
        if failures:
            raise ApiFailure(500, "", failures[0])
        pairs = zip(keys, objects, strict=True)
        missing = [one for one in pairs if one[0] not in self._converted and one[1]["apiVersion"] != api_version]
        if missing:
            asked = [obj for _, obj in missing]
            keep = partial(self._store, [key for key, _ in missing])
            raise Paused([ExternalCall(partial(self._call_webhook, asked, api_version), keep)])
        return [self._converted.get(key, obj) for key, obj in zip(keys, objects, strict=True)]

    def _call_webhook(self, objects: list[Object], api_version: str) -> list[Object] | str:
        """Return the converted objects, or the error message."""
        start = f"conversion webhook for {objects[0]['apiVersion']}, Kind={self._kind} failed: "
        uid = str(uuid.uuid4())
        request = {"uid": uid, "desiredAPIVersion": api_version, "objects": objects}
        body = {"kind": "ConversionReview", "apiVersion": _API_VERSION, "request": request}
        try:
            response = post(endpoint_of(self._client, self._services, seconds=_SECONDS), body, _SECONDS).get("response")
            return _checked(objects, response, uid, api_version)
        except CallFailed as error:
            return f"{start}{error}"

    def _store(self, keys: list[Key], outcome: list[Object] | str) -> None:
        if isinstance(outcome, str):
            self._failed.update(dict.fromkeys(keys, outcome))
            return
        # At least twice the size of one request, which would otherwise repeat its call forever.
        self._converted.size = max(_CACHE_SIZE, 2 * len(keys))
        self._converted.update(zip(keys, outcome, strict=True))


class StoredForm:
    """Converter that leaves objects in their stored version, for a later conversion."""

    def convert(self, objects: Sequence[Object], _: str) -> list[Object]:
        """Return the objects unchanged."""
        return list(objects)


def converter_of(definition: Object, services: Mapping[str, WebhookEndpoint]) -> WebhookConverter | None:
    """Return the converter of a definition; None if only apiVersion differs."""
    spec = definition["spec"]
    conversion = spec.get("conversion") or {}
    if conversion.get("strategy") != "Webhook":
        return None
    client = (conversion.get("webhook") or {}).get("clientConfig") or {}
    return WebhookConverter(spec["names"]["kind"], client, services)


def _checked(objects: list[Object], response: Any, uid: str, api_version: str) -> list[Object]:
    if not isinstance(response, dict):
        raise CallFailed("no response provided")
    if response.get("uid") != uid:
        raise CallFailed(f'expected response.uid="{uid}", got "{response.get("uid") or ""}"')
    result, converted = response.get("result") or {}, response.get("convertedObjects") or []
    if result.get("status") != "Success":
        raise CallFailed(result.get("message") or "response.result.status was 'Failure', not 'Success'")
    if len(converted) != len(objects):
        raise CallFailed(f"webhook returned {len(converted)} objects, expected {len(objects)}")
    restored = []
    for index, (original, given) in enumerate(zip(objects, converted, strict=True)):
        why = _change(original, given, api_version)
        if why:
            raise CallFailed(f"invalid converted object at index {index}: {why}")
        # Of the metadata, only labels and annotations may change.
        meta = {field: value for field, value in original["metadata"].items() if field not in _CHANGEABLE}
        meta |= {field: given["metadata"][field] for field in _CHANGEABLE if given["metadata"].get(field)}
        restored.append({**given, "metadata": meta})
    return restored


def _change(original: Object, given: Any, api_version: str) -> str:
    if not isinstance(given, dict) or not isinstance(given.get("metadata"), dict):
        return "no object with metadata"
    for field, wanted in (("apiVersion", api_version), ("kind", original["kind"])):
        if given.get(field) != wanted:
            return f"invalid {field}: expected {wanted}, got {given.get(field) or ''}"
    fields = ("name", "namespace", "uid")
    changed = [one for one in fields if given["metadata"].get(one, "") != original["metadata"].get(one, "")]
    return f"metadata.{changed[0]} must not change" if changed else ""


def _key(obj: Object, api_version: str) -> Key:
    return hashlib.blake2b(_encode(obj), key=api_version.encode()[:64]).digest()
