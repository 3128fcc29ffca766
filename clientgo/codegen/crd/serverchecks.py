"""Checks of definitions, patterns and defaults by the bundled API server.

Without the distribution `clientgo-apiserver` the generator checks none of them; an API server does.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from http import HTTPStatus
from typing import Any

import msgspec

from clientgo.clock import SYSTEM_CLOCK
from clientgo.meta.scheme import ApiType
from clientgo.servers import MemoryServer, NotInstalled, schema_checks, server_factory

Schema = dict[str, Any]

EACH = "[*]"
"""Path element for the items of a list and the values of a map."""

_TRIAL = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All&fieldValidation=Strict"
_RULE = re.compile(r'^Invalid value: \{"Rule":.*?\}: ', re.DOTALL)
"""Repetition of a whole rule, in the form of Go, before what is wrong with it."""

_STEP = re.compile(r"\.(?:properties\[([^]]++)\]?+|items|additionalProperties)(?=[.\[]|$)")


def pattern_errors(pattern: str) -> Iterator[str]:
    """Yield the error of a pattern that is not in RE2 syntax."""
    with suppress(NotInstalled):
        if error := schema_checks().pattern_error(pattern):
            yield f"invalid pattern {pattern!r}: {error}: write RE2 syntax, or a CEL rule (rules=)"


def default_errors(schema: Schema, default: Any) -> Iterator[str]:
    """Yield what the API server has against a default."""
    with suppress(NotInstalled):
        errors = schema_checks().default_errors(schema, default)
        yield from (f"invalid default {default!r}: {error}" for error in errors)


def schema_errors(api: ApiType, schema: Schema) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what an API server has against the schema of a version: the path in it, and the message."""
    with suppress(NotInstalled):
        body = msgspec.json.encode(_definition(api, schema))
        reply = _server().request("POST", _TRIAL, {"content-type": "application/json"}, body)
        if reply.status >= HTTPStatus.BAD_REQUEST:
            status = msgspec.json.decode(reply.body)
            for cause in (status.get("details") or {}).get("causes") or [{"field": "", "message": status["message"]}]:
                path = tuple(step[1] or EACH for step in _STEP.finditer(cause["field"]))
                keyword = cause["field"].rpartition(".")[2]
                yield path, f"{keyword}: {_RULE.sub('', cause['message'])}".removeprefix(": ")


def _definition(api: ApiType, schema: Schema) -> Schema:
    """Return a CRD of this version alone; what else it would contain is checked elsewhere."""
    names = {"kind": api.kind, "plural": api.plural}
    version = {"name": api.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    if api.status:
        version["subresources"] = {"status": {}}
    approval = {"api-approved.kubernetes.io": "unapproved, a trial"}  # groups of Kubernetes need one
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{api.plural}.{api.group}", "annotations": approval},
        "spec": {"group": api.group, "names": names, "scope": api.scope, "versions": [version]},
    }


@cache
def _server() -> MemoryServer:
    return server_factory().in_memory(SYSTEM_CLOCK)
