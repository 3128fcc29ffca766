"""May this user do that: the question, its answer, and the refusal in Kubernetes' words.

With `Options.authorization` "RBAC" the roles and bindings in the store decide, and members of system:masters may do
anything; with "AlwaysAllow" nobody is asked.
"""

from dataclasses import dataclass

from clientgo.apiserver.auth import rbac
from clientgo.apiserver.auth.users import MASTERS, User
from clientgo.apiserver.http.status import ApiFailure
from clientgo.apiserver.state import State


@dataclass(frozen=True, slots=True)
class Attributes:
    """What somebody wants to do: with a resource, or (when `path` is given) with a path that names none."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def text(self) -> str:
        """`User "u" cannot get resource "pods" ...`, as refusals say it."""
        start = f'User "{self.user.name}" cannot {self.verb}'
        if self.path:
            return f'{start} path "{self.path}"'
        resource = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        place = f'in the namespace "{self.namespace}"' if self.namespace else "at the cluster scope"
        return f'{start} resource "{resource}" in API group "{self.group}" {place}'


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether it is allowed, and by what."""

    allowed: bool
    reason: str = ""


def may_everything(state: State, user: User) -> bool:
    """Whether no role is looked at for this user."""
    return state.options.authorization == "AlwaysAllow" or MASTERS in user.groups


def decide(state: State, attributes: Attributes) -> Decision:
    """Answer the question."""
    if may_everything(state, attributes.user):
        return Decision(True)
    found = rbac.Rules(state.store)
    for grant in found.grants(attributes.user, attributes.namespace):
        if attributes.path:
            allowed = rbac.covers_path(grant.rule, attributes.verb, attributes.path)
        else:
            resource = attributes.resource + (f"/{attributes.subresource}" if attributes.subresource else "")
            allowed = rbac.covers_resource(grant.rule, attributes.verb, attributes.group, resource, attributes.name)
        if allowed:
            return Decision(True, f"RBAC: allowed by {grant.source}")
    return Decision(False, f"RBAC: {', '.join(found.missing)}" if found.missing else "")


def authorize(state: State, attributes: Attributes) -> None:
    """Refuse what is not allowed.

    Raises:
        ApiFailure: 403.
    """
    decision = decide(state, attributes)
    if not decision.allowed:
        raise refusal(attributes, decision.reason)


def refusal(attributes: Attributes, reason: str = "") -> ApiFailure:
    """403: this user may not do this."""
    why = f"{attributes.text}: {reason}" if reason else attributes.text
    if attributes.path:
        return ApiFailure(403, "Forbidden", f"forbidden: {why}", details={})
    resource, group, name = attributes.resource, attributes.group, attributes.name
    qualified = f"{resource}.{group}" if group else resource
    details = {"name": name, "group": group, "kind": resource}
    named = f'{qualified} "{name}"' if name else qualified
    kept = {member: value for member, value in details.items() if value}
    return ApiFailure(403, "Forbidden", f"{named} is forbidden: {why}", details=kept)
