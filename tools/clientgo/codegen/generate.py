"""A run of the generator: reads the inputs and returns the contents of files."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from clientgo.codegen.crd.manifest import crds
from clientgo.codegen.crd.patch import patched_files
from clientgo.codegen.crd.schema import SchemaMaker
from clientgo.codegen.files import Manifests, Output, header_of
from clientgo.codegen.inputs.apitypes import OwnKind, read_modules
from clientgo.codegen.inputs.crds import ForeignKind, check_foreign, read_definitions
from clientgo.codegen.inputs.declarations import check_declarations, read_declarations
from clientgo.codegen.inputs.openapi import read_documents
from clientgo.codegen.manifests import openapi_files, role_files, webhook_files
from clientgo.codegen.options import FOLDERS, SUBPACKAGES, CodegenOptions
from clientgo.codegen.problems import Problems
from clientgo.codegen.rbac import built_in_kinds
from clientgo.codegen.render.applyconfigurations import apply_texts
from clientgo.codegen.render.clients import render
from clientgo.codegen.render.openapi import openapi_texts, published_schemas
from clientgo.codegen.render.templatefiles import Layout, Text, fill
from clientgo.codegen.render.thirdparty import foreign_groups, warnings_about
from clientgo.meta.scheme import ApiType


def generate(options: CodegenOptions, problems: Problems) -> Output:
    """Return the output for the options; invalid if anything is reported to `problems`.

    Raises:
        CodegenError: the header cannot be read.
    """
    generators, package = options.selected, options.output_package
    own_kinds = read_modules(options.input, problems)
    foreign = [*read_definitions(options.from_crd, problems), *read_documents(options.from_openapi, problems)]
    check_foreign(
        own_kinds, foreign, problems, needed=bool(generators - {"rbac", "webhook"} or not options.declarations)
    )
    for warning in (warning for kind in foreign if package is not None for warning in warnings_about(kind)):
        problems.warn(warning)
    output = Output(header_of(options))
    if generators.intersection(SUBPACKAGES) and package is not None and not problems:
        _add_modules(output, options, package, list(_modules(options, package, own_kinds, foreign, problems)), problems)
    declared = read_declarations(options.declarations, problems)
    check_declarations(
        declared,
        _plurals((kind.api for kind in own_kinds), (kind.api for kind in foreign)),
        _plurals(built_in_kinds().values() if declared else ()),
        problems,
    )
    maker = SchemaMaker(
        problems,
        allow_floats=options.allow_floats,
        embedded_meta=options.embedded_metadata,
        max_description=options.max_description,
    )
    manifests: Mapping[str, Callable[[], Manifests]] = {
        "crd": partial(crds, own_kinds, maker, problems),
        "openapi": partial(openapi_files, own_kinds, maker),
        "rbac": partial(role_files, declared, own_kinds, foreign, options),
        "webhook": partial(webhook_files, declared),
    }
    for name, files in manifests.items():
        folder = getattr(options, FOLDERS[name])
        if name in generators and folder is not None:
            output.add_manifests(options.root / folder, files())
    output.patched |= patched_files([options.root / path for path in options.patch_schema], own_kinds, maker, problems)
    return output


def _plurals(kinds: Iterable[ApiType], foreign: Iterable[ApiType] = ()) -> dict[str, set[str]]:
    """Return the plurals of these kinds by API group, with those of third-party kinds of the same groups."""
    plurals: dict[str, set[str]] = {}
    for api in kinds:
        plurals.setdefault(api.group, set()).add(api.plural)
    for api in foreign:
        plurals.get(api.group, set()).add(api.plural)
    return plurals


def _add_modules(
    output: Output, options: CodegenOptions, package: str, texts: Sequence[Text], problems: Problems
) -> None:
    folders = {part for name in options.selected.intersection(SUBPACKAGES) for part in SUBPACKAGES[name]}
    prefix = f"{package}."
    selected = [text for text in texts if f"{text.module}.".removeprefix(prefix).partition(".")[0] in (*folders, "")]
    for name, count in Counter(text.module for text in selected).items():
        if count > 1:
            problems.at_module(name, 0, "duplicate module for two groups: put them into separate outputs")
    output.add_modules(selected, options.root)
    output.folders += [options.root / package.replace(".", "/") / folder for folder in folders]


def _modules(
    options: CodegenOptions,
    package: str,
    own_kinds: Sequence[OwnKind],
    foreign: Sequence[ForeignKind],
    problems: Problems,
) -> Iterator[Text]:
    """Yield the modules of the package, of all generators but `openapi`, and of that if it is wanted."""
    layout = Layout(package=package, beside_runtime=(options.root / "clientgo").is_dir())
    groups = list(foreign_groups(foreign, (each.api.group for each in own_kinds), package))
    if groups:
        sources = tuple(sorted({kind.source for group in groups for kind in group.kinds}))
        body = fill("package", doc="Types of third-party kinds.")
        yield Text(layout.module("types"), body, sources, is_package=True)
        yield from (group.text() for group in groups)
    theirs = [kind for group in groups for kind in group.kinds]
    yield from render([*own_kinds, *theirs], layout)
    yield from apply_texts(own_kinds, groups, layout)
    if "openapi" in options.selected:
        schemas = published_schemas(foreign, theirs, problems)
        yield from openapi_texts(own_kinds, schemas, layout, problems, allow_floats=options.allow_floats)
