"""A run of the generator: reads the inputs and returns the contents of files."""

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from clientgo.codegen.crd.manifest import crds, whole_schema
from clientgo.codegen.crd.patch import patched_files
from clientgo.codegen.crd.schema import Schema, SchemaMaker
from clientgo.codegen.files import Header, header_of, with_header
from clientgo.codegen.inputs.apitypes import OwnKind, read_modules
from clientgo.codegen.inputs.crds import ForeignKind, check_foreign, read_definitions
from clientgo.codegen.inputs.declarations import check_declarations, read_declarations
from clientgo.codegen.inputs.expansions import expanded, read_expansions
from clientgo.codegen.inputs.openapi import read_documents
from clientgo.codegen.manifests import Manifests, openapi_files, role_files, webhook_files
from clientgo.codegen.model import Kind
from clientgo.codegen.options import SUBPACKAGES
from clientgo.codegen.problems import Problems
from clientgo.codegen.render.applyconfigurations import apply_texts
from clientgo.codegen.render.clients import render
from clientgo.codegen.render.openapi import Unpublishable, openapi_texts, published_schema
from clientgo.codegen.render.templatefiles import Layout, Text, fill
from clientgo.codegen.render.thirdparty import foreign_groups


@dataclass(slots=True)
class Output:
    """Contents of generated files, and of hand-written files that are patched."""

    texts: dict[Path, str] = field(default_factory=dict)
    folders: list[Path] = field(default_factory=list)
    patched: dict[Path, str] = field(default_factory=dict)

    def add(self, files: Manifests) -> None:
        """Add the files of a folder of manifests."""
        self.texts |= files.close()
        self.folders.append(files.folder)


def generate(options: argparse.Namespace, generators: set[str], problems: Problems) -> Output:
    """Return the output for the options; invalid if anything is reported to `problems`.

    Raises:
        OSError: the header cannot be read.
    """
    own = read_modules(options.input, problems)
    foreign = [*read_definitions(options.from_crd, problems), *read_documents(options.from_openapi, problems)]
    check_foreign(own, foreign, problems, needed=bool(generators - {"rbac", "webhook"} or not options.declarations))
    run = _Run(options, generators, problems, header_of(options), own, foreign)
    output = Output()
    if generators & set(SUBPACKAGES) and options.output_package is not None and not problems:
        run.add_modules(output)
    run.add_schemas(output)
    run.add_declared(output)
    return output


@dataclass(frozen=True, slots=True)
class _Run:
    options: argparse.Namespace
    generators: set[str]
    problems: Problems
    header: Header
    own: Sequence[OwnKind]
    foreign: Sequence[ForeignKind]

    def add_modules(self, output: Output) -> None:
        """Add the modules of the package."""
        options = self.options
        wanted = [text for text in self._modules() if self._is_wanted(text)]
        for name, count in Counter(text.module for text in wanted).items():
            if count > 1:
                self.problems.at_module(name, 0, "duplicate module for two groups: put them into separate outputs")
        output.texts |= with_header(wanted, options.root, self.header)
        root = options.root / options.output_package.replace(".", "/")
        output.folders += [root / part for name in self.generators & set(SUBPACKAGES) for part in SUBPACKAGES[name]]

    def add_schemas(self, output: Output) -> None:
        """Add CRDs and OpenAPI documents."""
        options = self.options
        limits = {"allow_floats": options.allow_floats, "embedded_meta": options.embedded_metadata}
        maker, limit = SchemaMaker(self.problems, **limits), options.max_description
        if "crd" in self.generators:
            files = Manifests(options.root / options.crd_dir, self.header)
            made = crds(self.own, maker, self.problems, max_description=limit)
            for name, (text, sources) in made.items():
                files.add_text(name, text, sources)
            output.add(files)
        if "openapi" in self.generators and options.openapi_dir is not None:
            files = Manifests(options.root / options.openapi_dir, self.header)
            openapi_files(files, self.own, maker)
            output.add(files)
        paths = [options.root / path for path in options.patch_schema]
        output.patched |= patched_files(paths, self.own, partial(whole_schema, maker, limit=limit), self.problems)

    def add_declared(self, output: Output) -> None:
        """Add roles and webhook configurations."""
        options = self.options
        declared = read_declarations(options.declarations, self.problems)
        plurals: dict[str, set[str]] = {}
        for own in self.own:
            plurals.setdefault(own.kind.api.group, set()).add(own.kind.api.plural)
        check_declarations(declared, plurals, self.problems)
        if "rbac" in self.generators:
            files = Manifests(options.root / options.rbac_dir, self.header)
            role_files(files, declared, self.own, options.role_name, options.role_namespace)
            output.add(files)
        if "webhook" in self.generators:
            files = Manifests(options.root / options.webhook_dir, self.header)
            webhook_files(files, declared)
            output.add(files)

    def _modules(self) -> Iterator[Text]:
        options = self.options
        layout = Layout(package=options.output_package, beside_runtime=(options.root / "clientgo").is_dir())
        groups = list(foreign_groups(self.foreign, (own.kind.api.group for own in self.own), options.output_package))
        if groups:
            sources = tuple(sorted({kind.source for group in groups for kind in group.kinds}))
            body = fill("package", doc="Types of third-party kinds.")
            yield Text(layout.module("types"), body, sources, is_package=True)
            yield from (group.text() for group in groups)
        kinds = [*(own.kind for own in self.own), *(kind for group in groups for kind in group.kinds)]
        yield from render(expanded(kinds, read_expansions(options.expansions, self.problems), self.problems), layout)
        yield from apply_texts({own.kind: own.cls for own in self.own}, groups, layout)
        if "openapi" in self.generators:
            schemas = self._published(kind for group in groups for kind in group.kinds)
            yield from openapi_texts(self.own, schemas, layout, self.problems, allow_floats=options.allow_floats)

    def _published(self, kinds: Iterable[Kind]) -> dict[Kind, Schema]:
        """Return the schemas of third-party kinds."""
        found: dict[Kind, Schema] = {}
        by_name = {kind.api.gvk: kind for kind in self.foreign}
        for kind in kinds:
            try:
                found[kind] = published_schema(by_name[kind.api.gvk])
            except Unpublishable as error:
                message = f"the schema of {kind.api.gvk} cannot be an OpenAPI definition: {error}"
                self.problems.at_module(kind.source, 0, f"{message}; remove openapi from --generators")
        return found

    def _is_wanted(self, text: Text) -> bool:
        below = text.module.removeprefix(self.options.output_package).removeprefix(".").partition(".")[0]
        return not below or any(below in SUBPACKAGES.get(name, ()) for name in self.generators)
