"""Source of the modules of built-in types and of their apply configurations."""

from clientgo.codegen.builtin.survey import Survey, in_order
from clientgo.codegen.render.applyconfigurations import SUFFIX, apply_text
from clientgo.codegen.render.structs import types_text
from clientgo.codegen.render.templatefiles import Layout

_TITLES = {
    "shared": "Types that several API groups use.",
    "core_events": "Events of core/v1.",
    "pods": "Pods as templates and what they are made of: types that core/v1, apps/v1 and batch/v1 use.",
    "volumes": "Persistent volumes and what they are made of: types that core/v1 and storage.k8s.io/v1 use.",
}


def type_module(survey: Survey, module: str, layout: Layout) -> str:
    """Return the source of a module of types."""
    title = _TITLES.get(module)
    if title is None:
        api = survey.kinds[module][0].api
        title = f"The types of {api.group or 'core'}/{api.version}."
    borrowed = {layout.module("types", owner): names for owner, names in survey.borrowed(module).items()}
    return types_text(title, [model.record for model in in_order(survey.defined(module))], layout, borrowed)


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
