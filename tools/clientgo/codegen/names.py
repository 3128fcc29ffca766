"""Validation of API names, and their conversion to names of Python."""

import keyword
import re
from collections.abc import Iterator

from clientgo.meta.scheme import ApiType

LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")
_LONGEST_DOMAIN = 253


def is_dotted(name: str) -> bool:
    """Report whether this is a dotted module name that an import statement accepts."""
    return all(part.isascii() and part.isidentifier() and not keyword.iskeyword(part) for part in name.split("."))


def misnamed(api: ApiType, *, built_in: bool = False, any_case: bool = False) -> Iterator[str]:
    """Yield the invalid names of a kind; built-in groups need no dot. API servers accept kinds in `any_case`."""
    named = DOMAIN.fullmatch(api.group) or (built_in and (not api.group or LABEL.fullmatch(api.group)))
    if not named or len(api.group) > _LONGEST_DOMAIN:
        yield f"invalid group {api.group!r}: expected a domain such as samples.example.com"
    kind = api.kind[:1].upper() + api.kind[1:] if any_case else api.kind
    if not _KIND.fullmatch(kind) or keyword.iskeyword(kind):
        yield f"invalid kind {api.kind!r}: expected CamelCase, with letters and digits"
    list_kind = api.list_kind or f"{api.kind}List"
    if not LABEL.fullmatch(list_kind.lower()) or list_kind == api.kind:
        yield f"invalid list kind {list_kind!r}: expected at most 63 letters and digits, other than the kind"
    if len(f"{api.plural}.{api.group}") > _LONGEST_DOMAIN:
        yield f"plural and group are too long: {len(api.plural) + len(api.group) + 1} of at most 253 characters"
    labels = [("version", api.version), ("plural", api.plural), ("singular", api.singular)]
    labels += [("short name", name) for name in api.short_names] + [("category", name) for name in api.categories]
    for what, value in labels:
        if not LABEL.fullmatch(value):
            yield f"invalid {what} {value!r}: expected lower case letters, digits and dashes"


def identifier(text: str) -> str:
    """Convert text to an ASCII identifier, with underscores for invalid characters."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", text)
    if name[:1].isdigit():
        name = f"n{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def class_case(name: str) -> str:
    """Convert to CamelCase: `my_group_v1` to `MyGroupV1`."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", name))
