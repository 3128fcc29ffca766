"""Custom kinds in several versions: who turns an object of one into another.

With strategy None only `apiVersion` changes. With strategy Webhook the definition's webhook converts, whole lists at
once; what it made of an object is remembered, so that an object that did not change is converted once. Of metadata it
may change labels and annotations alone, as on a real server.
"""

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from clientgo.apiserver.admission.webhookcalls import CallFailed, endpoint_of, post
from clientgo.apiserver.http.status import ApiFailure
from clientgo.apiserver.suspension import Paused, Question
from clientgo.boundeddict import BoundedDict

Object = dict[str, Any]
Key = bytes

_API_VERSION = "apiextensions.k8s.io/v1"
_SECONDS = 30.0  # apiextensions-apiserver's limit
_REMEMBERED = 20_000
_encode = msgspec.json.Encoder().encode


class WebhookConverter:
    """Converts by the webhook of one definition; two with the same configuration are equal."""

    def __init__(self, kind: str, client: Mapping[str, Any], services: Mapping[str, str]) -> None:
        self._kind = kind
        self._client = dict(client)
        self._services = services
        self._made: BoundedDict[Key, Object] = BoundedDict(_REMEMBERED)
        self._failed: dict[Key, str] = {}

    def __repr__(self) -> str:
        return f"<WebhookConverter of {self._kind}, {len(self._made)} objects remembered>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WebhookConverter) and (self._kind, self._client) == (other._kind, other._client)

    def __hash__(self) -> int:
        return hash(self._kind)

    def convert(self, objects: Sequence[Object], api_version: str) -> list[Object]:
        """The objects in this version, in their order.

        Raises:
            Paused: the webhook has to be asked first.
            ApiFailure: 500, it could not be asked, or did not convert.
        """
        keys = [_key(obj, api_version) for obj in objects]
        failures = [self._failed.pop(key) for key in keys if key in self._failed]
        if failures:
            raise ApiFailure(500, "", failures[0])
        missing = [
            index
            for index, (key, obj) in enumerate(zip(keys, objects, strict=True))
            if key not in self._made and obj["apiVersion"] != api_version
        ]
        if missing:
            asked = [objects[index] for index in missing]
            keep = partial(self._keep, [keys[index] for index in missing])
            raise Paused([Question(partial(self._ask, asked, api_version), keep)])
        return [self._made.get(key, obj) for key, obj in zip(keys, objects, strict=True)]

    def _ask(self, objects: list[Object], api_version: str) -> list[Object] | str:
        """What the webhook makes of the objects, or why it makes nothing."""
        start = f"conversion webhook for {objects[0]['apiVersion']}, Kind={self._kind} failed: "
        uid = str(uuid.uuid4())
        request = {"uid": uid, "desiredAPIVersion": api_version, "objects": objects}
        body = {"kind": "ConversionReview", "apiVersion": _API_VERSION, "request": request}
        try:
            response = post(endpoint_of(self._client, self._services), body, _SECONDS).get("response")
            return _checked(objects, response, uid, api_version)
        except CallFailed as error:
            return f"{start}{error}"

    def _keep(self, keys: list[Key], outcome: list[Object] | str) -> None:
        if isinstance(outcome, str):
            self._failed.update(dict.fromkeys(keys, outcome))
            return
        # At least twice the objects of one request, which would otherwise never be complete.
        self._made.size = max(_REMEMBERED, 2 * len(keys))
        self._made.update(zip(keys, outcome, strict=True))


class StoredForm:
    """Leaves objects as they are stored, whatever version is asked for: for who converts them later."""

    def convert(self, objects: Sequence[Object], _: str) -> list[Object]:
        """The objects, untouched."""
        return list(objects)


def converter_of(definition: Object, services: Mapping[str, str]) -> WebhookConverter | None:
    """What converts a definition's objects; None where their apiVersion is all that differs."""
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
    result = response.get("result") or {}
    if result.get("status") != "Success":
        raise CallFailed(result.get("message") or "response.result.status was 'Failure', not 'Success'")
    converted = response.get("convertedObjects") or []
    if len(converted) != len(objects):
        raise CallFailed(f"webhook returned {len(converted)} objects, expected {len(objects)}")
    return [_restored(index, *pair, api_version) for index, pair in enumerate(zip(objects, converted, strict=True))]


def _restored(index: int, original: Object, converted: Any, api_version: str) -> Object:
    """The converted object with the original's metadata, but for labels and annotations."""
    where = f"invalid converted object at index {index}"
    if not isinstance(converted, dict) or not isinstance(converted.get("metadata"), dict):
        raise CallFailed(f"{where}: no object with metadata")
    for field, wanted in (("apiVersion", api_version), ("kind", original["kind"])):
        if converted.get(field) != wanted:
            raise CallFailed(f"{where}: invalid {field}: expected {wanted}, got {converted.get(field) or ''}")
    meta, given = original["metadata"], converted["metadata"]
    for field in ("name", "namespace", "uid"):
        if given.get(field, "") != meta.get(field, ""):
            raise CallFailed(f"{where}: metadata.{field} must not change")
    kept = {field: value for field, value in meta.items() if field not in ("labels", "annotations")}
    changed = {field: given[field] for field in ("labels", "annotations") if given.get(field)}
    return {**converted, "metadata": {**kept, **changed}}


def _key(obj: Object, api_version: str) -> Key:
    return hashlib.blake2b(_encode(obj), key=api_version.encode()[:64]).digest()
