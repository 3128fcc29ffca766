from typing import Any

import pytest

from clientgo_apiserver.api.webhookclients import client_errors

SERVICE = {"name": "hooks", "namespace": "default"}


@pytest.mark.parametrize(
    ("client", "errors"),
    [
        ({"url": "https://host/path"}, []),
        ({"service": {**SERVICE, "path": "/a/b/", "port": 8443}}, []),
        ({}, ["at: Required value: exactly one of url or service is required"]),
        ({"url": "https://host", "service": SERVICE}, ["at: Required value: exactly one of url or service"]),
        ({"url": "http://host"}, ["at.url: Invalid value: \"http\": 'https' is the only allowed URL scheme"]),
        ({"url": "https://"}, ['at.url: Invalid value: "": host must be specified']),
        ({"url": "https://u:p@host"}, ['at.url: Invalid value: "u:p": user information is not permitted']),
        ({"url": "https://host?a=b#c"},
         ['at.url: Invalid value: "c": fragments', 'at.url: Invalid value: "a=b": query']),
        ({"service": {**SERVICE, "port": 0}},
         ["at.service.port: Invalid value: 0: port is not valid: must be between"]),
        ({"service": {**SERVICE, "path": "ab"}}, ['at.service.path: Invalid value: "ab": must start with']),
        ({"service": {**SERVICE, "path": "/a//b"}}, ['at.service.path: Invalid value: "/a//b": segment[1] may not be']),
    ],
)  # fmt: skip
def test_address_of_a_webhook_is_validated(client: dict[str, Any], errors: list[str]) -> None:
    matches = [f"{cause.field}: {cause.message}" for cause in client_errors(client, "at")]
    assert len(matches) == len(errors)
    assert all(text.startswith(start) for text, start in zip(matches, errors, strict=True))
