"""Validation of the address of a webhook, a URL or a service in the cluster, and of the versions of its reviews."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from clientgo_apiserver.api.names import label_1035_errors, subdomain_errors
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import Cause, invalid_value, required

_FORM = "; desired format: https://host[/path]"
_SWAPPED = (("name", "namespace"), ("namespace", "name"))
_PORTS = range(1, 65536)
_REVIEWS = ("v1", "v1beta1")


def client_errors(client: Object, field_path: str) -> list[Cause]:
    """Return the errors of a webhook's clientConfig."""
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        return [required(field_path, "exactly one of url or service is required")]
    inner = f"{field_path}." if field_path else ""
    return _url_errors(url, f"{inner}url") if url is not None else _service_errors(service or {}, f"{inner}service")


def review_version_errors(versions: list[str], field_path: str) -> Iterator[Cause]:
    """Yield the errors of the versions of reviews that a webhook accepts, of which there are some."""
    for index, version in enumerate(versions):
        errors = ["duplicate version"] if version in versions[:index] else label_1035_errors(version)
        yield from (invalid_value(f"{field_path}[{index}]", version, reason) for reason in errors)
    if not {*_REVIEWS} & {*versions}:
        yield invalid_value(field_path, versions, f"must include at least one of {', '.join(_REVIEWS)}")


def _url_errors(url: str, field_path: str) -> list[Cause]:
    try:
        address = urlsplit(url)
    except ValueError as error:
        return [required(field_path, f"url must be a valid URL: {error}{_FORM}")]
    user, _, host = address.netloc.rpartition("@")
    checks = (
        (address.scheme, address.scheme == "https", f"'https' is the only allowed URL scheme{_FORM}"),
        (host, host != "", f"host must be specified{_FORM}"),
        (user, user == "", "user information is not permitted in the URL"),
        (address.fragment, address.fragment == "", "fragments are not permitted in the URL"),
        (address.query, address.query == "", "query parameters are not permitted in the URL"),
    )
    return [invalid_value(field_path, value, reason) for value, valid, reason in checks if not valid]


def _service_errors(service: Object, field_path: str) -> list[Cause]:
    # The real server names each of the two fields if the other one is missing.
    causes = [required(f"{field_path}.{member}") for member, field in _SWAPPED if not service.get(field)]
    port, path = service.get("port", 443), service.get("path") or "/"
    if port not in _PORTS:
        reason = "port is not valid: must be between 1 and 65535, inclusive"
        causes.append(invalid_value(f"{field_path}.port", port, reason))
    if path == "/":
        return causes
    whys = [] if path.startswith("/") else ["must start with a '/'"]
    for index, segment in enumerate([""] if path == "//" else path[1:].removesuffix("/").split("/")):
        errors = subdomain_errors(segment) if segment else []
        whys += (
            [f"segment[{index}]: {reason}" for reason in errors] if segment else [f"segment[{index}] may not be empty"]
        )
    return causes + [invalid_value(f"{field_path}.path", path, reason) for reason in whys]
