"""API server in process with RBAC, and three users: an administrator, bob (in the team) and eve."""

from typing import Any

from apiserver.tests.inprocess import Kube
from clientgo_apiserver.api.users import ADMIN, User, authenticated
from clientgo_apiserver.state import ServerOptions

Object = dict[str, Any]

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLES = f"{RBAC}/namespaces/default/roles"
BINDINGS = f"{RBAC}/namespaces/default/rolebindings"
CLUSTER_ROLES = f"{RBAC}/clusterroles"
CLUSTER_BINDINGS = f"{RBAC}/clusterrolebindings"
USERS: dict[str, User] = {"admin": ADMIN, "bob": authenticated("bob", "team"), "eve": authenticated("eve")}


class Guarded(Kube):
    """A server with RBAC; `acting` is the user whose token is sent ("" sends none)."""

    def __init__(self, version: str = "") -> None:
        self.acting = "admin"
        super().__init__(ServerOptions(tokens=dict(USERS), authorization="RBAC"), version=version)

    def send(self, method: str, url: str, body: Any = None, kind: str = "application/json", **headers: str) -> Any:
        if self.acting:
            headers = {"authorization": f"Bearer {self.acting}", **headers}
        return super().send(method, url, body, kind, **headers)

    def role(self, name: str, *rules: Object, cluster: bool = False, **fields: Any) -> None:
        self.ok(
            "POST", CLUSTER_ROLES if cluster else ROLES, {"metadata": {"name": name}, "rules": list(rules), **fields}
        )

    def bind(self, kind: str, name: str, subject: Object, *, cluster: bool = False) -> None:
        group = "rbac.authorization.k8s.io"
        reference = {"apiGroup": group, "kind": kind, "name": name}
        body = {"metadata": {"name": f"bind-{name}"}, "roleRef": reference, "subjects": [subject]}
        self.ok("POST", CLUSTER_BINDINGS if cluster else BINDINGS, body)


def user(name: str) -> Object:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}


def rule(verbs: str, resources: str, group: str = "", **more: Any) -> Object:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split(), **more}
