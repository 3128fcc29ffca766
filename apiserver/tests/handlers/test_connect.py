import pytest

from apiserver.tests.guarded import Guarded, rule, user
from apiserver.tests.inprocess import Kube, Object

CORE = "/api/v1/namespaces/default"


@pytest.fixture
def cluster(kube: Kube) -> Kube:
    """Return a server with a node and two pods, of which the second is on the node."""
    kube.ok("POST", "/api/v1/nodes", node("n"))
    kube.ok("POST", f"{CORE}/pods", pod("free"))
    kube.ok("POST", f"{CORE}/pods", pod("p", nodeName="n", containers=("a", "b")))
    kube.ok("POST", f"{CORE}/services", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
    return kube


def node(name: str) -> Object:
    return {"metadata": {"name": name}, "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.7"}]}}


def pod(name: str, nodeName: str = "", containers: tuple[str, ...] = ("a",)) -> Object:  # noqa: N803
    listed = [{"name": container, "image": "i"} for container in containers]
    return {"metadata": {"name": name}, "spec": {"containers": listed, **({"nodeName": nodeName} if nodeName else {})}}


@pytest.mark.parametrize(
    ("path", "code", "reason"),
    [
        ("pods/free/log", 204, ""),
        ("pods/free/exec", 400, "pod free does not have a host assigned"),
        ("pods/free/portforward", 400, "pod free does not have a host assigned"),
        ("pods/none/log", 404, 'pods "none" not found'),
        ("pods/p/log", 400, "a container name must be specified for pod p, choose one of: [a b]"),
        ("pods/p/attach?container=x", 400, "container x is not valid for pod p"),
        (
            "pods/p/log?container=a&tailLines=-1",
            422,
            "tailLines: Invalid value: -1: must be greater than or equal to 0",
        ),
        ("pods/lost/log?tailLines=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("pods/p/log?stream=Stdout", 422, "stream: Forbidden: may not be specified"),
        (
            "pods/p/log?sinceSeconds=5&sinceTime=2020-01-01T00:00:00Z",
            422,
            "[]: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified",
        ),
        ("pods/p/log?container=a", 500, "dial tcp 10.0.0.7:10250: connect: connection refused"),
        ("pods/p/exec?container=a", 400, "Upgrade request required"),
        ("pods/free/proxy/some/page", 400, "address not allowed"),
        ("pods/a:b:c:d/proxy", 400, 'invalid pod request "a:b:c:d"'),
        ("services/none/proxy/", 404, 'services "none" not found'),
        ("services/s:81/proxy", 503, 'no service port 81 found for service "s"'),
        ("services/http:s:80/proxy", 404, 'services "s" not found'),
    ],
)
def test_connection_fails_as_without_reachable_nodes(cluster: Kube, path: str, code: int, reason: str) -> None:
    response = cluster.send("GET", f"{CORE}/{path}")
    assert response.status == code
    assert reason in (response.json()["message"] if response.body else "")


def test_proxy_of_a_node_names_the_address_that_does_not_answer(cluster: Kube) -> None:
    failed = cluster.refused(503, "GET", "/api/v1/nodes/n/proxy/metrics")
    assert failed["message"] == "error trying to reach service: dial tcp 10.0.0.7:10250: connect: connection refused"


def test_upgraded_connection_reports_the_unreachable_node(cluster: Kube) -> None:
    response = cluster.send("GET", f"{CORE}/pods/p/exec?container=a", upgrade="websocket")
    assert response.json()["message"].startswith("error dialing backend: dial tcp 10.0.0.7:10250")


def test_exec_by_get_needs_permission_to_create(guarded: Guarded) -> None:
    guarded.role("reader", rule("get", "pods/exec pods/log"))
    guarded.bind("Role", "reader", user("eve"))
    guarded.ok("POST", f"{CORE}/pods", pod("p"))
    guarded.acting = "eve"
    assert guarded.send("GET", f"{CORE}/pods/p/log").status == 204
    assert 'cannot create resource "pods/exec"' in guarded.refused(403, "GET", f"{CORE}/pods/p/exec")["message"]


@pytest.mark.parametrize("path", ["pods/free/exec", "pods/free/proxy", "services/s/proxy"])
def test_connection_is_of_any_type_and_no_dry_run(cluster: Kube, path: str) -> None:
    assert cluster.send("GET", f"{CORE}/{path}", accept="text/html").status in (400, 404)
    assert cluster.send("HEAD", f"{CORE}/services/s/proxy", accept="text/html").status == 404
    assert cluster.refused(400, "POST", f"{CORE}/{path}?dryRun=All")["message"] == "dryRun is not supported"


def test_log_is_a_text(cluster: Kube) -> None:
    message = cluster.send("GET", f"{CORE}/pods/free/log", accept="text/html").json()["message"]
    assert message.startswith("406: Not Acceptable\n\nAvailable representations: text/plain, application/json")
