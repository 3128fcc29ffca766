"""Rules of webhook configurations."""

from collections.abc import Iterator

from clientgo_apiserver.api.names import label_1035_errors, subdomain_errors
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import Cause, invalid_value, required
from clientgo_apiserver.api.webhookclients import client_errors
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule

_SEGMENTS = 3
_VERSIONS = ("v1", "v1beta1")


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
    versions = value or []
    if not versions:
        yield required("", "must specify one of v1, v1beta1")
        return
    for index, version in enumerate(versions):
        errors = ["duplicate version"] if version in versions[:index] else label_1035_errors(version)
        yield from (invalid_value(f"[{index}]", version, reason) for reason in errors)
    if not {*_VERSIONS} & {*versions}:
        yield invalid_value("", versions, "must include at least one of v1, v1beta1")
