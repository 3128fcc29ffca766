"""A server's OpenAPI v3 document (`kubectl get --raw /openapi/v3/apis/GROUP/VERSION`) to the kinds it serves."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from clientgo.codegen.apinames import misnamed
from clientgo.codegen.problems import Problems
from clientgo.codegen.thirdparty.checked import NoDefinition, check_schema, without_nulls
from clientgo.codegen.thirdparty.definitions import ForeignKind, told_source
from clientgo.codegen.thirdparty.references import resolved
from clientgo.meta.scheme import ALL_VERBS, ApiType, Scale

_GVK = "x-kubernetes-group-version-kind"
_PATH = re.compile(r"/apis/[^/]+/[^/]+(?P<space>/namespaces/\{namespace\})?/(?P<plural>[^/{]+)(?P<rest>/.*)?")


class _Gvk(msgspec.Struct, frozen=True):
    version: str
    kind: str
    group: str = ""


class _Operation(msgspec.Struct, frozen=True):
    of: _Gvk | None = msgspec.field(default=None, name=_GVK)


class _Address(msgspec.Struct, frozen=True):
    post: _Operation | None = None
    put: _Operation | None = None


class _Components(msgspec.Struct, frozen=True):
    schemas: dict[str, dict[str, Any]] = {}


class _Document(msgspec.Struct, frozen=True):
    paths: dict[str, _Address] = {}
    components: _Components = _Components()


def read_documents(paths: Iterable[Path], problems: Problems) -> list[ForeignKind]:
    """The kinds in these documents; whatever is wrong goes to `problems`."""
    found: list[ForeignKind] = []
    for path in paths:
        try:
            here = list(_kinds(_document(path), told_source(path)))
        except OSError as error:
            problems.at_module(str(path), 0, f"the file can't be read: {error}")
            continue
        except NoDefinition as error:
            problems.at_module(str(path), 0, f"the document can't be taken: {error}")
            continue
        except RecursionError:
            problems.at_module(str(path), 0, "the document can't be taken: it nests too deep")
            continue
        except ValueError as error:
            problems.at_module(str(path), getattr(error, "lineno", 0), f"the file is no JSON: {error}")
            continue
        if not here:
            problems.at_module(
                str(path), 1, "no kind is in it: give what `kubectl get --raw /openapi/v3/apis/GROUP/VERSION` writes"
            )
        found += here
    return found


def _document(path: Path) -> _Document:
    document = json.loads(path.read_bytes())
    if not isinstance(document, dict):
        return _Document()
    try:
        return msgspec.convert(without_nulls(document), _Document)
    except msgspec.ValidationError as error:
        raise NoDefinition(str(error).replace("`", "").replace("$.", "")) from error


def _kinds(document: _Document, source: str) -> Iterator[ForeignKind]:
    schemas = document.components.schemas
    served = _served(document.paths)
    for name, schema in sorted(schemas.items()):
        try:
            kinds = msgspec.convert(schema.get(_GVK, ()), tuple[_Gvk, ...])
        except msgspec.ValidationError as error:
            raise NoDefinition(f"components.schemas.{name}.{_GVK}: {error}") from error
        properties = schema.get("properties")
        if (
            len(kinds) != 1
            or kinds[0] not in served
            or not isinstance(properties, dict)
            or "metadata" not in properties
        ):
            continue
        whole = resolved(schema, schemas)
        check_schema(whole, f"components.schemas.{name}")
        yield ForeignKind(_api(kinds[0], served[kinds[0]]), whole, source)


def _served(paths: Mapping[str, _Address]) -> dict[_Gvk, set[tuple[str, bool, str]]]:
    """Plural, whether in namespaces, and what follows the plural, of all addresses of a kind."""
    served: dict[_Gvk, set[tuple[str, bool, str]]] = {}
    plurals: dict[str, _Gvk] = {}
    for address, item in paths.items():
        match = _PATH.fullmatch(address)
        kind = (item.post and item.post.of) or (item.put and item.put.of)
        if match is not None and kind and not match["rest"]:
            plurals[match["plural"]] = kind
    for address in paths:
        match = _PATH.fullmatch(address)
        if match is not None and match["plural"] in plurals:
            facts = (match["plural"], match["space"] is not None, match["rest"] or "")
            served.setdefault(plurals[match["plural"]], set()).add(facts)
    return served


def _api(kind: _Gvk, facts: set[tuple[str, bool, str]]) -> ApiType:
    rests = {rest.removeprefix("/{name}") for _, _, rest in facts}
    plural = min(plural for plural, _, _ in facts)
    for message in misnamed(kind.group, kind.kind, [("version", kind.version), ("plural", plural)], built_in=True):
        raise NoDefinition(message)
    return ApiType(
        group=kind.group,
        version=kind.version,
        kind=kind.kind,
        plural=plural,
        singular=kind.kind.lower(),
        scope="Namespaced" if any(spaced for _, spaced, _ in facts) else "Cluster",
        status="/status" in rests,
        scale=Scale(".spec.replicas", ".status.replicas") if "/scale" in rests else None,
        verbs=ALL_VERBS,
    )
