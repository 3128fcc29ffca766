"""Validation of names, labels and keys, with Kubernetes' message for each error.

The rules are RFC 1123 and RFC 1035 as apimachinery's validation applies them.
"""

import re
import secrets
from collections.abc import Callable

Check = Callable[[str], list[str]]

_LABEL_1123 = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL_1123}(\.{_LABEL_1123})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_QUALIFIED})?"
_DATA_KEY = "[-._a-zA-Z0-9]+"
_MATCHES_QUALIFIED = (
    " consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g."
    f" 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_QUALIFIED}')"
)
_is_qualified = re.compile(_QUALIFIED).fullmatch

SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""Letters of random suffixes: no vowels, so that no words appear."""

_SUFFIX_LENGTH = 5
_MAX_GENERATED = 63


def generate(prefix: str) -> str:
    """Return a name of at most 63 characters from `prefix` and five random characters."""
    suffix = "".join(secrets.choice(SUFFIX_ALPHABET) for _ in range(_SUFFIX_LENGTH))
    return prefix[: _MAX_GENERATED - _SUFFIX_LENGTH] + suffix


def _too_long(limit: int) -> str:
    return f"must be no more than {limit} bytes"


def _check(limit: int, pattern: str, kind: str, rule: str, examples: str) -> Check:
    matches = re.compile(pattern).fullmatch
    why = f"{kind} must {rule} (e.g. {examples}, regex used for validation is '{pattern}')"

    def errors(value: str) -> list[str]:
        found = [] if len(value) <= limit else [_too_long(limit)]
        return found if matches(value) else [*found, why]

    return errors


_LOWER, _ANY = "consist of lower case alphanumeric characters", "consist of alphanumeric characters, '-', '_' or '.'"
_ENDS = "and must start and end with an alphanumeric character"
_LETTER = "start with an alphabetic character, and end with an alphanumeric character"
subdomain_errors = _check(
    253, _SUBDOMAIN, "a lowercase RFC 1123 subdomain", f"{_LOWER}, '-' or '.', {_ENDS}", "'example.com'"
)
"""Return the errors of a DNS subdomain: the rule for most objects' names."""
label_errors = _check(
    63, _LABEL_1123, "a lowercase RFC 1123 label", f"{_LOWER} or '-', {_ENDS}", "'my-name',  or '123-abc'"
)
"""Return the errors of a DNS label: the rule for namespaces."""
label_1035_errors = _check(
    63, _LABEL_1035, "a DNS-1035 label", f"{_LOWER} or '-', {_LETTER}", "'my-name',  or 'abc-123'"
)
"""Return the errors of an RFC 1035 label: the stricter rule for services."""
label_value_errors = _check(
    63, _VALUE, "a valid label", f"be an empty string or {_ANY}, {_ENDS}", "'MyValue',  or 'my_value',  or '12345'"
)
"""Return the errors of a label value."""
data_key_errors = _check(253, _DATA_KEY, "a valid config key", _ANY, "'key.name',  or 'KEY_NAME',  or 'key-name'")
"""Return the errors of a key of a ConfigMap or Secret."""


def path_segment_errors(value: str) -> list[str]:
    """Return the errors of a path segment: the rule for RBAC objects' names."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{illegal}'" for illegal in ("/", "%") if illegal in value]


def qualified_errors(value: str) -> list[str]:
    """Return the errors of the key of a label or annotation, `name` or `prefix/name`."""
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        optional = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return ["a qualified name must" + _MATCHES_QUALIFIED + optional]
    errors = []
    if slash and not prefix:
        errors.append("prefix part must be non-empty")
    elif slash:
        errors += [f"prefix part {error}" for error in subdomain_errors(prefix)]
    if not name:
        errors.append("name part must be non-empty")
    elif len(name) > 63:
        errors.append("name part " + _too_long(63))
    if not _is_qualified(name):
        errors.append("name part must" + _MATCHES_QUALIFIED)
    return errors
