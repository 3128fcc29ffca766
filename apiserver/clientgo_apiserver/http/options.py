"""Options of requests in their query: parsing and validation, before the object is read."""

import re

from clientgo.internal.gotext import duration_seconds
from clientgo.internal.patterns import lazy_pattern
from clientgo_apiserver.api.formats import is_go_duration
from clientgo_apiserver.api.gotext import parse_int, parse_uint
from clientgo_apiserver.api.limits import MAX_MANAGER_BYTES, REQUEST_SECONDS
from clientgo_apiserver.api.status import (
    ApiFailure,
    Cause,
    bad_request,
    forbidden_field,
    invalid,
    invalid_value,
    not_supported,
    required,
    too_long,
)
from clientgo_apiserver.http.messages import Query

_MATCH, _INITIAL = "resourceVersionMatch", "sendInitialEvents"
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_NUMBER, _UNITS = r"(?:\d+(?:\.\d*)?|\.\d+)", "(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h)"
_UNIT = lazy_pattern(rf"[-+]?(?:{_NUMBER}{_UNITS}(?=[\d.]))*{_NUMBER}([^\d.]*)", re.ASCII)


def read_timeout(query: Query) -> float:
    """Return the seconds that the client of a request waits, which is not a watch (400)."""
    text = query.get("timeout")
    if not text:
        return REQUEST_SECONDS
    if is_go_duration(text):
        seconds = duration_seconds(text)
        return min(seconds, REQUEST_SECONDS) if seconds > 0 else REQUEST_SECONDS
    unit = _UNIT.match(text)
    reason = "invalid duration"
    if unit is not None:
        reason = f'unknown unit "{unit[1]}" in duration' if unit[1] else "missing unit in duration"
    raise bad_request(f'invalid timeout specified in the request URL - time: {reason} "{text}"')


def read_list_numbers(query: Query) -> None:
    """Check that the numbers among the options of a list, watch or deletecollection are some (400)."""
    for name in ("timeoutSeconds", "limit"):
        read_number(query, name)


def check_list_options(query: Query, *, watch: bool) -> None:
    """Check the options of a list, watch or deletecollection (422)."""
    if not query.get(_MATCH) and _INITIAL not in query and not (watch and query.get("continue")):
        return
    causes = [cause for wrong, cause in (_watch_rules(query) if watch else _list_rules(query)) if wrong]
    if causes:
        raise invalid("ListOptions", "meta.k8s.io", "", causes)


def _list_rules(query: Query) -> list[tuple[object, Cause]]:
    match, version = query.get(_MATCH), query.get("resourceVersion")
    choices = ("Exact", "NotOlderThan", "")
    exact = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
    return [
        (match and not version, _forbidden("unless resourceVersion is provided")),
        (match and query.get("continue"), _forbidden("when continue is provided")),
        (match and match not in choices, not_supported(_MATCH, match, choices)),
        (match == "Exact" and version == "0", forbidden_field(_MATCH, exact)),
        (_INITIAL in query, forbidden_field(_INITIAL, "sendInitialEvents is forbidden for list")),
    ]


def _watch_rules(query: Query) -> list[tuple[object, Cause]]:
    match, has_initial, choice = query.get(_MATCH), _INITIAL in query, "NotOlderThan"
    if not match and not has_initial and query.get("resourceVersion", "") in ("", "0"):
        match, has_initial = choice, True  # the defaults of a watch from the beginning
    initial = forbidden_field(_MATCH, f"sendInitialEvents requires setting resourceVersionMatch to {choice}")
    return [
        (has_initial and match != choice, initial),
        (match and not has_initial, _forbidden("for watch unless sendInitialEvents is provided")),
        (match and match != choice, not_supported(_MATCH, match or "", (choice,))),
        (match and query.get("continue"), _forbidden("when continue is provided")),
    ]


def _forbidden(when: str) -> Cause:
    return forbidden_field(_MATCH, f"resourceVersionMatch is forbidden {when}")


def check_write_options(query: Query, kind: str, patch_type: str = "") -> None:
    """Check the options of a create, update or patch, `kind` is their kind (422)."""
    causes = []
    manager, validation = query.get("fieldManager", ""), query.get("fieldValidation", "")
    if patch_type.startswith("application/apply-patch"):
        if not manager:
            causes.append(required("fieldManager", "is required for apply patch"))
    elif patch_type and "force" in query:
        causes.append(forbidden_field("force", "may not be specified for non-apply patch"))
    if len(manager.encode()) > MAX_MANAGER_BYTES:
        causes.append(too_long("fieldManager", MAX_MANAGER_BYTES))
    for at, char in enumerate(() if manager.isprintable() else manager):
        if not char.isprintable():
            reason = f"invalid character U+{ord(char):04X} (at position {len(manager[:at].encode())})"
            causes.append(invalid_value("fieldManager", manager, reason))
    causes += dry_run_causes(query.values_of("dryRun"))
    if validation not in _VALIDATIONS:
        causes.append(not_supported("fieldValidation", validation, _VALIDATIONS))
    if causes:
        raise invalid(kind, "meta.k8s.io", "", causes)


def dry_run_causes(values: list[str]) -> list[Cause]:
    """Return the errors of the option dryRun."""
    return [] if set(values) <= {"All"} else [not_supported("dryRun", values, ("All",))]


def read_number(query: Query, name: str) -> int:
    """Parse a numeric parameter; an absent one is 0 (400)."""
    text = query.get(name)
    if text is None:
        return 0
    try:
        return parse_int(text)
    except ValueError as error:
        raise bad_request(str(error)) from error


def read_version(text: str, *, code: int = 400, prefix: str = "") -> int:
    """Parse the resourceVersion of a query, "" is 0; `code` and `prefix` are those of the error (400)."""
    if not text:
        return 0
    try:
        return parse_uint(text)
    except ValueError as error:
        message = f'{prefix}resourceVersion: Invalid value: "{text}": {error}'
        raise bad_request(message) if code == 400 else ApiFailure(code, "", message) from error
