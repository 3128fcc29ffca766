"""Validation of API names, and conversion of names between Python and JSON."""

import keyword
import re
from collections.abc import Iterable, Iterator

LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")
LONGEST_DOMAIN = 253


def is_domain(group: str) -> bool:
    """Report whether this is a valid group of a CRD: a domain with a dot."""
    return len(group) <= LONGEST_DOMAIN and DOMAIN.fullmatch(group) is not None


def is_kind(kind: str) -> bool:
    """Report whether this is a valid kind: CamelCase, and not a Python keyword."""
    return _KIND.fullmatch(kind) is not None and not keyword.iskeyword(kind)


def is_dotted(name: str) -> bool:
    """Report whether this is a dotted module name that an import statement accepts."""
    return all(part.isascii() and part.isidentifier() and not keyword.iskeyword(part) for part in name.split("."))


def misnamed(group: str, kind: str, labels: Iterable[tuple[str, str]], *, built_in: bool = False) -> Iterator[str]:
    """Yield invalid names of a kind; `labels` are (label, name). Built-in groups need no dot."""
    if not is_domain(group) and not (built_in and (not group or LABEL.fullmatch(group))):
        yield f"invalid group {group!r}: expected a domain"
    if not is_kind(kind):
        yield f"invalid kind {kind!r}: expected CamelCase"
    for what, value in labels:
        if not LABEL.fullmatch(value):
            yield f"invalid {what} {value!r}: expected a DNS label"


def snake(name: str) -> str:
    """Convert to snake case: `HorizontalPodAutoscaler` to `horizontal_pod_autoscaler`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def camel(name: str) -> str:
    """Return the JSON name of an attribute, like msgspec's `rename="camel"`."""
    plain = name.lstrip("_")
    first, *rest = plain.split("_")
    return name[: len(name) - len(plain)] + first + "".join(part.title() for part in rest)


def identifier(text: str) -> str:
    """Convert text to an ASCII identifier, with underscores for invalid characters."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", text)
    if name[:1].isdigit():
        name = f"n{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def class_case(name: str) -> str:
    """Convert to CamelCase: `my_group_v1` to `MyGroupV1`."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", name))
