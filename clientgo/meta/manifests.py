"""Objects and CustomResourceDefinitions in YAML files."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from clientgo.errors import ConfigError
from clientgo.meta.patches import mergepatch
from clientgo.meta.yamlio import InvalidYAML, read_yaml

Object = dict[str, Any]


def read_crds(paths: Iterable[Path]) -> list[Object]:
    """Read every CustomResourceDefinition in these YAML files and directories.

    One with neither names nor versions is a patch, as in kubebuilder's config/crd/patches, and is merged into the
    definition of the same name.
    """
    definitions = [doc for doc in read_documents(paths) if doc.get("kind") == "CustomResourceDefinition"]
    crds = [doc for doc in definitions if not _is_patch(doc)]
    for patch in filter(_is_patch, definitions):
        index_of_same = next((index for index, crd in enumerate(crds) if name_of(crd) == name_of(patch)), None)
        if index_of_same is None:
            name = name_of(patch) if name_of(patch).isprintable() else repr(name_of(patch))
            raise ConfigError(f"CRD {name} of a patch not found: add its file to the paths")
        crds[index_of_same] = mergepatch.apply(crds[index_of_same], patch)
    return crds


def read_documents(paths: Iterable[Path]) -> list[Object]:
    """Read every object in these YAML files and directories, in the order of their names.

    Raises:
        ConfigError: a path does not exist or is not YAML.
    """
    documents: list[Object] = []
    for path in paths:
        if not path.exists():
            raise ConfigError(f"{path} does not exist")
        files = sorted([*path.glob("*.yaml"), *path.glob("*.yml")]) if path.is_dir() else [path]
        for file in files:
            documents += _documents(file)
    return documents


def name_of(obj: Mapping[str, Any]) -> str:
    """Return the name of an object that was read from a file, "" if it has none."""
    metadata = obj.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""


def _is_patch(crd: Object) -> bool:
    spec = crd.get("spec")
    return isinstance(spec, dict) and not spec.keys() & {"names", "versions"}


def _documents(file: Path) -> list[Object]:
    try:
        return [doc for doc in read_yaml(file.read_text(encoding="utf-8")) if isinstance(doc, dict)]
    except (OSError, InvalidYAML, UnicodeDecodeError) as error:
        line = f" in line {error.line}" if isinstance(error, InvalidYAML) and error.line else ""
        raise ConfigError(f"{file} cannot be read as YAML: {error}{line}") from error
