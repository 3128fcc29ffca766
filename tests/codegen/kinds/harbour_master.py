"""Controller of the fleet's kinds, with declared permissions and webhooks."""

from clientgo.meta.declarations import admission_webhook, rbac

NOT_HARBOUR = "not-harbour"
EVENTS = rbac(groups="core", resources="events", verbs=("create", "patch"))
LEASES = (
    rbac(groups="coordination.k8s.io", resources="leases", verbs=("get", "update"), namespace="fleet"),
    rbac(groups="coordination.k8s.io", resources="leases", verbs="create", namespace="fleet"),
)


@rbac(groups="fleet.example.com", resources=("ships", "harbours"), verbs=("list", "watch"))
@rbac(groups="fleet.example.com", resources="ships", verbs="get")
@rbac(groups="fleet.example.com", resources="harbours", verbs=("watch", "get"))
@rbac(groups="fleet.example.com", resources="ships/status", verbs=("update", "*"))
@rbac(groups="apps", resources="deployments", verbs=("get", "list", "watch"))
@rbac(urls="/metrics", verbs="get")
@rbac(urls="/healthz", verbs="get")
class HarbourMaster:
    """Controller of ships and harbours."""

    @rbac(groups="apps", resources="deployments", verbs="patch", resource_names="quay", role_name="quay")
    def moor(self) -> None:
        """Patch the Deployment of the quay."""

    @admission_webhook(
        path="/mutate-ships",
        mutating=True,
        groups="fleet.example.com",
        resources="ships",
        verbs=("create", "update"),
        versions="v1",
        name="mship.fleet.example.com",
        failure_policy="Ignore",
        reinvocation_policy="IfNeeded",
        timeout_seconds=5,
        namespace_selector="fleet=north,!closed",
        object_selector={"rigged": "no"},
        match_conditions={"named": "object.metadata.name != ''", NOT_HARBOUR: "!('harbour' in object.spec)"},
    )
    def rig(self) -> None:
        """Set defaults of a Ship."""


@admission_webhook(
    path="/validate-ships",
    mutating=False,
    groups="fleet.example.com",
    resources="ships",
    verbs="create",
    versions="v1",
    name="vship.fleet.example.com",
    match_policy="Equivalent",
    service_port=8443,
)
@admission_webhook(
    path="",
    url="https://elsewhere.example.com/harbours",
    mutating=False,
    groups="core",
    resources="pods",
    verbs="delete",
    versions="v1",
    name="apods.fleet.example.com",
)
def inspect() -> None:
    """Validate ships, harbours and pods."""
