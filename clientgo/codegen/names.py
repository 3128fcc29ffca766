"""Names as an API server takes them: whatever else a name is, it can't be part of a program or of a path."""

import keyword
import re
from collections.abc import Iterable, Iterator

LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")
LONGEST_DOMAIN = 253


def is_domain(group: str) -> bool:
    """Whether a CRD may have this group: a domain with a dot."""
    return len(group) <= LONGEST_DOMAIN and DOMAIN.fullmatch(group) is not None


def is_kind(kind: str) -> bool:
    """Whether classes can be called like this kind: CamelCase, and none of Python's own words."""
    return _KIND.fullmatch(kind) is not None and not keyword.iskeyword(kind)


def is_dotted(name: str) -> bool:
    """Whether this is the dotted name of a module that Python can import by a statement."""
    return all(part.isascii() and part.isidentifier() and not keyword.iskeyword(part) for part in name.split("."))


def misnamed(group: str, kind: str, labels: Iterable[tuple[str, str]], *, built_in: bool = False) -> Iterator[str]:
    """What is wrong with the names of a kind; `labels` are (what it is, name). Built-in groups may have no dot."""
    if not is_domain(group) and not (built_in and (not group or LABEL.fullmatch(group))):
        yield f"the group {group!r} is no domain"
    if not is_kind(kind):
        yield f"the kind {kind!r} is not in CamelCase"
    for what, value in labels:
        if not LABEL.fullmatch(value):
            yield f"the {what} {value!r} is no DNS label"


def snake(name: str) -> str:
    """`HorizontalPodAutoscaler` → `horizontal_pod_autoscaler`, `CSIDriver` → `csi_driver`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def camel(name: str) -> str:
    """The JSON name that msgspec's `rename="camel"` gives an attribute."""
    plain = name.lstrip("_")
    first, *rest = plain.split("_")
    return name[: len(name) - len(plain)] + first + "".join(part.title() for part in rest)


def identifier(text: str) -> str:
    """`text` as a name in Python: of ASCII, no keyword, no digit first; all else becomes an underscore."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", text)
    if name[:1].isdigit():
        name = f"n{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def class_case(name: str) -> str:
    """`my_group_v1` → `MyGroupV1`."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", name))
