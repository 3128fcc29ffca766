"""A bundled server with one running pod, `web`, whose commands are simulated."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from clientgo.envtest import BundledServer, Environment
from clientgo.kubernetes.clients.core_v1 import CoreV1, PodClient
from clientgo.kubernetes.types.core_v1 import Pod
from clientgo.meta.codec import from_dict
from clientgo.rest.client import RESTClient
from clientgo.testing.eventually import eventually

RULES = """
- {command: fail, stdout: "out", stderr: "err", exitCode: 3}
- {command: lose, stdout: half, disconnect: true}
- {command: slow, delay: 3600}
"""


@contextmanager
def running_pod(**annotations: str) -> Iterator[PodClient]:
    """Start a server with the pod, with these further annotations; return the client of its namespace."""
    marks = {"exec": RULES, "logs": "log\n", **annotations}
    pod = {
        "metadata": {
            "name": "web",
            "annotations": {f"simulation.clientgo.dev/{key}": value for key, value in marks.items()},
        },
        "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]},
    }
    with Environment(server=BundledServer(pods=True)) as config, closing(RESTClient(config)) as client:
        pods = CoreV1(client).pods("default")
        pods.create(from_dict(Pod, pod))
        eventually(lambda: pods.get("web").status.phase == "Running")
        yield pods
