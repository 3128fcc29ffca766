"""What controllers declare, held against what an API server takes: verbs, groups, resources, names of webhooks."""

from collections.abc import Iterable, Iterator, Mapping

from clientgo.codegen.declarationinput import Declared
from clientgo.codegen.problems import Problems
from clientgo.meta.declarations import Declaration, RbacRule, WebhookDeclaration

_VERBS = frozenset({
    "*", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "use", "bind", "escalate",
    "impersonate", "approve", "sign", "attest", "post", "put", "head", "options",
})  # fmt: skip
_HOOK_VERBS = frozenset({"*", "create", "update", "delete", "connect"})


def check_declarations(found: Iterable[Declared], plurals: Mapping[str, set[str]], problems: Problems) -> None:
    """Tell what is wrong; `plurals` are the resources of the groups that are generated in the same run."""
    for declared in found:
        declaration = declared.declaration
        complaints = _of_rule(declaration) if isinstance(declaration, RbacRule) else _of_webhook(declaration)
        for message in (*complaints, *_unknown(declaration, plurals)):
            problems.at_module(declared.file, declared.line, message)


def _of_rule(rule: RbacRule) -> Iterator[str]:
    if not rule.verbs:
        yield 'a permission without verbs: write verbs=("get", "list", "watch")'
    for verb in rule.verbs:
        if verb not in _VERBS:
            yield f"the verb {verb!r} is unknown: write some of {', '.join(sorted(_VERBS))}"
    if bool(rule.urls) == bool(rule.resources):
        yield "a permission is for resources or for urls: write resources=, with groups=, or urls= alone"
    if rule.resources and not rule.groups:
        yield 'a permission for resources names their group: write groups=, which is "core" for pods'
    if rule.urls and rule.namespace:
        yield "urls belong to no namespace: leave namespace= out"


def _of_webhook(hook: WebhookDeclaration) -> Iterator[str]:
    for verb in hook.verbs:
        if verb not in _HOOK_VERBS:
            yield f"the verb {verb!r} is unknown: write some of {', '.join(sorted(_HOOK_VERBS))}"
    if not hook.path.startswith("/") and not hook.url:
        yield f"the path {hook.path!r} is none: write one that begins with /"
    if hook.name.count(".") < 2:
        yield f"the name {hook.name!r} is not qualified: write one with two dots, such as foo.samples.example.com"
    if hook.reinvocation_policy and not hook.mutating:
        yield "reinvocation_policy is for mutating webhooks: leave it out, or write mutating=True"
    if hook.mutating and hook.side_effects in ("Some", "Unknown"):
        yield "the API server refuses side effects of these: write side_effects='None' or 'NoneOnDryRun'"


def _unknown(declaration: Declaration, plurals: Mapping[str, set[str]]) -> Iterator[str]:
    known = [plurals.get(group) for group in declaration.groups]
    if not all(known):
        return
    for resource in declaration.resources:
        plain = resource.partition("/")[0]
        if plain != "*" and not any(plain in (names or ()) for names in known):
            offered = ", ".join(sorted(name for names in known for name in names or ()))
            yield f"the plural {plain!r} is unknown in {', '.join(declaration.groups)}: write one of {offered}"
