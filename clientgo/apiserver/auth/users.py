"""Who makes a request. Users are not objects of the API: they are what tokens, certificates and headers stand for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

Object = dict[str, Any]

AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
MASTERS = "system:masters"
SERVICE_ACCOUNTS = "system:serviceaccounts"
_SERVICE_ACCOUNT = "system:serviceaccount:"


@dataclass(frozen=True, slots=True)
class User:
    """A name with the groups it belongs to, as user.Info has them."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def info(self) -> Object:
        """The user as authentication.k8s.io/v1 UserInfo; empty members are left out."""
        shown: Object = {"username": self.name, "uid": self.uid, "groups": list(self.groups)}
        shown["extra"] = {key: list(values) for key, values in self.extra.items()}
        return {member: value for member, value in shown.items() if value}


ANONYMOUS = User("system:anonymous", (UNAUTHENTICATED,))
ADMIN = User("kubernetes-admin", (MASTERS, AUTHENTICATED))


def authenticated(name: str, *groups: str, uid: str = "") -> User:
    """A user whose credentials count: a member of system:authenticated besides the groups given."""
    return User(name, (*(group for group in groups if group != AUTHENTICATED), AUTHENTICATED), uid)


def service_account(
    namespace: str, name: str, uid: str = "", extra: Mapping[str, tuple[str, ...]] = MappingProxyType({})
) -> User:
    """The user a service account's token stands for."""
    groups = (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}", AUTHENTICATED)
    return User(f"{_SERVICE_ACCOUNT}{namespace}:{name}", groups, uid, extra)


def service_account_name(user: str) -> tuple[str, str] | None:
    """Namespace and name of the service account a user name stands for, or None."""
    if not user.startswith(_SERVICE_ACCOUNT):
        return None
    namespace, colon, name = user.removeprefix(_SERVICE_ACCOUNT).partition(":")
    return (namespace, name) if colon and namespace and name else None
