"""SIGTERM, from the signal to the exit code: requests in progress end, hanging work is abandoned and logged."""

import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from clientgo.envtest import BundledServer, Environment, server_from
from clientgo.kubernetes.clientset import Clientset as Kubernetes
from clientgo.meta import ObjectMeta
from clientgo.rest import RESTClient
from clientgo.testing.eventually import eventually
from clientgo_apiserver.faults import Fault
from controller.api.v1alpha1 import Foo, FooSpec
from generated.clientset import Clientset
from tests.e2e.clusters import namespace
from tests.e2e.program import ROOT, Program

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60), pytest.mark.requires("injected faults")]


class Slow:
    """Leading controller whose Deployments take a while to be created, and one Foo that needs one."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder, self.seconds = folder, seconds
        self.probes = ""
        self.kubeconfig = folder / "kubeconfig"
        self.environment = Environment(
            crd_paths=[ROOT / "artifacts" / "crd"],
            server=server_from(bundled=BundledServer(kubeconfig=self.kubeconfig)),
        )
        self.config = self.environment.start()

    def begin(self, temporary_namespace: str) -> Program:
        assert self.environment.server is not None
        slow = Fault(method="POST", resource="deployments", delay=self.seconds)
        struck = self.environment.server.faults.add(slow)
        program = Program(
            [f"--kubeconfig={self.kubeconfig}", "--leader-elect", "--health-probe-bind-address=127.0.0.1:0"],
            self.folder / "program",
        )
        self.probes = program.wait_for("serving").split('url="')[1].split('"')[0]
        program.wait_for("starting workers")
        self.create_foo(temporary_namespace)
        eventually(lambda: struck.hits == 1, seconds=10)
        return program

    def create_foo(self, temporary_namespace: str) -> None:
        with closing(Clientset(self.config)) as clientset:
            foos = clientset.samplecontroller_v1alpha1.foos(temporary_namespace)
            foos.create(Foo(ObjectMeta(name="slow"), FooSpec("slow", 1)))

    def ready(self) -> int:
        try:
            with urllib.request.urlopen(f"{self.probes}/readyz", timeout=5) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            error.close()
            return error.code


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Slow]:
    built = Slow(tmp_path, 2.0)
    yield built
    built.environment.stop()


@pytest.fixture
def temporary_namespace(slow: Slow) -> Iterator[str]:
    with namespace(slow.config, "slow") as name:
        yield name


def test_write_that_the_server_delays_ends_with_the_stop_and_the_lease_is_released(
    slow: Slow, temporary_namespace: str
) -> None:
    program = slow.begin(temporary_namespace)
    assert slow.ready() == 200
    code, output = program.end(signal.SIGTERM)
    assert (code, "Traceback" in output) == (0, False)
    assert "will retry" not in output
    with closing(RESTClient(slow.config)) as client:
        leases = Kubernetes(client).coordination_v1.leases("default").list().items
    assert [lease.spec.holder_identity or "" for lease in leases] == [""]
    assert "stopped leading" in output


def test_what_does_not_end_in_time_is_named_and_left(slow: Slow, temporary_namespace: str) -> None:
    flags = [f"--kubeconfig={slow.kubeconfig}", "--graceful-shutdown-timeout=10ms"]
    program = Program(
        flags, slow.folder / "program", script=ROOT / "tests" / "e2e" / "hanging.py", PYTHONPATH=str(ROOT)
    )
    program.wait_for("starting workers")
    slow.create_foo(temporary_namespace)
    program.wait_for("hanging at")
    code, output = program.end(signal.SIGTERM)
    assert code == 1
    assert "still running after 0.01 s: worker-" in output
