"""Source of the modules of built-in types and of their apply configurations."""

from dataclasses import replace

from clientgo.codegen.builtin.groups import GROUPS, OFFICIAL_VERSION
from clientgo.codegen.builtin.survey import Survey, in_order
from clientgo.codegen.crd.builtinfacts import definition_name
from clientgo.codegen.model import short_name
from clientgo.codegen.render.applyconfigurations import SUFFIX, apply_text
from clientgo.codegen.render.structs import StructType, types_text
from clientgo.codegen.render.templatefiles import Layout
from clientgo.meta.schema.since import additions
from clientgo.meta.scheme import ApiType

_TITLES = {
    "shared": "Types that {} use.",
    "core_events": "Events of {}.",
    "pods": "Pods as templates and what they are made of: types that {} use.",
    "volumes": "Persistent volumes and what they are made of: types that {} use.",
}

_REFERENCE = f"https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.{OFFICIAL_VERSION.removesuffix('.0')}/"
_FULL_GROUPS = {short_name(group): group for group, _ in GROUPS.values()}

_USERS = {
    "shared": "several API groups",
    "core_events": "core/v1",
    "pods": "core/v1, apps/v1 and batch/v1",
    "volumes": "core/v1 and storage.k8s.io/v1",
}
"""API groups whose objects consist of a module's types."""


def type_module(survey: Survey, module: str, layout: Layout) -> str:
    """Return the source of a module of types."""
    users = _USERS.get(module) or _api_version(survey.kinds[module][0].api)
    title = _TITLES.get(module, "The types of {}.").format(users)
    borrowed = {layout.module("types", owner): names for owner, names in survey.borrowed(module).items()}
    records = [_documented(model.record, module, users) for model in in_order(survey.defined(module))]
    return types_text(title, records, layout, borrowed)


def _documented(record: StructType, module: str, users: str) -> StructType:
    """Return the record with a docstring of our own and a link: the texts of the official models are not copied."""
    text = f"{record.name} of {_api_version(record.api)}" if record.api else f"Part of objects of {users}"
    return replace(record, doc=f"{text} ({reference_url(module, record.name)}).{_since(record)}")


def _since(record: StructType) -> str:
    """Return which version of Kubernetes introduced a type, or some of its fields, with the gates that they need."""
    added = additions().get(record.name, {})
    if "" in added:
        return f" Since Kubernetes {added[''].version}."
    fields: dict[str, list[str]] = {}
    for attribute in record.attributes:
        if attribute.json_name in added:
            version, gates = added[attribute.json_name]
            name = f"{attribute.name} ({', '.join(gates)})" if gates else attribute.name
            fields.setdefault(version, []).append(name)
    return "".join(f" Since Kubernetes {version}: {', '.join(names)}." for version, names in sorted(fields.items()))


def reference_url(module: str, name: str) -> str:
    """Return the address of a type in the API reference of the release that the models are from."""
    group, version, _ = definition_name(module, name).rsplit(".", 2)[-3:]
    group = group.rpartition(".")[2]
    anchor = "-".join((name.lower(), version, *(_FULL_GROUPS.get(group) or group).split(".")))
    return f"{_REFERENCE}#{anchor}"


def _api_version(api: ApiType) -> str:
    return f"{api.group or 'core'}/{api.version}"


def apply_module(survey: Survey, module: str, layout: Layout) -> str:
    """Return the source of a module of apply configurations."""
    records = [model.record for model in survey.defined(module)]
    applied = {record.name for record in records if record.api is not None and "apply" in record.api.verbs}
    # Kinds that other groups embed are defined elsewhere, and also exported by their own group.
    kinds = {kind.api.kind for kind in survey.kinds.get(module, ()) if "apply" in kind.api.verbs}
    borrowed = {
        layout.module("applyconfigurations", owner): [f"{name}{SUFFIX}" for name in names]
        for owner, names in survey.borrowed(module).items()
    }
    return apply_text(
        f"Apply configurations for {module}.",
        records,
        dict.fromkeys(sorted(applied), layout.module("types", module)),
        layout,
        nested=(model.record.name for model in survey.models.values()),
        borrowed=borrowed,
        lent=[f"{kind}{SUFFIX}" for kind in kinds - applied],
    )
