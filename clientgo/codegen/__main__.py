"""The generator's command: from `@api_type` dataclasses, or from others' CRDs, to clients, caches and manifests.

    python -m clientgo.codegen --input-module controller.api.v1alpha1 --output-package generated \\
        --crd-dir artifacts/crd --boilerplate hack/boilerplate.py.txt [--verify]

docs/codegen.md tells what each option and each mark becomes.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from clientgo.codegen.cli import add_options, complain, finish, header_of, with_header
from clientgo.codegen.crd import crds
from clientgo.codegen.dataclassinput import OwnKind, read_modules
from clientgo.codegen.declarations import check_declarations, read_declarations
from clientgo.codegen.manifests import Manifests, openapi_files, role_files, webhook_files
from clientgo.codegen.options import SUBPACKAGES, add_inputs, chosen
from clientgo.codegen.problems import Problems
from clientgo.codegen.render import render
from clientgo.codegen.renderapply import apply_texts
from clientgo.codegen.texts import Layout, Text, fill
from clientgo.codegen.thirdparty.definitions import ForeignKind, check_foreign, read_definitions
from clientgo.codegen.thirdparty.modules import foreign_groups
from clientgo.codegen.thirdparty.openapi import read_documents
from clientgo.codegen.write import Header


def main(arguments: Sequence[str] | None = None) -> int:
    """Generate or verify; returns the exit code. Nothing is written when anything is wrong with the input."""
    parser = argparse.ArgumentParser(
        prog="python -m clientgo.codegen", description="Generate from @api_type dataclasses, or from others' CRDs."
    )
    add_inputs(parser)
    add_options(parser)
    options = parser.parse_args(arguments)
    problems = Problems()
    generators = chosen(options, parser)
    kinds = read_modules(options.input, problems)
    foreign = [*read_definitions(options.from_crd, problems), *read_documents(options.from_openapi, problems)]
    check_foreign(kinds, foreign, problems)
    try:
        header = header_of(options)
    except OSError as error:
        return complain([f"the header can't be read: {error}"])
    texts: dict[Path, str] = {}
    folders: list[Path] = []
    if generators & set(SUBPACKAGES) and not problems:
        made = [text for text in _modules(kinds, foreign, options) if _wanted(text, options.output_package, generators)]
        texts |= with_header(made, options.root, header)
        root = options.root / options.output_package.replace(".", "/")
        folders += [root / part for name in generators & set(SUBPACKAGES) for part in SUBPACKAGES[name]]
    for files in _manifests(kinds, generators, problems, options, header):
        texts |= files.close()
        folders.append(files.folder)
    if problems:
        return complain(problems)
    return finish(texts, folders, options, header)


def _modules(kinds: Sequence[OwnKind], foreign: Sequence[ForeignKind], options: argparse.Namespace) -> Iterator[Text]:
    layout = Layout(package=options.output_package, beside_runtime=(options.root / "clientgo").is_dir())
    groups = list(foreign_groups(foreign, (own.kind.api.group for own in kinds), options.output_package))
    if groups:
        sources = tuple(sorted({kind.source for group in groups for kind in group.kinds}))
        body = fill("package", doc="Types of kinds that are defined elsewhere.")
        yield Text(layout.module("types"), body, sources, is_package=True)
        yield from (group.text() for group in groups)
    yield from render([*(own.kind for own in kinds), *(kind for group in groups for kind in group.kinds)], layout)
    yield from apply_texts({own.kind: own.cls for own in kinds}, groups, layout)


def _wanted(text: Text, package: str, generators: set[str]) -> bool:
    below = text.module.removeprefix(package).removeprefix(".").partition(".")[0]
    return not below or any(below in SUBPACKAGES.get(name, ()) for name in generators)


def _manifests(
    kinds: Sequence[OwnKind], generators: set[str], problems: Problems, options: argparse.Namespace, header: Header
) -> Iterator[Manifests]:
    declared = read_declarations(options.declarations, problems)
    plurals: dict[str, set[str]] = {}
    for own in kinds:
        plurals.setdefault(own.kind.api.group, set()).add(own.kind.api.plural)
    check_declarations(declared, plurals, problems)
    if "crd" in generators:
        files = Manifests(options.root / options.crd_dir, header)
        limits = {"allow_floats": options.allow_floats, "embedded_meta": options.embedded_metadata}
        found = crds(kinds, problems, max_description=options.max_description, **limits)
        for name, (text, sources) in found.items():
            files.add_text(name, text, sources)
        yield files
    if "rbac" in generators:
        files = Manifests(options.root / options.rbac_dir, header)
        role_files(files, declared, kinds, options.role_name)
        yield files
    if "webhook" in generators:
        files = Manifests(options.root / options.webhook_dir, header)
        webhook_files(files, declared)
        yield files
    if "openapi" in generators:
        files = Manifests(options.root / options.openapi_dir, header)
        openapi_files(files, kinds, problems, allow_floats=options.allow_floats)
        yield files


if __name__ == "__main__":
    sys.exit(main())
