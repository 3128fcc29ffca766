"""`make test-image`: the images of the sample and of a scaffold, built twice, and run beside the bundled server."""

import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from clientgo.envtest import BundledServer, Environment, server_from
from clientgo.testing.eventually import eventually
from hack.dist import export
from tests.cli.processes import free_port
from tests.cli.projects import FOO, ROOT, clientgo, run
from tests.cli.projects import environment as variables
from tests.e2e.clusters import write_user
from tests.processes import Child
from tests.project.imagebuilds import Container, build, buildah, container, end, metric

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module", autouse=True)
def builder() -> None:
    if not os.environ.get("PYTHON_IMAGE"):
        pytest.skip("make test-image builds images")
    if shutil.which("buildah") is None:
        pytest.skip("buildah is not installed: it builds the images and runs them")


@dataclass
class Case:
    """A folder with a Dockerfile, the CRDs and an object of its controller."""

    context: Path
    crds: Path
    sample: Path


@pytest.fixture(scope="module", params=["sample", "scaffold"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder = tmp_path_factory.mktemp("build") / "context"
    if request.param == "sample":
        export("HEAD", folder)
        return Case(folder, folder / "artifacts/crd", folder / "artifacts/examples/example-foo.yaml")
    folder.mkdir()
    origin = ("--clientgo-from", str(ROOT))
    assert clientgo(folder, "init", "--domain", "example.com", "--project-name", "foo", *origin) == 0
    assert clientgo(folder, "create", "api", *FOO, "--resource", "--controller") == 0
    run(folder, variables(tmp_path_factory.mktemp("library")), "make", "manifests", "generate")
    return Case(folder, folder / "config/crd/bases", folder / "config/samples/samplecontroller_v1alpha1_foo.yaml")


@pytest.fixture(scope="module")
def image(case: Case) -> Iterator[str]:
    """Id of the case's image."""
    built = build(case.context)
    yield built
    buildah("rmi", "--force", built)


class Replica:
    """A container with its manager, and the addresses of its probes and metrics."""

    def __init__(self, image: Container, conf: Path, output: Path) -> None:
        probes, metrics = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
        self._urls = {"readyz": f"http://{probes}/readyz", "metrics": f"http://{metrics}/metrics"}
        flags = (f"--health-probe-bind-address={probes}", f"--metrics-bind-address={metrics}", "--leader-elect")
        self.child: Child = image.start(output, conf, "--kubeconfig=/conf/kubeconfig", *flags)

    def read(self, page: str) -> str:
        try:
            with urllib.request.urlopen(self._urls[page], timeout=5) as response:
                return str(response.read().decode())
        except urllib.error.URLError as error:
            return f"{error}"

    def reconciled(self) -> float:
        return metric(self.read("metrics"), "controller_runtime_reconcile_total", {"result": "success"})


@dataclass
class Running:
    """Two containers with a manager each, beside a server with its CRDs."""

    server: Environment
    containers: Sequence[Container]
    replicas: Sequence[Replica]


@pytest.fixture
def running(case: Case, image: str, tmp_path: Path) -> Iterator[Running]:
    """Two containers of the case's image beside a server with its CRDs."""
    environment = Environment(crd_paths=[case.crds], server=server_from(bundled=BundledServer(secure=True)))
    with ExitStack() as stack:
        config = stack.enter_context(environment)
        conf = tmp_path / "conf"
        write_user(conf / "kubeconfig", config).chmod(0o644)
        containers = [stack.enter_context(container(image)) for _ in range(2)]
        started = [Replica(each, conf, tmp_path / each.name) for each in containers]
        for replica in started:
            stack.enter_context(replica.child)
        yield Running(environment, containers, started)


def test_two_unprivileged_replicas_take_turns_and_write_nothing(
    case: Case, running: Running, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kubectl, both = kubectl_for(running.server, tmp_path), running.replicas
    before = [each.files() for each in running.containers]
    eventually(lambda: {replica.read("readyz") for replica in both}, lambda texts: texts == {"ok"}, seconds=60)
    kubectl("apply", "--filename", str(case.sample))
    eventually(lambda: sum(each.reconciled() > 0 for each in both), lambda busy: busy == 1, seconds=60)

    leader, other = both if both[0].reconciled() else both[::-1]
    assert end(leader.child) == 0, leader.child.output
    eventually(other.reconciled, lambda count: count > 0, seconds=60)
    assert end(other.child) == 0, other.child.output
    assert [each.files() for each in running.containers] == before
    with capsys.disabled():
        print("\n" + "\n".join(f"{size.megabytes:6.1f} MB  {size.part}" for size in running.containers[0].sizes()))


def kubectl_for(environment: Environment, folder: Path) -> Callable[..., str]:
    path = write_user(folder / "admin", environment.config)
    return lambda *words: run(folder, os.environ, "kubectl", "--kubeconfig", str(path), *words)


def test_second_build_has_the_same_id(case: Case, image: str) -> None:
    """The id is the hash of the image's configuration, which has the hash of each layer."""
    assert build(case.context) == image
