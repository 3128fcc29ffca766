"""Replacement of the schemas in hand-written CRDs; the rest of the file, including comments, is kept.

Only the text of each `openAPIV3Schema` is replaced. Parsing and writing the file would lose comments and quoting.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import yaml

from clientgo.codegen.crd.dryrun import CheckedDefinition, check_definition
from clientgo.codegen.crd.manifest import whole_schema
from clientgo.codegen.crd.schema import Schema, SchemaMaker
from clientgo.codegen.inputs.apitypes import OwnKind
from clientgo.codegen.problems import Problems, reason_of
from clientgo.meta.yamlio import InvalidYAML, read_yaml, to_yaml

_KEY = "openAPIV3Schema"


def patched_files(
    paths: Iterable[Path], kinds: Sequence[OwnKind], maker: SchemaMaker, problems: Problems
) -> dict[Path, str]:
    """Return the files with the schemas of the kinds that they define."""
    return {path: _patched(path, kinds, maker, problems) for path in paths}


def _patched(path: Path, kinds: Sequence[OwnKind], maker: SchemaMaker, problems: Problems) -> str:
    try:
        text = path.read_text(encoding="utf-8")
        read_yaml(text)  # enforces limits before composing
        documents = list(yaml.compose_all(text, yaml.SafeLoader))
    except (OSError, UnicodeDecodeError) as error:
        problems.at_module(str(path), 0, f"cannot read the file: {reason_of(error)}")
        return ""
    except InvalidYAML as error:
        problems.at_module(str(path), error.line, f"invalid YAML: {error}")
        return ""
    by_document = [list(_places(document, kinds)) for document in documents]
    if not any(by_document):
        problems.at_module(str(path), 1, "no kind of the input found: give its module with --input-module")
    # From last to first, so that the positions of earlier ones stay valid.
    for _, kind, version in reversed([occurrence for occurrences in by_document for occurrence in occurrences]):
        parent = _value(version, "schema")
        schema = _value(parent, _KEY)
        if not isinstance(parent, yaml.MappingNode) or schema is None:
            line = version.start_mark.line + 1
            problems.at_module(str(path), line, "the version has no schema: add `schema: {openAPIV3Schema: {}}` here")
            continue
        text = _replaced(text, parent, schema, whole_schema(maker, kind.cls))
    for manifest, occurrences in zip(read_yaml(text), by_document, strict=True):
        classes = {index: kind.cls for index, kind, _ in occurrences}
        if classes and not problems:
            check_definition(CheckedDefinition(manifest, classes, next(iter(classes.values())), str(path)), problems)
    return text


def _places(document: yaml.Node, kinds: Sequence[OwnKind]) -> Iterator[tuple[int, OwnKind, yaml.Node]]:
    """Yield the versions in a document that are among the kinds, with their index."""
    spec = _value(document, "spec")
    name = (_scalar(spec, "group"), _scalar(_value(spec, "names"), "kind"))
    versions = _value(spec, "versions")
    if _scalar(document, "kind") != "CustomResourceDefinition" or not isinstance(versions, yaml.SequenceNode):
        return
    kinds_by_version = {kind.api.version: kind for kind in kinds if (kind.api.group, kind.api.kind) == name}
    for index, version in enumerate(versions.value):
        kind = kinds_by_version.get(_scalar(version, "name"))
        if kind is not None:
            yield index, kind, version


def _value(node: yaml.Node | None, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _scalar(node: yaml.Node | None, key: str) -> str:
    value = _value(node, key)
    return str(value.value) if isinstance(value, yaml.ScalarNode) else ""


def _replaced(text: str, parent: yaml.MappingNode, node: yaml.Node, schema: Schema) -> str:
    start, end = node.start_mark.index, len(text[: _end(node)].rstrip())
    if parent.flow_style:
        return text[:start] + to_yaml(schema, flow=True).rstrip() + text[end:]
    lines = to_yaml(schema).rstrip("\n").splitlines()
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        return text[:start] + f"\n{' ' * node.start_mark.column}".join(lines) + text[end:]
    # A value on the line of its key moves below it.
    line = text[text.rindex("\n", 0, start) + 1 : start]
    indent = len(line) - len(line.lstrip(" -")) + 2
    return text[:start].rstrip(" ") + "".join(f"\n{' ' * indent}{new_line}" for new_line in lines) + text[end:]


def _end(node: yaml.Node) -> int:
    """Return the end of a node; the end mark of a block is after comments and blank lines."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)
