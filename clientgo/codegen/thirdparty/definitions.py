"""CRD files to the kinds they define."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clientgo.codegen.dataclassinput import OwnKind
from clientgo.codegen.problems import Problems, reason_of
from clientgo.codegen.thirdparty.checked import NoDefinition, checked
from clientgo.meta.scheme import ALL_VERBS, ApiType, Scale
from clientgo.meta.yamltext import NotYAML, read_yaml

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ForeignKind:
    """One version of somebody else's kind: what the API calls it, and its schema, with no references in it."""

    api: ApiType
    schema: Schema
    source: str


def told_source(path: Path) -> str:
    """A file as generated files tell it: the same on every machine."""
    return path.name if path.is_absolute() else path.as_posix()


def read_definitions(paths: Iterable[Path], problems: Problems) -> list[ForeignKind]:
    """The served versions in these files; whatever is wrong goes to `problems`."""
    found: list[ForeignKind] = []
    for path in paths:
        try:
            documents = read_yaml(path.read_text(encoding="utf-8"))
            here = [kind for document in documents for kind in _versions(document, told_source(path))]
        except (OSError, UnicodeDecodeError) as error:
            problems.at_module(str(path), 0, f"cannot read the file: {reason_of(error)}")
            continue
        except NotYAML as error:
            problems.at_module(str(path), error.line, f"the file is no YAML: {error}")
            continue
        except NoDefinition as error:
            problems.at_module(str(path), 0, f"a definition in it can't be taken: {error}")
            continue
        if not here:
            wanted = "no CustomResourceDefinition of apiextensions.k8s.io/v1 with a served version is in it"
            problems.at_module(str(path), 1, f"{wanted}: give the file that `kubectl get crd NAME -o yaml` writes")
        found += here
    return found


def _versions(document: Any, source: str) -> Iterator[ForeignKind]:
    if not isinstance(document, dict):
        return
    items = document.get("items")
    if document.get("kind") == "List" and isinstance(items, list):
        for item in items:
            yield from _versions(item, source)
    if (document.get("apiVersion"), document.get("kind")) != ("apiextensions.k8s.io/v1", "CustomResourceDefinition"):
        return
    spec = checked(document)["spec"]
    for version in spec["versions"]:
        if version.get("served"):
            yield ForeignKind(_api(spec, version), version["schema"]["openAPIV3Schema"], source)


def _api(spec: Schema, version: Schema) -> ApiType:
    names = spec["names"]
    subresources = version.get("subresources") or {}
    scale = subresources.get("scale")
    return ApiType(
        group=spec["group"],
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        singular=names.get("singular") or names["kind"].lower(),
        scope=spec["scope"],
        short_names=tuple(names.get("shortNames", ())),
        categories=tuple(names.get("categories", ())),
        status="status" in subresources,
        scale=_scale(scale) if scale else None,
        storage=bool(version.get("storage")),
        verbs=ALL_VERBS,
    )


def _scale(scale: Schema) -> Scale:
    return Scale(scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath", ""))


def check_foreign(own: Iterable[OwnKind], foreign: Iterable[ForeignKind], problems: Problems, *, needed: bool) -> None:
    """Tell of kinds that are there twice, and when there are none at all although some are `needed`."""
    seen = {each.kind.api.gvk: each.kind.source for each in own}
    for kind in foreign:
        other = seen.get(kind.api.gvk)
        seen[kind.api.gvk] = kind.source
        if other is not None:
            problems.at_module(kind.source, 1, f"{kind.api.gvk} comes from {other} already: give one of the two")
    if needed and not seen and not problems:
        problems.at_module("command line", 0, "there is no input: give --input-module, --from-crd or --from-openapi")
