"""Source of the modules of built-in types and of their apply configurations."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from clientgo.codegen.builtin.groups import OfficialKind, plain_name
from clientgo.codegen.builtin.models import OURS, Model
from clientgo.codegen.builtin.survey import Survey, in_order
from clientgo.codegen.model import STATUS_VERBS
from clientgo.codegen.render.applyconfigurations import RUNTIME, SUFFIX, apply_class, runtime_names
from clientgo.codegen.render.source import import_line, mentioned, names_list, quoted, tuple_text
from clientgo.codegen.render.structs import StructType, struct_text
from clientgo.codegen.render.templatefiles import fill
from clientgo.codegen.render.thirdparty import STANDARD
from clientgo.meta.scheme import ALL_VERBS

_TYPE_DOCS = {
    "shared": "Types that several API groups use.",
    "pods": "Pods as templates and what they are made of: types that core/v1, apps/v1 and batch/v1 use.",
    "volumes": "Persistent volumes and what they are made of: types that core/v1 and storage.k8s.io/v1 use.",
}


def type_texts(survey: Survey, package: str) -> Iterator[tuple[str, str]]:
    """Yield name and source of the modules of types."""
    for module in sorted({*survey.places.values()}):
        yield module, _types_text(survey, module, package)


def _types_text(survey: Survey, module: str, package: str) -> str:
    kinds = {kind.model: kind for group in survey.kinds.values() for kind in group}
    own = in_order(survey.models[c] for c, place in survey.places.items() if place == module)
    later = {model.name for model in own}
    texts = []
    for model in own:
        texts.append(struct_text(_quoting(struct_of(model, kinds.get(model.official)), later)))
        later.discard(model.name)
    classes = "\n\n\n".join(texts)
    offered = {model.name for model in own}
    borrowed = borrowed_types(survey, module, own)
    for names in borrowed.values():
        offered |= names
    imports = _type_imports(classes, {f"{package}.types.{place}": names for place, names in borrowed.items()})
    head = f'"""{_doc(survey, module)}"""\n\n{imports}\n\n'
    return f"{head}{names_list(offered)}\n\n\n{classes}\n"


def _quoting(struct: StructType, later: set[str]) -> StructType:
    """Replace annotations that mention a class not defined yet by strings.

    Only these: strings are compiled and evaluated when the first client of a kind is created.
    """
    names = re.compile(rf"\b({'|'.join(map(re.escape, sorted(later)))})\b")
    attributes = (
        replace(one, type=quoted(one.type) if names.search(one.type) else one.type) for one in struct.attributes
    )
    return replace(struct, attributes=tuple(attributes))


def _doc(survey: Survey, module: str) -> str:
    if module in _TYPE_DOCS:
        return _TYPE_DOCS[module]
    kind = survey.kinds[module][0]
    return f"The types of {kind.group or 'core'}/{kind.version}."


def struct_of(model: Model, kind: OfficialKind | None = None) -> StructType:
    """Return the record of a class, with `@api_type` if it is a kind."""
    return StructType(
        name=model.name, doc=model.doc, attributes=model.attributes, mark=_mark(kind) if kind is not None else ()
    )


def _mark(kind: OfficialKind) -> tuple[str, ...]:
    mark = [f"group={quoted(kind.group)}", f"version={quoted(kind.version)}"]
    if not kind.namespaced:
        mark.append('scope="Cluster"')
    if not kind.status:
        mark.append("status=False")
    if kind.scale:
        mark.append('scale=ScaleSubresource(".spec.replicas", ".status.replicas")')
    if kind.verbs != set(ALL_VERBS) - (set() if kind.status else set(STATUS_VERBS)):
        mark.append(tuple_text((verb for verb in ALL_VERBS if verb in kind.verbs), prefix="verbs="))
    return tuple(mark)


def borrowed_types(survey: Survey, module: str, own: Iterable[Model]) -> dict[str, set[str]]:
    """Return the types that a module imports from others, by module."""
    # A group offers every type its kinds reach, wherever it is defined; `pods` only takes what it mentions.
    wanted: set[type[Any]] = set(survey.uses.get(module, ()))
    for model in own:
        wanted |= model.needs
    borrowed: dict[str, set[str]] = {}
    for official in wanted:
        place = survey.places.get(official)
        if place is not None and place != module:
            borrowed.setdefault(place, set()).add(survey.models[official].name)
    return borrowed


def _type_imports(classes: str, borrowed: dict[str, set[str]]) -> str:
    def used(*names: str) -> list[str]:
        return [name for name in names if re.search(rf"\b{name}\b", _code(classes))]

    standard = [
        import_line(module, found)
        for module, found in [
            ("collections.abc", used("Mapping")),
            ("datetime", used("datetime")),
            ("typing", used("Any")),
        ]
        if found
    ]
    ours = {
        "clientgo.meta.objects": used(
            "EMPTY_MAP", "NO_ITEMS", "ListOf", "MicroTime", "StructWithLists", *OURS.values()
        ),
        "clientgo.meta.scheme": used("ScaleSubresource", "api_type"),
        **{module: sorted(names) for module, names in borrowed.items()},
    }
    local = [import_line(module, names) for module, names in sorted(ours.items()) if names]
    msgspec = ["import msgspec"] if used("msgspec") else []
    return "\n\n".join("\n".join(part) for part in (standard, msgspec, local) if part)


def _code(text: str) -> str:
    return re.sub(r'"""[^\n]*"""', "", text)


APPLY_DOC = "Apply configurations of the built-in kinds, one module for each group version."


def apply_texts(survey: Survey, package: str) -> Iterator[tuple[str, str]]:
    """Yield name and source of the modules of apply configurations."""
    for module in sorted({*survey.places.values()}):
        yield module, _apply_text(survey, module, package)


def _apply_text(survey: Survey, module: str, package: str) -> str:
    own = [survey.models[official] for official, place in survey.places.items() if place == module]
    own.sort(key=lambda model: model.name)
    applied = {kind.model for group in survey.kinds.values() for kind in group if "apply" in kind.verbs}
    kinds = {model.name for model in own if model.official in applied}
    known = {model.name for model in survey.models.values()} | {"ObjectMeta"}
    structs = [struct_of(model) for model in own]
    classes = "\n\n\n".join(apply_class(s, known, kind=s.name if s.name in kinds else "") for s in structs)
    imports = {
        "clientgo.meta.objects": mentioned(classes, ("MicroTime", *OURS.values())),
        RUNTIME: runtime_names(classes),
        f"{package}.types.{module}": sorted(kinds),
    }
    # Kinds that other groups embed are defined elsewhere, and also exported by their own group.
    lent = {plain_name(model.__name__) for model in applied if model in _kinds_of(survey, module)} - kinds
    for place, names in borrowed_types(survey, module, own).items():
        wanted = [f"{name}{SUFFIX}" for name in names]
        offered = [f"{name}{SUFFIX}" for name in names if name in lent]
        imports[f"{package}.applyconfigurations.{place}"] = sorted({*mentioned(classes, wanted), *offered})
    standard = [import_line(name, used) for name, names in STANDARD.items() if (used := mentioned(classes, names))]
    msgspec = ["import msgspec"] if "msgspec.field" in classes else []
    msgspec.append("from msgspec import UNSET, UnsetType")
    local = [import_line(name, names) for name, names in sorted(imports.items()) if names]
    return fill(
        "applyconfigurations",
        api_version=module,
        imports="\n\n".join("\n".join(part) for part in (standard, msgspec, local) if part),
        names=names_list(f"{name}{SUFFIX}" for name in (*(struct.name for struct in structs), *lent)),
        classes=classes,
    )


def _kinds_of(survey: Survey, module: str) -> set[type[Any]]:
    return {kind.model for kind in survey.kinds.get(module, ())}
