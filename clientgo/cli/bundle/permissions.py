"""What each service account of the Deployments may do, as OLM wants it: rules beside the account, not bound roles."""

from collections.abc import Iterable

from clientgo.cli.bundle.objects import Object, at, mappings, name_of, of_kind
from clientgo.cli.bundle.rendered import Rendered


def permissions(rendered: Rendered) -> tuple[list[Object], list[Object]]:
    """(in the namespaces that the operator is for, in the whole cluster), by account."""
    roles = {(one["kind"], name_of(one)): mappings(one.get("rules")) for one in _roles(rendered)}
    bindings = rendered.bindings()
    return (
        _by_account(of_kind(bindings, "RoleBinding"), roles),
        _by_account(of_kind(bindings, "ClusterRoleBinding"), roles),
    )


def _roles(rendered: Rendered) -> list[Object]:
    return of_kind(rendered.objects, "Role", "ClusterRole")


def _by_account(bindings: Iterable[Object], roles: dict[tuple[str, str], list[Object]]) -> list[Object]:
    found: dict[str, list[Object]] = {}
    for binding in bindings:
        rules = roles.get((at(binding, "roleRef.kind"), at(binding, "roleRef.name")), [])
        for account in {str(one.get("name")) for one in mappings(binding.get("subjects"))}:
            found.setdefault(account, []).extend(rules)
    return [{"serviceAccountName": account, "rules": rules} for account, rules in sorted(found.items()) if rules]
