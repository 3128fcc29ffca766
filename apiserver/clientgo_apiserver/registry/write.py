"""A write as strategies, admission and the pipeline see it: its target, its options, and the request."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.api.status import ApiFailure, bad_request, internal_error, invalid, invalid_value
from clientgo_apiserver.gotypes.scalars import DecodeError
from clientgo_apiserver.http.decode import YAML_TYPES, check_object, media_type, read_body, without_surrogates
from clientgo_apiserver.http.gojson import (
    UNMARSHAL_ERRORS,
    duplicate_fields,
    duplicate_yaml_keys,
    fields_of,
    merged_fields,
)
from clientgo_apiserver.http.messages import HTTPRequest
from clientgo_apiserver.http.protobuf import MEDIA_TYPE as PROTOBUF
from clientgo_apiserver.merging.managedfields import FieldManager


@dataclass(slots=True)
class Write:
    """One write: its target and options, and the request, which collects warnings."""

    resource: Resource
    namespace: str
    name: str
    subresource: str
    manager: str
    dry_run: bool
    validation: str
    request: HTTPRequest
    now: str  # the time of the write
    patch: Callable[[], str] | None = None  # the patch's text, for messages
    strategic: bool = False  # the patch is a strategic merge
    mutated: bool = False  # admission has made the object
    applied: str = ""  # identity of an applied configuration of a built-in kind, for messages
    unknown: list[str] = field(default_factory=list)  # paths of fields the kind does not have
    duplicates: list[str] = field(default_factory=list)  # errors of fields that occur twice
    conversions: list[tuple[Object, str, Object]] = field(default_factory=list)  # by a webhook, of managed fields
    conforming: Object | None = None  # the custom object as decoded, if it certainly has no error by its schema

    @property
    def unstructured(self) -> bool:
        """Return whether a strategic merge or an apply made the object, which Go converts without JSON."""
        return self.strategic or bool(self.applied)

    def field_manager(self, operation: str = "Update") -> FieldManager:
        """Return the field manager of this write."""
        return FieldManager(self.manager, operation, self.resource.api_version, self.subresource)

    def report(self) -> None:
        """Ignore, warn of or reject duplicate and unknown fields, as fieldValidation says (400, 422)."""
        if not (self.duplicates or self.unknown):
            return
        unknown = sorted(self.unknown) if self.strategic else self.unknown
        errors = [*self.duplicates, *(f'unknown field "{path}"' for path in unknown)]
        if self.validation == "Ignore":
            return
        if unknown and self._is_typed_json():
            fields = fields_of(self.request.body)
            words = ((path, "duplicate" if is_duplicate else "unknown") for path, is_duplicate in fields)
            errors = [f'{word} field "{path}"' for path, word in words if word == "duplicate" or path in unknown]
        if self.validation == "Warn":
            for error in errors:  # of YAML has a line for each field
                start, *lines = error.split("\n")
                self.request.warnings += map(str.strip, lines) if start == UNMARSHAL_ERRORS else [error]
            return
        raise self.undecodable("strict decoding error: " + ", ".join(errors))

    def _is_typed_json(self) -> bool:
        """Return whether one decoder finds unknown and duplicate fields, and has them in the order of the body."""
        media = media_type(self.request.headers.get("content-type", ""))
        return self.patch is None and not self.resource.custom and media not in YAML_TYPES

    def undecodable(self, error: object) -> ApiFailure:
        """Return the error of an object that cannot be decoded, or of a patch that makes it so (400, 422, 500)."""
        if self.mutated:
            return internal_error(str(error))
        if self.unstructured and isinstance(error, DecodeError):
            error = error.unconvertible()
        if self.applied:
            reason = f"unable to convert unstructured object to {self.applied.partition('; ')[2]}: {error}"
            return ApiFailure(500, "", f"failed to convert new object ({self.applied}) to proper version: {reason}")
        if self.patch is not None:
            return invalid("", "", "", [invalid_value("patch", self.patch(), str(error))])
        kind = self.resource.kind
        return bad_request(f'{kind} in version "{self.resource.version}" cannot be handled as a {kind}: {error}')

    def read(self) -> Object:
        """Return the object of the request, with fields that occur twice found to be reported (400, 415, 422)."""
        return check_object(self.parse(), self.resource, self.request.body)

    def parse(self) -> Any:
        """Return the parsed body of the request, with fields that occur twice found to be reported (400, 415, 422)."""
        request, resource = self.request, self.resource
        if request.value is not None:
            return request.value
        content_type = request.headers.get("content-type", "")
        value = read_body(request.body, content_type, resource.kind, resource.api_version)
        self.find_duplicates(request.body, value)
        if self.duplicates and not resource.custom and media_type(content_type) not in YAML_TYPES:
            value = merged_fields(without_surrogates(request.body))
        return value

    def find_duplicates(self, body: bytes, value: Any) -> None:
        """Find the fields that occur twice in one object of the body, to report them; it was decoded to `value`."""
        media = media_type(self.request.headers.get("content-type", ""))
        if media in YAML_TYPES:
            self.duplicates = duplicate_yaml_keys(body)
        elif media != PROTOBUF:
            self.duplicates = [f'duplicate field "{path}"' for path in duplicate_fields(body, value)]
