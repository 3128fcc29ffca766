"""Flow schemas and priority levels that responses name in their headers. Requests are not queued by them."""

from functools import lru_cache

from clientgo_apiserver.api.users import AUTHENTICATED, MASTERS, SERVICE_ACCOUNTS, User
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.stored import Key

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


def flow_uids(state: State, user: User) -> tuple[str, str]:
    """Return the uids of the flow schema and the priority level of a user's requests; empty without flow schemas."""
    schema, level = _flow_of(user.groups)
    flow = state.store.entry(_SCHEMAS, "", schema)
    priority = state.store.entry(_LEVELS, "", level) if flow is not None else None
    if flow is None or priority is None:
        return "", ""
    return flow.object["metadata"]["uid"], priority.object["metadata"]["uid"]


@lru_cache(maxsize=256)
def _flow_of(groups: tuple[str, ...]) -> tuple[str, str]:
    return next(((schema, level) for group, schema, level in _FLOWS if group in groups), ("catch-all", "catch-all"))
