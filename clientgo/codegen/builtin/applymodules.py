"""The texts of `applyconfigurations/<group>_<version>.py`: the built-in types again, with no field that must be given.

They are placed as the types are, so that one group's loads no other's. What is only the body of a request, or can't be
applied, is a part like any other.
"""

from collections.abc import Iterator
from typing import Any

from clientgo.codegen.applyconfigs import RUNTIME, SUFFIX, apply_class, mentioned, runtime_names
from clientgo.codegen.builtin.groups import plain_name
from clientgo.codegen.builtin.models import OURS
from clientgo.codegen.builtin.survey import Survey
from clientgo.codegen.builtin.typemodules import borrowed_types, struct_of
from clientgo.codegen.source import import_line, names_list
from clientgo.codegen.texts import fill
from clientgo.codegen.thirdparty.modules import STANDARD

DOC = "Apply configurations of the built-in kinds, one module for each group version."


def apply_texts(survey: Survey, package: str) -> Iterator[tuple[str, str]]:
    """Module name and body (no header) of every module of apply configurations."""
    for module in sorted({*survey.places.values()}):
        yield module, _module_text(survey, module, package)


def _module_text(survey: Survey, module: str, package: str) -> str:
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
    # Kinds that other groups embed are defined elsewhere; whoever looks for them looks in their group.
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
