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
def running_requester() -> Iterator[RESTClient]:
    """Start a server with the pod; return a client of it."""
    pod = {
        "metadata": {
            "name": "web",
            "annotations": {"simulation.clientgo.dev/exec": RULES, "simulation.clientgo.dev/logs": "log\n"},
        },
        "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]},
    }
    with Environment(server=BundledServer()) as config, closing(RESTClient(config)) as client:
        pods = CoreV1(client).pods("default")
        pods.create(from_dict(Pod, pod))
        eventually(lambda: pods.get("web").status.phase == "Running")
        yield client


@contextmanager
def running_pod() -> Iterator[PodClient]:
    """Start a server with the pod; return the client of its namespace."""
    with running_requester() as client:
        yield CoreV1(client).pods("default")
