"""Rules of webhook configurations."""

from collections.abc import Iterator

from clientgo_apiserver.api.names import subdomain_errors
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import Cause, invalid_value, required
from clientgo_apiserver.api.webhookclients import client_errors, review_version_errors
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule

_SEGMENTS = 3


@rule(absent=True)
def webhook_name(value: str | None, _: FieldScope) -> Iterator[Cause]:
    """Require a domain of three segments."""
    name = value or ""
    errors = subdomain_errors(name) if name else []
    if not name:
        yield required("")
    elif not errors and len(name.split(".")) < _SEGMENTS:
        errors = ["should be a domain with at least three segments separated by dots"]
    yield from (invalid_value("", name, reason) for reason in errors)


@rule(absent=True)
def webhook_client(value: Object | None, _: FieldScope) -> list[Cause]:
    """Check the address of a webhook."""
    return client_errors(value or {}, "")


@rule(absent=True)
def review_versions(value: list[str] | None, _: FieldScope) -> Iterator[Cause]:
    """Require a version of AdmissionReview that the server sends."""
    if value:
        yield from review_version_errors(value, "")
    else:
        yield required("", "must specify one of v1, v1beta1")
