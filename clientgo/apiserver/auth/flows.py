"""Flow schemas and priority levels that responses name in their headers. Requests are not queued by them."""

from clientgo.apiserver.auth.users import AUTHENTICATED, MASTERS, SERVICE_ACCOUNTS, User
from clientgo.apiserver.state import State
from clientgo.apiserver.storage.stored import Key

GROUP = "flowcontrol.apiserver.k8s.io"
_SCHEMAS: Key = (GROUP, "flowschemas")
_LEVELS: Key = (GROUP, "prioritylevelconfigurations")
# Flow schema and priority level by group of the user, most important first.
_FLOWS = (
    (MASTERS, "exempt", "exempt"),
    ("system:nodes", "system-nodes", "system"),
    (f"{SERVICE_ACCOUNTS}:kube-system", "kube-system-service-accounts", "workload-high"),
    (SERVICE_ACCOUNTS, "service-accounts", "workload-low"),
    (AUTHENTICATED, "global-default", "global-default"),
)


def flow_headers(state: State, user: User) -> list[tuple[str, str]]:
    """Return the headers that name the flow schema and priority level of a user's requests."""
    _, schema, level = next((flow for flow in _FLOWS if flow[0] in user.groups), ("", "catch-all", "catch-all"))
    found = (
        ("X-Kubernetes-Pf-Flowschema-Uid", state.store.entry(_SCHEMAS, "", schema)),
        ("X-Kubernetes-Pf-Prioritylevel-Uid", state.store.entry(_LEVELS, "", level)),
    )
    return [(name, entry.object["metadata"]["uid"]) for name, entry in found if entry is not None]
