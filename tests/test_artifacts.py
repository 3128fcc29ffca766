"""The manifests: each is readable, they agree with each other and with the checkout, and the pod is locked down."""

import re
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import main
from clientgo.envtest import Environment
from clientgo.lifecycle import Group
from clientgo.meta import ObjectMeta, replace
from clientgo.testing.actions import Action
from clientgo.testing.kubernetes import FakeClientset as FakeKubernetes
from controller.api.v1alpha1 import Foo, FooSpec
from controller.desired import new_deployment
from controller.options import parse
from generated.clientset import Clientset

ROOT = Path(__file__).parent.parent
ARTIFACTS = ROOT / "artifacts"
NAME = "sample-controller"
Object = dict[str, Any]


def documents(path: Path) -> list[Object]:
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def kustomized(folder: Path) -> list[Object]:
    """What a kustomization gathers; ours only list resources, so following them is all there is to do."""
    gathered: list[Object] = []
    [kustomization] = documents(folder / "kustomization.yaml")
    assert set(kustomization) == {"apiVersion", "kind", "resources"}
    for resource in kustomization["resources"]:
        path = (folder / resource).resolve()
        gathered += kustomized(path) if path.is_dir() else documents(path)
    return gathered


@pytest.fixture(scope="module")
def one() -> Callable[[str], Object]:
    everything = kustomized(ARTIFACTS / "default")

    def find(kind: str) -> Object:
        [found] = [document for document in everything if document["kind"] == kind]
        return found

    return find


def pod(deployment: Object) -> tuple[Object, Object]:
    spec = deployment["spec"]["template"]["spec"]
    [container] = spec["containers"]
    return spec, container


@pytest.mark.parametrize("path", sorted(ARTIFACTS.rglob("*.yaml")), ids=lambda path: str(path.relative_to(ARTIFACTS)))
def test_file_is_yaml_and_holds_objects(path: Path) -> None:
    objects = documents(path)
    assert objects
    assert all(document["apiVersion"] and document["kind"] for document in objects)


@pytest.mark.parametrize("folder", ["default", "crd", "rbac", "manager"])
def test_kubectl_renders_the_same_objects_we_list(folder: str) -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    done = subprocess.run(
        ["kubectl", "kustomize", str(ARTIFACTS / folder)], capture_output=True, text=True, check=True, timeout=30
    )
    rendered = [document for document in yaml.safe_load_all(done.stdout) if document]

    def by_name(objects: list[Object]) -> list[Object]:
        return sorted(objects, key=lambda document: (document["kind"], document["metadata"]["name"]))

    assert by_name(rendered) == by_name(kustomized(ARTIFACTS / folder))


@pytest.mark.e2e
def test_server_accepts_every_manifest_as_it_stands(tmp_path: Path) -> None:
    """With strict validation, so that a misspelt field is an error and not a line nobody reads."""
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    kubeconfig = tmp_path / "kubeconfig"
    with Environment(bundled=True, kubeconfig=kubeconfig):
        for place in (["-k", "artifacts/default"], ["-f", "artifacts/examples"]):
            done = subprocess.run(
                ["kubectl", "--kubeconfig", str(kubeconfig), "apply", "--validate=strict", *place],
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=False,
                timeout=30,
            )
            assert (done.returncode, done.stderr) == (0, "")


def test_every_generated_crd_is_installed() -> None:
    files = {path.name for path in (ARTIFACTS / "crd").glob("*.yaml")} - {"kustomization.yaml"}
    [kustomization] = documents(ARTIFACTS / "crd" / "kustomization.yaml")
    assert files == set(kustomization["resources"])


def test_names_agree(one: Callable[[str], Object]) -> None:
    namespace = one("Namespace")["metadata"]["name"]
    account = {"name": NAME, "namespace": namespace}
    assert {key: one("ServiceAccount")["metadata"][key] for key in account} == account
    assert one("ClusterRoleBinding")["subjects"] == [{"kind": "ServiceAccount", **account}]
    assert one("ClusterRoleBinding")["roleRef"]["name"] == one("ClusterRole")["metadata"]["name"]
    assert one("Deployment")["metadata"]["namespace"] == namespace
    assert pod(one("Deployment"))[0]["serviceAccountName"] == NAME


def test_deployment_selects_its_own_pods(one: Callable[[str], Object]) -> None:
    spec = one("Deployment")["spec"]
    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()


def test_image_is_the_one_make_builds_and_deploy_replaces(one: Callable[[str], Object]) -> None:
    makefile = (ROOT / "Makefile").read_text()
    [default] = re.findall(r"^IMG \?= (\S+)$", makefile, re.MULTILINE)
    assert pod(one("Deployment"))[1]["image"] == default
    assert f"s|image: {default}|image: $(IMG)|" in makefile


def test_pod_and_image_run_as_the_same_user(one: Callable[[str], Object]) -> None:
    spec, _ = pod(one("Deployment"))
    user = f"{spec['securityContext']['runAsUser']}:{spec['securityContext']['runAsGroup']}"
    assert f"\nUSER {user}\n" in (ROOT / "Dockerfile").read_text()


@pytest.mark.feature("E-06")
def test_pod_is_locked_down(one: Callable[[str], Object]) -> None:
    spec, container = pod(one("Deployment"))
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


@pytest.mark.feature("E-06")
def test_pod_has_limits_and_time_to_end(one: Callable[[str], Object]) -> None:
    spec, container = pod(one("Deployment"))
    assert container["resources"] == {
        "limits": {"cpu": "500m", "memory": "128Mi"},
        "requests": {"cpu": "10m", "memory": "64Mi"},
    }
    assert spec["terminationGracePeriodSeconds"] == 30


# The permissions, against every request of a run in which the controller has to do all it can do.

Request = tuple[str, str, str]
"""API group, resource (with its subresource), verb."""

ASKED_FOR_BY_ADMISSION = {("samplecontroller.k8s.io", "foos/finalizers", "update")}
"""Where owner references are checked, this verb is looked up and no request made."""


def requested(action: Action) -> Request:
    resource = action.resource.resource + (f"/{action.subresource}" if action.subresource else "")
    return action.resource.group, resource, action.verb


def granted(role: Object) -> set[Request]:
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def foo(name: str) -> Foo:
    return Foo(metadata=ObjectMeta(name=name, namespace="default", uid=f"uid-{name}"), spec=FooSpec(name, 1))


def test_permissions_are_what_the_controller_asks_for_and_nothing_else(one: Callable[[str], Object]) -> None:
    foreign = replace(new_deployment(foo("taken")), metadata=ObjectMeta(name="taken", namespace="default"))
    scaled = new_deployment(foo("scaled"))
    scaled = replace(scaled, spec=replace(scaled.spec, replicas=5))
    kube = FakeKubernetes(foo("new"), foo("taken"), foreign, foo("scaled"), scaled)
    foos = Clientset(kube.requester)
    allowed = granted(one("ClusterRole")) - ASKED_FOR_BY_ADMISSION
    seen, enough, stop = set[Request](), threading.Event(), threading.Event()

    def notice(action: Action) -> tuple[bool, None]:
        seen.add(requested(action))
        if seen >= allowed:
            enough.set()
        return False, None

    kube.prepend_reactor("*", "*", notice)
    kube.prepend_watch_reactor("*", notice)
    with Group(stop=stop) as group:
        for _, check in main.checks(kube, foos, ()):
            check()
        group.start(main.control, kube, foos, parse([]), stop, name="program")
        enough.wait(10)
    assert seen == allowed
