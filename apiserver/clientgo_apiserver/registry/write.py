"""A write as strategies, admission and the pipeline see it: its target, its options, and the request."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from clientgo.meta.apply.managedfields import FieldManager
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.api.status import ApiFailure, bad_request, invalid, invalid_value
from clientgo_apiserver.gotypes.scalars import DecodeError
from clientgo_apiserver.http.decode import YAML_TYPES, media_type
from clientgo_apiserver.http.gojson import UNMARSHAL_ERRORS, duplicate_fields, duplicate_yaml_keys
from clientgo_apiserver.http.messages import HTTPRequest
from clientgo_apiserver.http.protobuf import MEDIA_TYPE as PROTOBUF


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
    unknown: list[str] = field(default_factory=list)  # paths of fields the kind does not have
    duplicates: list[str] = field(default_factory=list)  # errors of fields that occur twice
    conversions: list[tuple[Object, str, Object]] = field(default_factory=list)  # by a webhook, of managed fields
    conforming: Object | None = None  # the custom object as decoded, if it certainly has no error by its schema

    def field_manager(self, operation: str = "Update") -> FieldManager:
        """Return the field manager of this write."""
        return FieldManager(self.manager, operation, self.resource.api_version, self.subresource)

    def report(self) -> None:
        """Ignore, warn of or reject duplicate and unknown fields, as fieldValidation says (400, 422)."""
        if not (self.duplicates or self.unknown):
            return
        unknown = sorted(self.unknown) if self.strategic else self.unknown
        unknown_errors = [f'unknown field "{path}"' for path in unknown]
        if self.validation == "Ignore":
            return
        if self.validation == "Warn":
            # Errors of YAML have a line for each field; a name with a line feed is left out with its warning.
            lines = [line.strip() for problem in self.duplicates for line in problem.split("\n")]
            self.request.warnings.extend(line for line in lines if line != UNMARSHAL_ERRORS)
            self.request.warnings.extend(unknown_errors)
            return
        raise self.undecodable("strict decoding error: " + ", ".join([*self.duplicates, *unknown_errors]))

    def undecodable(self, error: object) -> ApiFailure:
        """Return the error of an object that cannot be decoded, or of a patch that makes it so (400, 422)."""
        if self.patch is not None:
            if self.strategic and isinstance(error, DecodeError):
                error = error.unconvertible()
            return invalid("", "", "", [invalid_value("patch", self.patch(), str(error))])
        kind = self.resource.kind
        return bad_request(f'{kind} in version "{self.resource.version}" cannot be handled as a {kind}: {error}')

    def find_duplicates(self, body: bytes, value: Any) -> None:
        """Find the fields that occur twice in one object of the body, to report them; it was decoded to `value`."""
        media = media_type(self.request.headers.get("content-type", ""))
        if self.validation == "Ignore" or media == PROTOBUF:
            return
        if media in YAML_TYPES:
            self.duplicates = duplicate_yaml_keys(body)
        else:
            self.duplicates = [f'duplicate field "{path}"' for path in duplicate_fields(body, value)]
