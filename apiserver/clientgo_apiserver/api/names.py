"""Validation of names, labels and keys, with Kubernetes' message for each error.

The rules are RFC 1123 and RFC 1035 as apimachinery's validation applies them.
"""

import ipaddress
import os
import re
import secrets
from collections.abc import Callable, Mapping

from clientgo.internal.hosts import parse_ip
from clientgo.internal.patterns import lazy_pattern

Check = Callable[[str], list[str]]

_LABEL_1123 = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL_1123}(\.{_LABEL_1123})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_QUALIFIED})?"
_DATA_KEY = "[-._a-zA-Z0-9]+"
_UNDERSCORED_LABEL = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORED = rf"{_UNDERSCORED_LABEL}(\.{_UNDERSCORED_LABEL})*"
_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_SYSCTL_PART = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"({_SYSCTL_PART}[\./])*{_SYSCTL_PART}"
_MATCHES_QUALIFIED = (
    " consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g."
    f" 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_QUALIFIED}')"
)
_QUALIFIED_PATTERN = lazy_pattern(_QUALIFIED)
_SUBDOMAIN_PATTERN = lazy_pattern(_SUBDOMAIN)

SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""Letters of random suffixes: no vowels, so that no words appear."""

NO_IP_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_SUFFIX_LENGTH = 5
_VARIANTS = {digit: "89ab"[number % 4] for number, digit in enumerate("0123456789abcdef")}
_MAX_GENERATED = 63


def new_uid() -> str:
    """Return a random UUID of version 4, in a third of the time of the module `uuid`.

    Not by `random_uuid`: a test that seeds `random` repeatedly would have the uids of its earlier objects again.
    """
    digits = os.urandom(16).hex()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{_VARIANTS[digits[16]]}{digits[17:20]}-{digits[20:]}"


def generate(prefix: str) -> str:
    """Return a name of at most 63 characters from `prefix` and five random characters."""
    suffix = "".join(secrets.choice(SUFFIX_ALPHABET) for _ in range(_SUFFIX_LENGTH))
    return prefix[: _MAX_GENERATED - _SUFFIX_LENGTH] + suffix


def _too_long(limit: int, unit: str = "bytes") -> str:
    return f"must be no more than {limit} {unit}"


def _check(limit: int, pattern: str, rule: str, examples: str, unit: str = "characters") -> Check:
    compiled = lazy_pattern(pattern)
    reason = f"{rule} (e.g. {examples}, regex used for validation is '{pattern}')"

    def errors(value: str) -> list[str]:
        causes = [] if len(value) <= limit else [_too_long(limit, unit)]
        return causes if compiled.fullmatch(value) else [*causes, reason]

    return errors


_LOWER, _ANY = "consist of lower case alphanumeric characters", "consist of alphanumeric characters, '-', '_' or '.'"
_ENDS = "and must start and end with an alphanumeric character"
_LETTER = "start with an alphabetic character, and end with an alphanumeric character"
_REASON_RULE = (
    "start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end"
    " with an alphanumeric character or '_'"
)
subdomain_errors = _check(
    253, _SUBDOMAIN, f"a lowercase RFC 1123 subdomain must {_LOWER}, '-' or '.', {_ENDS}", "'example.com'"
)
"""Return the errors of a DNS subdomain: the rule for most objects' names."""
_label_errors = _check(
    63, _LABEL_1123, f"a lowercase RFC 1123 label must {_LOWER} or '-', {_ENDS}", "'my-name',  or '123-abc'"
)
label_1035_errors = _check(
    63, _LABEL_1035, f"a DNS-1035 label must {_LOWER} or '-', {_LETTER}", "'my-name',  or 'abc-123'"
)
"""Return the errors of an RFC 1035 label: the stricter rule for services."""
label_value_errors = _check(
    63, _VALUE, f"a valid label must be an empty string or {_ANY}, {_ENDS}", "'MyValue',  or 'my_value',  or '12345'",
    "bytes",
)  # fmt: skip
"""Return the errors of a label value."""
_data_key_errors = _check(
    253, _DATA_KEY, f"a valid config key must {_ANY}", "'key.name',  or 'KEY_NAME',  or 'key-name'"
)
search_domain_errors = _check(
    253, _UNDERSCORED, f"a lowercase RFC 1123 subdomain must {_LOWER}, '_', '-' or '.', {_ENDS}", "'example.com'"
)
"""Return the errors of a DNS subdomain that may contain underscores: the rule for DNS search paths."""
header_name_errors = _check(
    1024, "[-A-Za-z0-9]+", "a valid HTTP header must consist of alphanumeric characters or '-'", "'X-Header-Name'"
)
"""Return the errors of the name of an HTTP header."""
percent_errors = _check(
    1024, "[0-9]+%", "a valid percent string must be a numeric string followed by an ending '%'", "'1%',  or '93%'"
)
"""Return the errors of a percentage."""
condition_reason_errors = _check(
    1 << 20, _REASON, f"a condition reason must {_REASON_RULE}",
    "'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB'",
)  # fmt: skip
"""Return the errors of the reason of a condition."""
_SYSCTL_PATTERN = lazy_pattern(_SYSCTL)


def label_errors(value: str) -> list[str]:
    """Return the errors of a DNS label: the rule for namespaces and containers."""
    errors = _label_errors(value)
    return (
        [*errors[:-1], "must not contain dots"]
        if errors and _SUBDOMAIN_PATTERN.fullmatch(value) and "." in value
        else errors
    )


def data_key_errors(value: str) -> list[str]:
    """Return the errors of a key of a ConfigMap or Secret."""
    errors = _data_key_errors(value)
    if value in (".", ".."):
        return [*errors, f"must not be '{value}'"]
    return [*errors, "must not start with '..'"] if value.startswith("..") else errors


def env_name_errors(value: str) -> list[str]:
    """Return the errors of the name of an environment variable."""
    errors = [] if value else ["environment variable name must be non-empty"]
    if any(not " " <= letter <= "~" or letter == "=" for letter in value):
        errors.append(
            "a valid environment variable name must consist only of printable ASCII characters other than '='"
        )
    return errors


def port_name_errors(value: str) -> list[str]:
    """Return the errors of the name of a port."""
    checks = (
        (len(value) > 15, _too_long(15, "characters")),
        (
            not re.fullmatch("[-a-z0-9]+", value),
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        ),
        (not re.search("[a-z]", value), "must contain at least one letter (a-z)"),
        ("--" in value, "must not contain consecutive hyphens"),
        (value.strip("-") != value, "must not begin or end with a hyphen"),
    )
    return [reason for fails, reason in checks if fails]


def sysctl_errors(value: str) -> list[str]:
    """Return the errors of the name of a kernel parameter."""
    if len(value) <= 253 and _SYSCTL_PATTERN.fullmatch(value):
        return []
    return [f"must have at most 253 characters and match regex ^{_SYSCTL}$"]


def path_segment_errors(value: str) -> list[str]:
    """Return the errors of a path segment: the rule for RBAC objects' names."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{illegal}'" for illegal in ("/", "%") if illegal in value]


def without_zeros(address: str) -> str:
    """Return an IPv4 address without leading zeros of its numbers, which older versions ignore."""
    return re.sub(r"(^|\.)0+(?=\d)", r"\1", address)


def ip_errors(value: str) -> list[str]:
    """Return the errors of an IP address; one with leading zeros, or an IPv4 address mapped to IPv6, has an error."""
    plain = without_zeros(value)
    parsed = parse_ip(plain)
    if parsed is None:
        return [NO_IP_ADDRESS]
    reasons = ["must not have leading 0s"] if parsed.version == 4 and plain != value else []
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        reasons.append("must not be an IPv4-mapped IPv6 address")
    return reasons


def qualified_errors(value: str) -> list[str]:
    """Return the errors of the key of a label or annotation, `name` or `prefix/name`."""
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        optional = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return ["a valid label key must" + _MATCHES_QUALIFIED + optional]
    errors = []
    if slash and not prefix:
        errors.append("prefix part must be non-empty")
    elif slash:
        errors += [f"prefix part {error}" for error in subdomain_errors(prefix)]
    if not name:
        errors.append("name part must be non-empty")
    elif len(name) > 63:
        errors.append("name part " + _too_long(63))
    if not _QUALIFIED_PATTERN.fullmatch(name):
        errors.append("name part must" + _MATCHES_QUALIFIED)
    return errors


FORMS: Mapping[str, Check] = {
    "condition_reason": condition_reason_errors,
    "data_key": data_key_errors,
    "env_name": env_name_errors,
    "header_name": header_name_errors,
    "label": label_errors,
    "label_1035": label_1035_errors,
    "label_value": label_value_errors,
    "path_segment": path_segment_errors,
    "port_name": port_name_errors,
    "qualified": qualified_errors,
    "subdomain": subdomain_errors,
    "sysctl": sysctl_errors,
}
"""Checks of names by the word that the rule files have for them."""
