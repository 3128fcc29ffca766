"""The manifests on a server: every object is accepted unchanged, the pod is restricted, make deploys them."""

import copy
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clientgo.envtest import BundledServer, Environment
from clientgo.meta import ObjectMeta, to_dict
from clientgo.meta.yamlio import to_yaml
from controller.api.v1alpha1 import Foo, FooSpec
from controller.desired import new_deployment
from tests.project.manifests import NAME, NAMESPACE, OVERLAYS, ROOT, Object, gathered, named, pod, rendered

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")]


class Shell:
    """Runner of programs against one server, with an empty home."""

    def __init__(self, home: Path) -> None:
        mine = {"HOME": str(home), "KUBECACHEDIR": str(home / "cache"), "KUBECONFIG": str(home / "kubeconfig")}
        self.environ = {**os.environ, **mine}

    def run(self, *command: str, stdin: str = "", code: int = 0) -> str:
        """Return the output of a program; its exit code must be this one."""
        done = subprocess.run(
            command, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT, env=self.environ,
            text=True, check=False, timeout=60,
        )  # fmt: skip
        assert done.returncode == code, done.stdout
        return done.stdout

    def kubectl(self, *arguments: str, stdin: str = "", code: int = 0) -> str:
        return self.run("kubectl", *arguments, stdin=stdin, code=code)

    def make(self, *arguments: str) -> str:
        return self.run("make", "--no-print-directory", *arguments)

    def there(self) -> set[str]:
        """Return kind/name of everything that belongs to the controller."""
        kinds = "ns,crd,sa,role,clusterrole,rolebinding,clusterrolebinding,svc,deploy,pdb,netpol"
        selected = ("-l", f"app.kubernetes.io/name={NAME}", "-A", "-o", "json")
        items = json.loads(self.kubectl("get", kinds, *selected))["items"]
        return {f"{item['kind']}/{item['metadata']['name']}" for item in items}


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """Provide an empty cluster and a shell for it."""
    with Environment(server=BundledServer(kubeconfig=tmp_path / "kubeconfig")):
        yield Shell(tmp_path)


def names(objects: list[Object]) -> set[str]:
    return {f"{each['kind']}/{each['metadata']['name']}" for each in objects}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_server_accepts_every_object_unchanged(shell: Shell, overlay: str) -> None:
    """Strict field validation, and no warnings, such as those of Pod Security."""
    splitlines = shell.kubectl("apply", "--validate=strict", "-k", f"artifacts/{overlay}").splitlines()
    assert [line for line in splitlines if not line.endswith(" created")] == []
    assert shell.there() == names(rendered(overlay))
    assert "successfully rolled out" in shell.kubectl(
        "-n", NAMESPACE, "rollout", "status", f"deployment/{NAME}", "--timeout=20s"
    )
    again = shell.kubectl("apply", "--validate=strict", "-k", f"artifacts/{overlay}").splitlines()
    # kubectl always sends the selector of a PodDisruptionBudget: its patch strategy is replace.
    budget = f"poddisruptionbudget.policy/{NAME} configured"
    assert [line for line in again if not line.endswith(" unchanged")] == [budget]


def test_server_accepts_samples_and_what_prometheus_operator_reads(shell: Shell) -> None:
    shell.kubectl("apply", "-k", "artifacts/crd")
    shell.kubectl("apply", "-f", "tests/project/monitoring_crds.yaml")
    shell.kubectl("create", "namespace", NAMESPACE)
    for folder in ("examples", "prometheus"):
        splitlines = shell.kubectl("apply", "--validate=strict", "-k", f"artifacts/{folder}").splitlines()
        assert len(splitlines) == len(rendered(folder))
        assert [line for line in splitlines if not line.endswith(" created")] == []


# Pod Security: the server's own admission is asked, with the pod as it is and with each protection taken away.

Spoil = Callable[[Object, Object], object]


def a_pod(spoil: Spoil = lambda spec, container: None) -> str:
    template = copy.deepcopy(pod(gathered(ROOT / "artifacts" / "default")))
    [container] = template["spec"]["containers"]
    spoil(template["spec"], container)
    metadata = {"name": "trial", "namespace": NAMESPACE, **template["metadata"]}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})


@pytest.fixture(scope="module")
def restricted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """Provide a cluster with only the controller's namespace and account."""
    home = tmp_path_factory.mktemp("home")
    default = gathered(ROOT / "artifacts" / "default")
    prepared = [named(default, "Namespace", NAMESPACE), named(default, "ServiceAccount")]
    with Environment(server=BundledServer(kubeconfig=home / "kubeconfig")):
        result = Shell(home)
        result.kubectl("apply", "-f", "-", stdin="---\n".join(map(to_yaml, prepared)))
        yield result


@pytest.mark.feature("E-06")
def test_pod_is_let_into_a_namespace_that_enforces_the_restricted_profile(restricted: Shell) -> None:
    assert restricted.kubectl("create", "--dry-run=server", "-f", "-", stdin=a_pod()).startswith("pod/trial created")


@pytest.mark.feature("E-06")
@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        pytest.param(lambda spec, _: spec["securityContext"].pop("runAsNonRoot"), "runAsNonRoot", id="root"),
        pytest.param(lambda spec, _: spec["securityContext"].pop("seccompProfile"), "seccompProfile", id="syscalls"),
        pytest.param(lambda _, c: c["securityContext"].pop("capabilities"), "unrestricted capabilities", id="powers"),
        pytest.param(
            lambda _, c: c["securityContext"].update(allowPrivilegeEscalation=True), "allowPrivilege", id="escalation"
        ),
        pytest.param(lambda spec, _: spec.update(hostNetwork=True), "host namespaces", id="host network"),
    ],
)
def test_each_protection_of_the_pod_is_needed(restricted: Shell, spoil: Spoil, complaint: str) -> None:
    refused = restricted.kubectl("create", "--dry-run=server", "-f", "-", stdin=a_pod(spoil), code=1)
    assert "violates PodSecurity" in refused
    assert complaint in refused


@pytest.mark.feature("E-06")
def test_nothing_of_the_pod_can_be_written_to() -> None:
    """The restricted profile does not require this."""
    spec = pod(gathered(ROOT / "artifacts" / "default"))["spec"]
    assert [each["securityContext"]["readOnlyRootFilesystem"] for each in spec["containers"]] == [True]
    assert "volumes" not in spec


@pytest.mark.feature("E-06")
def test_namespaced_controller_can_run_the_pods_of_its_foos_beside_itself(shell: Shell) -> None:
    shell.kubectl("apply", "-k", "artifacts/namespaced")
    foo = Foo(ObjectMeta(name="a", namespace=NAMESPACE), FooSpec(deployment_name="a", replicas=1))
    spec = to_dict(new_deployment(foo))["spec"]["template"]["spec"]
    trial = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "trial"}, "spec": spec}
    printed = shell.kubectl("-n", NAMESPACE, "create", "--dry-run=server", "-f", "-", stdin=json.dumps(trial))
    assert printed == "pod/trial created (server dry run)\n"
    privileged = {**trial, "spec": {**spec, "hostNetwork": True}}
    refused = shell.kubectl(
        "-n", NAMESPACE, "create", "--dry-run=server", "-f", "-", stdin=json.dumps(privileged), code=1
    )
    assert 'violates PodSecurity "baseline' in refused


# The commands of the Makefile, as they are typed.

IMAGE = "registry.example.com/team/sample-controller:1.2.3"


def test_install_and_uninstall_are_about_the_definitions_alone(shell: Shell) -> None:
    shell.make("install")
    assert shell.there() == set()
    result = shell.kubectl("get", "crd", "-o", "name")
    assert result == "customresourcedefinition.apiextensions.k8s.io/foos.samplecontroller.k8s.io\n"
    shell.kubectl("apply", "-k", "artifacts/examples")
    shell.make("uninstall")
    assert shell.kubectl("get", "crd", "-o", "name") == ""
    shell.make("uninstall")


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_deploy_runs_the_image_that_was_named_and_undeploy_leaves_nothing(shell: Shell, overlay: str) -> None:
    before = shell.there()
    shell.make("deploy", f"OVERLAY={overlay}", f"IMG={IMAGE}")
    assert shell.there() == names(rendered(overlay))
    image = "jsonpath={.spec.template.spec.containers[*].image}"
    assert shell.kubectl("-n", NAMESPACE, "get", "deployment", NAME, "-o", image) == IMAGE
    shell.make("deploy", f"OVERLAY={overlay}", f"IMG={IMAGE}-4")  # an upgrade
    assert shell.kubectl("-n", NAMESPACE, "get", "deployment", NAME, "-o", image) == f"{IMAGE}-4"
    shell.make("undeploy", f"OVERLAY={overlay}")
    assert shell.there() == before == set()
    shell.make("undeploy", f"OVERLAY={overlay}")


def test_installer_is_one_file_that_holds_everything(shell: Shell, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "artifacts", tmp_path / "artifacts")
    shell.run("make", "-f", str(ROOT / "Makefile"), "-C", str(tmp_path), "build-installer", f"IMG={IMAGE}")
    [installer] = (tmp_path / "dist").iterdir()
    assert re.findall(r"^ +image: (.*)$", installer.read_text(), re.MULTILINE) == [IMAGE]
    shell.kubectl("apply", "--validate=strict", "-f", str(installer))
    assert shell.there() == names(rendered("default"))


def test_installer_is_not_made_of_manifests_that_do_not_render(shell: Shell, tmp_path: Path) -> None:
    command = ("make", "-f", str(ROOT / "Makefile"), "-C", str(tmp_path), "build-installer")
    assert "Error" in shell.run(*command, code=2)
    assert not (tmp_path / "dist" / "install.yaml").exists()
