"""Objects and CustomResourceDefinitions in YAML files."""

from collections.abc import Iterable, Iterator, Mapping
from json import JSONDecoder
from pathlib import Path
from typing import Any

from clientgo.errors import ConfigError
from clientgo.meta.conditions import map_in
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
    contents = (content for path in paths for _, contents in read_files(path) for content in contents)
    return [content for content in contents if isinstance(content, dict)]


def read_files(path: Path) -> Iterator[tuple[str, list[Any]]]:
    """Yield the name and all documents of a YAML file, or of each in a directory, in the order of their names.

    Raises:
        ConfigError: the path does not exist or is not YAML.
    """
    if not path.exists():
        raise ConfigError(f"{path} does not exist")
    for file in sorted([*path.glob("*.yaml"), *path.glob("*.yml")]) if path.is_dir() else [path]:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{file} cannot be read as YAML: {error}") from error
        yield str(file), read_text(str(file), text)


def read_text(source: str, text: str) -> list[Any]:
    """Return all documents of YAML, or of JSON objects one after the other.

    Raises:
        ConfigError: it is neither; the message has the name of its source.
    """
    first_line = 0
    try:
        try:
            return read_yaml(text)
        except InvalidYAML:
            if not (objects := _json_objects(text)):
                raise
        documents = []
        for json_object in objects:
            documents += read_yaml(json_object)
            first_line += json_object.count("\n")
        return documents
    except InvalidYAML as error:
        line = f" in line {first_line + error.line}" if error.line else ""
        raise ConfigError(f"{source} cannot be read as YAML: {error}{line}") from error


def _json_objects(text: str) -> list[str]:
    """Return the JSON objects of a text that consists of several, which YAML would have between separators.

    Each begins with the space before it.
    """
    decoder, objects, start, at = JSONDecoder(), list[str](), 0, len(text) - len(text.lstrip())
    while text.startswith("{", at):
        try:
            _, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return []
        objects.append(text[start:end])
        start = at = end
        while text[at : at + 1].isspace():
            at += 1
    return objects if at == len(text) else []


def name_of(obj: Mapping[str, Any]) -> str:
    """Return the name of an object that was read from a file, "" if it has none."""
    return text_in_metadata(obj, "name")


def text_in_metadata(obj: Mapping[str, Any], field: str) -> str:
    """Return a field of an object's metadata, "" if it has none, or one that is not text."""
    value = map_in(obj, "metadata").get(field)
    return value if isinstance(value, str) else ""


def _is_patch(crd: Object) -> bool:
    spec = crd.get("spec")
    return isinstance(spec, dict) and not spec.keys() & {"names", "versions"}
