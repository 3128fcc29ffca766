"""Requirements and health checks of the program."""

import threading

import pytest

from clientgo.errors import ConfigError, Forbidden
from clientgo.rest import Config
from clientgo.rest.request import Requester
from clientgo.serving import Unhealthy
from clientgo.testing.clock import FakeClock
from clientgo.testing.kubernetes import FakeClientset as FakeKubernetes
from clientgo.typed.preflight import wait_until_ready
from clientgo.workqueue import WorkQueue
from controller.options import parse
from controller.program import STUCK_SECONDS, diagnostics_for, requirements
from generated.clientset.fake import FakeClientset

CONFIG = Config(host="http://127.0.0.1:9")


@pytest.mark.parametrize("clientset", [FakeClientset(), FakeKubernetes()], ids=["foos", "deployments"])
def test_forbidden_list_names_the_manifests_that_grant_it(clientset: FakeClientset | FakeKubernetes) -> None:
    def forbid(_: object) -> tuple[bool, object]:
        raise Forbidden("no")

    clientset.prepend_reactor("list", "*", forbid)
    client: Requester = clientset.requester
    with pytest.raises(ConfigError, match="kubectl apply -k artifacts/rbac, or use --namespace"):
        wait_until_ready(CONFIG.host, requirements(client, parse([])), threading.Event())


def test_stuck_worker_makes_the_program_unhealthy() -> None:
    clock, diagnostics = FakeClock(), diagnostics_for(parse([]), CONFIG)
    queue = WorkQueue[str](name="Foos", clock=clock)
    diagnostics.queues.append(queue)
    queue.add("ns/a")
    assert queue.get() == "ns/a"
    clock.step(STUCK_SECONDS)
    diagnostics.alive["workers"]()
    clock.step(1.0)
    with pytest.raises(Unhealthy, match="1 key is in process for more than 1800 s"):
        diagnostics.alive["workers"]()
