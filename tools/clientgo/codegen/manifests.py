"""Generated manifests: roles, webhook configurations and OpenAPI documents."""

from collections.abc import Iterable, Sequence
from typing import Any

from clientgo.codegen.crd.manifest import top_schema
from clientgo.codegen.crd.schema import SchemaMaker
from clientgo.codegen.files import Manifests
from clientgo.codegen.inputs.apitypes import OwnKind
from clientgo.codegen.inputs.crds import ForeignKind
from clientgo.codegen.inputs.declarations import Declared, label_selector
from clientgo.codegen.model import Kind, group_versions, non_empty
from clientgo.codegen.options import CodegenOptions
from clientgo.codegen.rbac import limited, roles, user_roles
from clientgo.codegen.render.openapi import own_name
from clientgo.meta.declarations import RbacRule, WebhookDeclaration

Manifest = dict[str, Any]


def role_files(
    declared: Iterable[Declared], kinds: Sequence[OwnKind], foreign: Iterable[ForeignKind], options: CodegenOptions
) -> Manifests:
    """Return `role.yaml` for the declarations, and admin, editor and viewer roles for each of `kinds`.

    With a `role_namespace`, declarations without one are restricted to it if they are for namespaced resources.
    """
    rules = [(each.declaration, each.source) for each in declared if isinstance(each.declaration, RbacRule)]
    files: dict[str, tuple[list[Manifest], Iterable[str]]] = {}
    if rules:
        selected: Iterable[RbacRule] = (rule for rule, _ in rules)
        if options.role_namespace:
            apis = [*(kind.api for kind in kinds), *(kind.api for kind in foreign)]
            selected = limited(selected, options.role_namespace, apis)
        files["role.yaml"] = roles(selected, options.role_name), [source for _, source in rules]
    # By all versions, so that another stored version changes no name.
    first_groups = {each.api.kind.lower(): each.api.group for each in reversed(kinds)}
    for kind in (each for each in kinds if each.api.storage and each.has_client):
        whole_name = first_groups[kind.api.kind.lower()] != kind.api.group
        for name, role in user_roles(kind, whole_name=whole_name).items():
            files[name] = [role], [kind.source]
    return files


def webhook_files(declared: Iterable[Declared]) -> Manifests:
    """Return `manifests.yaml` with the webhook configurations, if there are any."""
    hooks = [(each.declaration, each.source) for each in declared if isinstance(each.declaration, WebhookDeclaration)]
    configurations = webhook_configurations(hook for hook, _ in hooks)
    return {"manifests.yaml": (configurations, [source for _, source in hooks])} if hooks else {}


def openapi_files(kinds: Iterable[OwnKind], maker: SchemaMaker) -> Manifests:
    """Return an OpenAPI v3 document for each group version, with the schemas of its kinds."""
    files = {}
    classes: dict[Kind, type[Any]] = {kind: kind.cls for kind in kinds}
    for group in group_versions(classes):
        schemas = {}
        for kind in sorted(group.kinds, key=lambda kind: kind.api.kind):
            mark = {"group": group.group, "kind": kind.api.kind, "version": group.version}
            schema = {**top_schema(maker.of_class(classes[kind])), "x-kubernetes-group-version-kind": [mark]}
            schemas[own_name(group.group, group.version, kind.api.kind)] = schema
        document = {
            "openapi": "3.0.0",
            "info": {"title": group.api_version, "version": group.version},
            "paths": {},
            "components": {"schemas": schemas},
        }
        files[f"{group.group}_{group.version}.yaml"] = [document], group.sources
    return files


def webhook_configurations(declared: Iterable[WebhookDeclaration]) -> list[Manifest]:
    """Return the MutatingWebhookConfigurations, then the ValidatingWebhookConfigurations, sorted by name."""
    hooks = sorted(declared, key=lambda hook: hook.name)
    configurations = []
    for sort, mutating in (("Mutating", True), ("Validating", False)):
        objects: dict[str, list[Manifest]] = {}
        for hook in hooks:
            if hook.mutating is mutating:
                name = hook.configuration or f"{sort.lower()}-webhook-configuration"
                objects.setdefault(name, []).append(_webhook(hook))
        configurations += [
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": f"{sort}WebhookConfiguration",
                "metadata": {"name": name},
                "webhooks": mine,
            }
            for name, mine in sorted(objects.items())
        ]
    return configurations


def _webhook(hook: WebhookDeclaration) -> Manifest:
    service = {
        "name": hook.service_name,
        "namespace": hook.service_namespace,
        "path": hook.path,
        **non_empty({"port": hook.service_port}),
    }
    rule = {
        "apiGroups": ["" if group == "core" else group for group in hook.groups],
        "apiVersions": list(hook.versions),
        "operations": [verb.upper() for verb in hook.verbs],
        "resources": list(hook.resources),
    }
    conditions = [{"name": name, "expression": expression} for name, expression in hook.match_conditions.items()]
    return {
        "admissionReviewVersions": list(hook.admission_review_versions),
        "clientConfig": {"url": hook.url} if hook.url else {"service": service},
        "failurePolicy": hook.failure_policy,
        **non_empty({"matchConditions": conditions, "matchPolicy": hook.match_policy}),
        "name": hook.name,
        **non_empty({"namespaceSelector": label_selector(hook.namespace_selector)}),
        **non_empty({"objectSelector": label_selector(hook.object_selector)}),
        **non_empty({"reinvocationPolicy": hook.reinvocation_policy}),
        "rules": [rule],
        "sideEffects": hook.side_effects,
        **non_empty({"timeoutSeconds": hook.timeout_seconds}),
    }
