"""Source of the generated clients, clientset, scheme and fake clientset.

The templates look like their output and hold no conditions and no loops: variants are templates of their own, or
another base class.
"""

from collections.abc import Iterable, Iterator, Sequence

from clientgo.codegen.model import STATUS_VERBS, GroupVersion, Kind, group_versions
from clientgo.codegen.render.caches import cache_texts
from clientgo.codegen.render.methods import bodies_of, method_text
from clientgo.codegen.render.source import Code, assignment, call
from clientgo.codegen.render.templatefiles import (
    Import,
    Layout,
    Text,
    fill,
    group_imports,
    import_block,
    import_of,
    joined,
    load,
    used_imports,
)
from clientgo.meta.scheme import ALL_VERBS


def render(kinds: Iterable[Kind], layout: Layout) -> list[Text]:
    """Return all modules of clients and caches for these kinds."""
    groups = group_versions(kind for kind in kinds if kind.has_client)
    sources = tuple(sorted({source for group in groups for source in group.sources}))
    return [
        *_packages(layout, sources),
        *(_clients(group, layout) for group in groups),
        _clientset(groups, layout, sources),
        _scheme(groups, layout, sources),
        _fake(layout, sources),
        *cache_texts(groups, layout, sources),
    ]


def _packages(layout: Layout, sources: tuple[str, ...]) -> Iterator[Text]:
    docs = {
        layout.package: "Generated clients, listers and informers.",
        layout.module("listers"): "Listers: read access to the caches of informers, one class for each kind.",
    }
    single = {layout.module("informers"): ("Informers and their factory.", "factory", "SharedInformerFactory")}
    clients = layout.module(layout.clients)
    if layout.module(layout.clientset).startswith(clients + "."):
        single[clients] = ("Typed clients and their clientset.", "clientset", "Clientset")
    else:
        docs[clients] = "Typed clients, one class for each kind."
    for package, doc in docs.items():
        yield Text(package, fill("package", doc=doc), sources, is_package=True)
    for package, (doc, module, name) in single.items():
        body = fill("package_of_one", doc=doc, package=package, module=module, name=name)
        yield Text(package, body, sources, is_package=True)


_PLACES = {
    "clientgo.meta.codec": ("ObjectList",),
    "clientgo.meta.listwatch": ("ListOptions",),
    "clientgo.rest.request": ("MERGE_PATCH",),
    "clientgo.typed.client": ("StatusClient", "TypedClient"),
    "clientgo.typed.create": ("CreateClient",),
    "clientgo.typed.scale": ("ScaleClient",),
    "clientgo.typed.subresources": ("SubresourceClient",),
    "clientgo.typed.watch": ("ObjectWatch",),
}


def _clients(group: GroupVersion, layout: Layout) -> Text:
    classes = joined((_client(kind) for kind in group.kinds), blank_lines=2)
    imports: list[Import] = [("clientgo.typed.create", ["ClientGroup"])]
    for kind in group.kinds:
        for target in (f"{kind.module}:{kind.class_name}", kind.client_base, *bodies_of(kind)):
            imports += import_of(target)
    body = fill(
        "clients",
        api_version=group.api_version,
        group_version=group.class_name,
        imports=used_imports(classes, _PLACES, layout, more=imports),
        clients=classes,
        kinds=assignment("    kinds = ", tuple(Code(kind.class_name) for kind in group.kinds)),
        accessors=joined(_accessor(kind) for kind in group.kinds),
    )
    return Text(layout.module(layout.clients, group.module), body, group.sources)


def _base(kind: Kind) -> str:
    if kind.api.verbs == ("create",):
        return "CreateClient"
    if kind.api.scale is not None:
        return "ScaleClient"
    return "StatusClient" if kind.api.status else "TypedClient"


def _client(kind: Kind) -> str:
    name, base = kind.class_name, kind.client_base.partition(":")[2]
    bases = [base] if base else []
    bases += [f"SubresourceClient[{name}]"] if kind.methods else []
    head = call(f"class {name}Client", [*bases, f"{_base(kind)}[{name}]"], end=":")
    methods = "".join(f"\n\n{method_text(method)}" for method in kind.methods)
    return fill("client", name=name, head=head, doc=_client_doc(kind), methods=methods)


def _client_doc(kind: Kind) -> str:
    possible = [verb for verb in ALL_VERBS if kind.api.status or verb not in STATUS_VERBS]
    served = [verb for verb in possible if verb in kind.api.verbs]
    missing = [verb for verb in possible if verb not in kind.api.verbs]
    if served == ["create"]:
        return f"Client that creates {kind.class_name} objects, the only verb that the API server supports."
    if missing:
        limits = f"all verbs except {', '.join(missing)}" if len(missing) < len(served) else f"only {', '.join(served)}"
        return f"Client for {kind.class_name} objects; the API server supports {limits}."
    return f"Client for {kind.class_name} objects{' and their status' if kind.api.status else ''}."


def _accessor(kind: Kind) -> str:
    template = "client_namespaced" if kind.api.namespaced else "client_cluster"
    return fill(template, name=kind.class_name, accessor=kind.accessor)


def _clientset(groups: Sequence[GroupVersion], layout: Layout, sources: tuple[str, ...]) -> Text:
    places = {group: layout.module(layout.clients, group.module) for group in groups}
    imports: list[Import] = [(module, [group.class_name]) for group, module in places.items()]
    properties = joined(
        fill(
            "clientset_group",
            module=group.module,
            group_version=group.class_name,
            api_version=group.api_version,
            load=load(module, group.class_name, layout),
        )
        for group, module in places.items()
    )
    block = group_imports(imports, [("clientgo.typed.clientset", ["BaseClientset"])], layout)
    return Text(layout.module(layout.clientset), fill("clientset", imports=block, groups=properties), sources)


def _scheme(groups: Sequence[GroupVersion], layout: Layout, sources: tuple[str, ...]) -> Text:
    imports: list[Import] = [
        ("clientgo.meta.scheme", ["Scheme"]),
        *((layout.module(layout.clients, group.module), [group.class_name]) for group in groups),
    ]
    # Bodies of subresources are not among the kinds of a group.
    bodies = sorted({target for group in groups for kind in group.kinds for target in bodies_of(kind)})
    imports += [target for body in bodies for target in import_of(body)]
    named = [f"*{group.class_name}.kinds" for group in groups] + [body.partition(":")[2] for body in bodies]
    kinds = assignment("KINDS: tuple[type, ...] = ", tuple(map(Code, named)))
    body = fill("scheme", imports=import_block(imports, layout), kinds=kinds)
    return Text(layout.module(layout.scheme), body, sources)


def _fake(layout: Layout, sources: tuple[str, ...]) -> Text:
    imports: list[Import] = [
        ("clientgo.testing.fake", ["FakeClientsetMixin"]),
        (layout.module(layout.clientset), ["Clientset"]),
        (layout.module(layout.scheme), ["SCHEME"]),
    ]
    return Text(layout.fake_module, fill("fake", imports=import_block(imports, layout)), sources)
