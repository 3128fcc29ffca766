"""A server's OpenAPI v3 document (`kubectl get --raw /openapi/v3/apis/GROUP/VERSION`) to the kinds it serves."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from clientgo.codegen.problems import Problems
from clientgo.codegen.thirdparty.definitions import ForeignKind, Schema, told_source
from clientgo.meta.scheme import ALL_VERBS, ApiType, Scale

_GVK = "x-kubernetes-group-version-kind"
_PATH = re.compile(r"/apis/[^/]+/[^/]+(?P<space>/namespaces/\{namespace\})?/(?P<plural>[^/{]+)(?P<rest>/.*)?")
_FREE: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def read_documents(paths: Iterable[Path], problems: Problems) -> list[ForeignKind]:
    """The kinds in these documents; whatever is wrong goes to `problems`."""
    found: list[ForeignKind] = []
    for path in paths:
        try:
            document = json.loads(path.read_bytes())
        except OSError as error:
            problems.at_module(str(path), 0, f"the file can't be read: {error}")
            continue
        except ValueError as error:
            problems.at_module(str(path), getattr(error, "lineno", 0), f"the file is no JSON: {error}")
            continue
        here = list(_kinds(document, told_source(path))) if isinstance(document, dict) else []
        if not here:
            problems.at_module(
                str(path), 1, "no kind is in it: give what `kubectl get --raw /openapi/v3/apis/GROUP/VERSION` writes"
            )
        found += here
    return found


def _kinds(document: Mapping[str, Any], source: str) -> Iterator[ForeignKind]:
    schemas = document.get("components", {}).get("schemas", {})
    served = _served(document.get("paths", {}))
    for _, schema in sorted(schemas.items()):
        kinds = schema.get(_GVK, ())
        if len(kinds) != 1 or "metadata" not in schema.get("properties", {}):
            continue
        key = (kinds[0].get("group", ""), kinds[0]["version"], kinds[0]["kind"])
        if key in served:
            yield ForeignKind(_api(key, served[key]), _resolved(schema, schemas, ()), source)


def _served(paths: Mapping[str, Any]) -> dict[tuple[str, str, str], set[tuple[str, bool, str]]]:
    """Plural, whether in namespaces, and what follows the plural, of all addresses of a kind."""
    served: dict[tuple[str, str, str], set[tuple[str, bool, str]]] = {}
    plurals: dict[str, tuple[str, str, str]] = {}
    for address, item in paths.items():
        match = _PATH.fullmatch(address)
        kind = item.get("post", {}).get(_GVK) or item.get("put", {}).get(_GVK)
        if match is None:
            continue
        if kind and not match["rest"]:
            plurals[match["plural"]] = (kind.get("group", ""), kind["version"], kind["kind"])
    for address in paths:
        match = _PATH.fullmatch(address)
        if match is not None and match["plural"] in plurals:
            facts = (match["plural"], match["space"] is not None, match["rest"] or "")
            served.setdefault(plurals[match["plural"]], set()).add(facts)
    return served


def _api(key: tuple[str, str, str], facts: set[tuple[str, bool, str]]) -> ApiType:
    group, version, kind = key
    rests = {rest.removeprefix("/{name}") for _, _, rest in facts}
    return ApiType(
        group=group,
        version=version,
        kind=kind,
        plural=next(plural for plural, _, _ in facts),
        singular=kind.lower(),
        scope="Namespaced" if any(spaced for _, spaced, _ in facts) else "Cluster",
        status="/status" in rests,
        scale=Scale(".spec.replicas", ".status.replicas") if "/scale" in rests else None,
        verbs=ALL_VERBS,
    )


def _resolved(value: Any, schemas: Mapping[str, Any], inside: tuple[str, ...]) -> Any:
    """A schema with what it refers to put in its place; what contains itself becomes a free-form object."""
    if isinstance(value, list):
        return [_resolved(each, schemas, inside) for each in value]
    if not isinstance(value, dict):
        return value
    refs = [value, *(part for part in value.get("allOf", ()) if len(value["allOf"]) == 1)]
    ref = next((part["$ref"] for part in refs if isinstance(part.get("$ref"), str)), None)
    if ref is None:
        return {key: _resolved(part, schemas, inside) for key, part in value.items()}
    name = ref.rpartition("/")[2]
    if name in inside or name not in schemas:
        return _FREE
    own = {key: part for key, part in value.items() if key not in ("$ref", "allOf")}
    return {**_resolved(schemas[name], schemas, (*inside, name)), **own}
