"""Users of requests. They are not API objects: tokens, certificates and headers identify them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from clientgo.internal.patterns import lazy_pattern
from clientgo_apiserver.api.resources import Object

AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
MASTERS = "system:masters"
SERVICE_ACCOUNTS = "system:serviceaccounts"
_SERVICE_ACCOUNT = "system:serviceaccount:"
_LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_NAMESPACE = lazy_pattern(_LABEL)
_NAME = lazy_pattern(rf"{_LABEL}(?:\.{_LABEL})*")
_MAX_NAMESPACE, _MAX_NAME = 63, 253


@dataclass(frozen=True, slots=True)
class User:
    """A user name with its groups, like user.Info."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def info(self) -> Object:
        """The user as authentication.k8s.io/v1 UserInfo, without empty members."""
        members: Object = {"username": self.name, "uid": self.uid, "groups": list(self.groups)}
        members["extra"] = {key: list(values) for key, values in self.extra.items()}
        return {member: value for member, value in members.items() if value}


ANONYMOUS = User("system:anonymous", (UNAUTHENTICATED,))
ADMIN = User("kubernetes-admin", (MASTERS, AUTHENTICATED), uid="kubernetes-admin")
"""User of the administrator's token; a file of tokens has a uid for each of them."""


def authenticated(name: str, *groups: str, uid: str = "") -> User:
    """Return an authenticated user, a member of system:authenticated and the given groups."""
    return User(name, (*(group for group in groups if group != AUTHENTICATED), AUTHENTICATED), uid)


def service_account(
    namespace: str, name: str, uid: str = "", extra: Mapping[str, tuple[str, ...]] = MappingProxyType({})
) -> User:
    """Return the user of a service account's token."""
    groups = (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}", AUTHENTICATED)
    return User(f"{_SERVICE_ACCOUNT}{namespace}:{name}", groups, uid, extra)


def service_account_name(user: str) -> tuple[str, str] | None:
    """Return the namespace and name of the service account of a user name, or None if it is not a valid one."""
    if not user.startswith(_SERVICE_ACCOUNT):
        return None
    namespace, _, name = user.removeprefix(_SERVICE_ACCOUNT).partition(":")
    if len(namespace) > _MAX_NAMESPACE or len(name) > _MAX_NAME:
        return None
    return (namespace, name) if _NAMESPACE.fullmatch(namespace) and _NAME.fullmatch(name) else None
