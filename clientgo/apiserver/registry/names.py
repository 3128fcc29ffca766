"""Which names, labels and keys Kubernetes accepts, and its sentence for each that it does not.

The rules are RFC 1123 and RFC 1035 as apimachinery's validation applies them.
"""

import re
import secrets

_LABEL_1123 = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL_1123}(\.{_LABEL_1123})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_QUALIFIED})?"
_DATA_KEY = "[-._a-zA-Z0-9]+"

_is_subdomain, _is_label_1123, _is_label_1035, _is_qualified, _is_value, _is_data_key = (
    re.compile(pattern).fullmatch for pattern in (_SUBDOMAIN, _LABEL_1123, _LABEL_1035, _QUALIFIED, _VALUE, _DATA_KEY)
)

_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, so that no words come about
_SUFFIX_LENGTH = 5
_MAX_GENERATED = 63


def generate(prefix: str) -> str:
    """A name that begins with `prefix` (cut so that it fits in 63 characters) and ends in five random ones."""
    suffix = "".join(secrets.choice(_SUFFIX_ALPHABET) for _ in range(_SUFFIX_LENGTH))
    return prefix[: _MAX_GENERATED - _SUFFIX_LENGTH] + suffix


def subdomain_faults(value: str) -> list[str]:
    """What keeps a text from being a DNS subdomain: the rule for most objects' names."""
    faults = [] if len(value) <= 253 else [_too_long(253)]
    if not _is_subdomain(value):
        faults.append(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must"
            " start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
            f" '{_SUBDOMAIN}')"
        )
    return faults


def label_faults(value: str) -> list[str]:
    """What keeps a text from being a DNS label: the rule for namespaces."""
    faults = [] if len(value) <= 63 else [_too_long(63)]
    if not _is_label_1123(value):
        faults.append(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and"
            " end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is"
            f" '{_LABEL_1123}')"
        )
    return faults


def label_1035_faults(value: str) -> list[str]:
    """What keeps a text from being an RFC 1035 label: the stricter rule for services."""
    faults = [] if len(value) <= 63 else [_too_long(63)]
    if not _is_label_1035(value):
        faults.append(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic"
            " character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for"
            f" validation is '{_LABEL_1035}')"
        )
    return faults


def path_segment_faults(value: str) -> list[str]:
    """What keeps a text from being one segment of a path: the rule for RBAC objects' names."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{illegal}'" for illegal in ("/", "%") if illegal in value]


def qualified_faults(value: str) -> list[str]:
    """What keeps a text from being a label's or annotation's key, `name` or `prefix/name`."""
    prefix, slash, name = value.rpartition("/")
    faults = []
    if "/" in prefix:
        return [
            "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
            " alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
            f" '{_QUALIFIED}') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    if slash and not prefix:
        faults.append("prefix part must be non-empty")
    elif slash:
        faults += [f"prefix part {fault}" for fault in subdomain_faults(prefix)]
    if not name:
        faults.append("name part must be non-empty")
    elif len(name) > 63:
        faults.append("name part " + _too_long(63))
    if not _is_qualified(name):
        faults.append(
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
            " alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
            f" '{_QUALIFIED}')"
        )
    return faults


def label_value_faults(value: str) -> list[str]:
    """What keeps a text from being a label's value."""
    faults = [] if len(value) <= 63 else [_too_long(63)]
    if not _is_value(value):
        faults.append(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must"
            " start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for"
            f" validation is '{_VALUE}')"
        )
    return faults


def data_key_faults(value: str) -> list[str]:
    """What keeps a text from being a key of a ConfigMap or Secret."""
    faults = [] if len(value) <= 253 else [_too_long(253)]
    if not _is_data_key(value):
        faults.append(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or"
            f" 'KEY_NAME',  or 'key-name', regex used for validation is '{_DATA_KEY}')"
        )
    return faults


def _too_long(limit: int) -> str:
    return f"must be no more than {limit} bytes"
