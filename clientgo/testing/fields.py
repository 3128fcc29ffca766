"""Fields of an object as paths, and sets of them as `metadata.managedFields` keeps them (FieldsV1).

A path is a tuple of FieldsV1 elements: `("f:spec", "f:replicas")`. Items of lists with a merge key are
`k:{"name":"nginx"}`, members of sets `v:"x"`; any other list is one field. Only leaves are fields, an empty map among
them.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from clientgo.testing.patches import SETS, list_key

Path = tuple[str, ...]

# What no manager owns: what names the object, and the server's own fields.
_UNMANAGED = frozenset(
    ("name", "namespace", "creationTimestamp", "selfLink", "uid", "resourceVersion", "generation", "managedFields")
)
_encode = msgspec.json.Encoder(order="sorted").encode


def fields_of(obj: Mapping[str, Any]) -> dict[Path, Any]:
    """Every field of the object that can be owned, with its value."""
    meta = {key: value for key, value in (obj.get("metadata") or {}).items() if key not in _UNMANAGED}
    rest = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}
    return dict(_walk({**rest, "metadata": meta} if meta else rest, ()))


def _walk(value: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, Any]]:
    for name, inner in value.items():
        yield from _field(name, inner, (*path, f"f:{name}"))


def _field(name: str, value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict) and value:
        yield from _walk(value, path)
    elif isinstance(value, list) and value and (key := list_key(name, value)) is not None:
        for item in value:
            yield from _walk(item, (*path, f"k:{_text({key: item[key]})}"))
    elif isinstance(value, list) and name in SETS:
        for item in value:
            yield (*path, f"v:{_text(item)}"), item
    else:
        yield path, value


def _text(value: Any) -> str:
    return _encode(value).decode()


def to_tree(paths: Iterable[Path]) -> dict[str, Any]:
    """The set as FieldsV1 has it."""
    tree: dict[str, Any] = {}
    # Longest first: a path that ends where others go on shows as "." among them.
    for path in sorted(paths, key=len, reverse=True):
        node = tree
        for element in path:
            node = node.setdefault(element, {})
        if node:
            node["."] = {}
    return tree


def from_tree(tree: Mapping[str, Any], above: Path = ()) -> Iterator[Path]:
    """The paths of a set in FieldsV1."""
    for element, inner in tree.items():
        if inner:
            yield from from_tree(inner, (*above, element))
        else:
            yield above if element == "." else (*above, element)


def without(obj: dict[str, Any], paths: Iterable[Path]) -> dict[str, Any]:
    """The object without those fields; a container that is left empty goes too. The object itself is not changed."""
    # An item's key goes after all that the item holds, other items included, as it can't be found without.
    for path in sorted(paths, key=lambda path: (_is_key(path), -len(path))):
        obj = _without(obj, path)
    return obj


def _is_key(path: Path) -> bool:
    return len(path) > 1 and path[-2].startswith("k:") and path[-1][2:] in msgspec.json.decode(path[-2][2:])


def _without(value: Any, path: Path) -> Any:
    element, below = path[0], path[1:]
    if element.startswith("v:"):
        return [item for item in value or () if _text(item) != element[2:]]
    if element.startswith("k:"):
        ((key, wanted),) = msgspec.json.decode(element[2:]).items()
        items = [_pruned_item(item, key, below) if item.get(key) == wanted else item for item in value or ()]
        return [item for item in items if item is not None]
    name = element[2:]
    if not isinstance(value, dict) or name not in value:
        return value
    rest = {key: inner for key, inner in value.items() if key != name}
    if not below:
        return rest
    inner = _without(value[name], below)
    return {**rest, name: inner} if inner else rest


def _pruned_item(item: dict[str, Any], key: str, below: Path) -> dict[str, Any] | None:
    # An item is there as long as anything of it is, its key aside.
    if below == (f"f:{key}",):
        return None if set(item) == {key} else item
    pruned: dict[str, Any] = _without(item, below)
    return pruned


def path_text(path: Path) -> str:
    """The path as a conflict names it: `.spec.containers[name="nginx"].image`."""
    return "".join(_element_text(element) for element in path)


def _element_text(element: str) -> str:
    if element.startswith("f:"):
        return f".{element[2:]}"
    if element.startswith("v:"):
        return f"[={element[2:]}]"
    pairs = msgspec.json.decode(element[2:]).items()
    return "[" + ",".join(f"{key}={_text(value)}" for key, value in pairs) + "]"
