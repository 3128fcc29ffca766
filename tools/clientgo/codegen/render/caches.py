"""Source of the generated listers, informers and informer factory."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from clientgo.codegen.model import GroupVersion, Kind
from clientgo.codegen.names import class_case
from clientgo.codegen.render.source import WIDTH, call, quoted
from clientgo.codegen.render.templatefiles import Import, Layout, Text, fill, group_imports, import_block, joined, load


def cache_texts(groups: Sequence[GroupVersion], layout: Layout, sources: tuple[str, ...]) -> Iterator[Text]:
    """Yield the modules for the kinds that can be listed and watched."""
    cached = [group for group in map(_cached, groups) if group.kinds]
    for group in cached:
        yield _listers(group, layout)
        yield _informers(group, layout)
    by_name = [(name, list(versions)) for name, versions in groupby(cached, lambda group: group.name)]
    for name, versions in by_name:
        yield _group(name, versions, layout)
    yield _factory([(name, versions[0].group) for name, versions in by_name], cached, layout, sources)


def _cached(group: GroupVersion) -> GroupVersion:
    return replace(group, kinds=tuple(kind for kind in group.kinds if kind.has_cache))


def _listers(group: GroupVersion, layout: Layout) -> Text:
    imports: list[Import] = [("clientgo.cache.lister", ["Lister"])]
    imports += [(kind.module, [kind.class_name]) for kind in group.kinds]
    body = fill(
        "listers",
        api_version=group.api_version,
        imports=import_block(imports, layout),
        listers=joined(map(_lister, group.kinds), blank_lines=2),
    )
    return Text(layout.module("listers", group.module), body, group.sources)


def _lister(kind: Kind) -> str:
    template = "lister_namespaced" if kind.api.namespaced else "lister_cluster"
    head = call(f"class {kind.class_name}Lister", [f"Lister[{kind.class_name}]"], end=":")
    return fill(template, name=kind.class_name, accessor=kind.accessor, head=head)


def _informers(group: GroupVersion, layout: Layout) -> Text:
    clients = layout.module(layout.clients, group.module)
    listers = layout.module("listers", group.module)
    imports: list[Import] = [("clientgo.cache.factory", ["InformerGroup", "KindInformer"])]
    for kind in group.kinds:
        imports += [
            (kind.module, [kind.class_name]),
            (clients, [f"{kind.class_name}Client"]),
            (listers, [f"{kind.class_name}Lister"]),
        ]
    body = fill(
        "informers",
        api_version=group.api_version,
        group_version=group.class_name,
        imports=import_block(imports, layout),
        informers=joined(map(_informer, group.kinds), blank_lines=2),
        accessors=joined(
            fill("informer_accessor", name=kind.class_name, accessor=kind.accessor) for kind in group.kinds
        ),
    )
    return Text(layout.module("informers", group.module), body, group.sources)


def _informer(kind: Kind) -> str:
    name = kind.class_name
    return fill(
        "informer", name=name, head=call(f"class {name}Informer", [f"KindInformer[{name}, {name}Lister]"], end=":")
    )


def _group(name: str, versions: Sequence[GroupVersion], layout: Layout) -> Text:
    package = layout.module("informers")
    imports = [(f"{package}.{version.module}", [f"{version.class_name}Informers"]) for version in versions]
    properties = joined(
        fill(
            "informer_version",
            version=version.version_name,
            group_version=version.class_name,
            api_version=version.api_version,
        )
        for version in versions
    )
    group = versions[0].group or "core"
    block = import_block([*imports, ("clientgo.cache.factory", ["InformerGroup"])], layout)
    body = fill("informer_group", group=group, group_class=class_case(name), imports=block, versions=properties)
    sources = tuple(sorted({source for version in versions for source in version.sources}))
    return Text(f"{package}.{name}", body, sources)


def _factory(
    names: Sequence[tuple[str, str]], groups: Sequence[GroupVersion], layout: Layout, sources: tuple[str, ...]
) -> Text:
    package = layout.module("informers")
    classes = {name: f"{class_case(name)}Informers" for name, _ in names}
    imports = [(f"{package}.{name}", [class_name]) for name, class_name in classes.items()]
    needed: list[Import] = [
        ("clientgo.cache.factory", ["InformerFactory"]),
        ("clientgo.meta.objects", ["GroupVersionResource"]),
    ]
    accessors = joined(
        fill(
            "factory_group",
            name=name,
            group=group or "core",
            group_class=class_case(name),
            load=load(f"{package}.{name}", classes[name], layout),
        )
        for name, group in names
    )
    places = "\n".join(_entry(kind, f"{package}.{group.module}") for group in groups for kind in group.kinds)
    block = group_imports(imports, needed, layout)
    return Text(f"{package}.factory", fill("factory", imports=block, resources=places, groups=accessors), sources)


def _entry(kind: Kind, module: str) -> str:
    key = ", ".join(quoted(part) for part in (kind.api.group, kind.api.version, kind.api.plural))
    head, target = f"        GroupVersionResource({key}): ", quoted(f"{module}:{kind.class_name}Informer")
    line = f"{head}{target},"
    return line if len(line) <= WIDTH else f"{head}(\n            {target}\n        ),"
