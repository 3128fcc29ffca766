"""kubectl with a running cluster: watch, wait, rollout, auth and explain."""

import json
import re
import shutil
from pathlib import Path

import pytest

from clientgo.meta.schema.descriptions import descriptions_of
from tests.e2e.kubectl import CRD, GROUP, Kubectl, config_map, deployment, gadget, lines, rows
from tests.processes import Child

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")]


@pytest.mark.feature("A-20")
@pytest.mark.requires("controllers")
def test_scale_goes_through_the_subresource(kubectl: Kubectl) -> None:
    kubectl.apply(gadget())
    kubectl.apply(deployment())
    assert kubectl.run("scale", "gadget/a", "--replicas=3") == f"gadget.{GROUP}/a scaled\n"
    assert kubectl.run("scale", "deploy/d", "--replicas=4") == "deployment.apps/d scaled\n"
    assert kubectl.read("gadget", "a")["spec"]["replicas"] == 3
    kubectl.run("rollout", "status", "deploy/d", "--timeout=20s")
    assert rows(kubectl.run("get", "deploy", "d")) == [
        ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"],
        ["d", "4/4", "4", "4", "AGE"],
    ]
    refused = kubectl.run("scale", "gadget/a", "--replicas=3", "--current-replicas=1", code=1)
    assert "Expected replicas to be 1, was 3" in refused


@pytest.mark.requires("controllers")
def test_deployment_rolls_out(kubectl: Kubectl) -> None:
    kubectl.apply(deployment())
    done = 'deployment "d" successfully rolled out\n'
    assert kubectl.run("rollout", "status", "deploy/d", "--timeout=20s").endswith(done)
    waited = kubectl.run("wait", "--for=condition=Available", "deploy/d", "--timeout=20s")
    assert waited == "deployment.apps/d condition met\n"
    assert kubectl.run("set", "image", "deploy/d", "nginx=nginx:2") == "deployment.apps/d image updated\n"
    assert kubectl.run("rollout", "restart", "deploy/d") == "deployment.apps/d restarted\n"
    assert kubectl.run("rollout", "status", "deploy/d", "--timeout=20s").endswith(done)
    described = kubectl.run("describe", "deploy", "d")
    assert re.search(r"Replicas:\s+2 desired \| 2 updated \| 2 total \| 2 available \| 0 unavailable", described)
    assert re.search(r"Available\s+True\s+MinimumReplicasAvailable", described)
    assert re.search(r"Progressing\s+True\s+NewReplicaSetAvailable", described)


def test_wait_follows_fields_and_deletion(kubectl: Kubectl) -> None:
    kubectl.apply(gadget(replicas=2))
    waited = kubectl.run("wait", "gadget/a", "--for=jsonpath={.spec.replicas}=2", "--timeout=10s")
    assert waited == f"gadget.{GROUP}/a condition met\n"
    missed = kubectl.run("wait", "gadget/a", "--for=condition=Ready", "--timeout=1s", code=1)
    assert missed == "error: timed out waiting for the condition on gadgets/a\n"
    kubectl.run("delete", "gadget", "a", "--wait=false")
    kubectl.run("wait", "gadget/a", "--for=delete", "--timeout=10s")


def test_watch_prints_every_change(kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl.apply(gadget())
    command = kubectl.command("get", "gadgets", "-w", "--output-watch-events")
    with Child(command, tmp_path / "watch", env=kubectl.environ) as watch:
        watch.wait_for("ADDED")
        kubectl.run("scale", "gadget/a", "--replicas=3")
        kubectl.run("delete", "gadget", "a")
        watch.wait_for("DELETED")
    assert rows(watch.output) == [
        ["EVENT", "NAME", "DEPLOYMENT", "REPLICAS", "AGE"],
        ["ADDED", "a", "a", "1", "AGE"],
        ["MODIFIED", "a", "a", "3", "AGE"],
        ["DELETED", "a", "a", "3", "AGE"],
    ]


@pytest.mark.requires("controllers")
@pytest.mark.parametrize(("cascade", "stays"), [("background", False), ("foreground", False), ("orphan", True)])
def test_dependents_are_deleted_or_orphaned_on_request(kubectl: Kubectl, cascade: str, *, stays: bool) -> None:
    kubectl.apply(gadget())
    kubectl.apply(config_map("child", kubectl.read("gadget", "a"), x="y"))
    kubectl.run("delete", "gadget", "a", f"--cascade={cascade}")
    if stays:
        assert "ownerReferences" not in kubectl.read("cm", "child")["metadata"]
    else:
        kubectl.run("wait", "cm/child", "--for=delete", "--timeout=10s")


@pytest.mark.requires("controllers")
def test_namespace_takes_its_contents_with_it(kubectl: Kubectl) -> None:
    kubectl.apply(gadget())
    assert rows(kubectl.run("get", "ns", kubectl.namespace))[1][1:] == ["Active", "AGE"]
    assert re.search(r"^Status:\s+Active$", kubectl.run("describe", "ns", kubectl.namespace), re.MULTILINE)
    kubectl.run("delete", "ns", kubectl.namespace)
    missing = f'Error from server (NotFound): namespaces "{kubectl.namespace}" not found\n'
    assert kubectl.apply(gadget(), code=1).endswith(f'namespaces "{kubectl.namespace}" not found\n')
    assert kubectl.run("get", "ns", kubectl.namespace, code=1) == missing


@pytest.mark.feature("A-17")
def test_definition_comes_and_goes(kubectl: Kubectl, tmp_path: Path) -> None:
    text = (
        json.dumps(CRD)
        .replace("gadgets", "bars")
        .replace("Gadget", "Bar")
        .replace('"gadget"', '"bar"')
        .replace('"gd"', '"ba"')
    )
    name = f"bars.{GROUP}"
    updated = kubectl.apply(json.loads(text))
    assert updated == f"customresourcedefinition.apiextensions.k8s.io/{name} created\n"
    kubectl.run("wait", "--for=condition=Established", f"crd/{name}", "--timeout=10s")
    header = rows(kubectl.run("get", "crd", name))[0]  # Kubernetes 1.37 has further columns
    assert (header[0], header[-1]) == ("NAME", "CREATED AT")
    kubectl.apply(json.loads(json.dumps(gadget()).replace("Gadget", "Bar")))
    assert rows(kubectl.run("get", "ba"))[1] == ["a", "a", "1", "AGE"]
    gone = kubectl.run("delete", "crd", name)
    assert f'customresourcedefinition.apiextensions.k8s.io "{name}" deleted' in gone
    assert 'the server doesn\'t have a resource type "bars"' in kubectl.run(
        "get", "bars", code=1, KUBECACHEDIR=str(tmp_path)
    )


def test_api_resources_name_everything_served(kubectl: Kubectl) -> None:
    result = {row[0]: row[1:] for row in rows(kubectl.run("api-resources"))}
    assert result["gadgets"] == ["gd", f"{GROUP}/v1", "true", "Gadget"]
    assert result["deployments"] == ["deploy", "apps/v1", "true", "Deployment"]
    assert result["customresourcedefinitions"][1:] == ["apiextensions.k8s.io/v1", "false", "CustomResourceDefinition"]
    assert {"v1", "apps/v1", f"{GROUP}/v1"} <= set(lines(kubectl.run("api-versions")))
    assert 'error: the server doesn\'t have a resource type "nosuch"\n' in kubectl.run("get", "nosuch", code=1)


def test_explain_reads_schemas_of_custom_and_built_in_kinds(kubectl: Kubectl) -> None:
    explained = kubectl.run("explain", "gadget.spec")
    assert lines(explained)[:5] == [
        f"GROUP:      {GROUP}", "KIND:       Gadget", "VERSION:    v1", "", "FIELD: spec <Object>",
    ]  # fmt: skip
    assert "  deploymentName\t<string> -required-\n    Name of the Deployment.\n" in explained
    replicas = kubectl.run("explain", "deployment.spec.replicas")
    assert lines(replicas)[:5] == [
        *("GROUP:      apps", "KIND:       Deployment", "VERSION:    v1", "", "FIELD: replicas <integer>")
    ]
    described = descriptions_of("io.k8s.api.apps.v1.DeploymentSpec").fields["replicas"]
    assert described.split(".")[0] in replicas
    recursive = kubectl.run("explain", "deployment.spec.template.spec.containers", "--recursive")
    assert "\n  livenessProbe\t<Probe>\n" in recursive
    refused = kubectl.run("explain", "gadget.spec.nosuch", code=1)
    assert refused.endswith('error: field "nosuch" does not exist\n')


def test_raw_paths_version_and_rights(kubectl: Kubectl) -> None:
    assert kubectl.run("get", "--raw", "/readyz") == "ok"
    assert "readyz check passed" in kubectl.run("get", "--raw", "/readyz?verbose")
    assert json.loads(kubectl.run("version", "-o", "json").partition("\nWARNING")[0])["serverVersion"]["major"] == "1"
    assert kubectl.run("auth", "can-i", "create", "gadgets") == "yes\n"


def test_kubectl_needs_no_home_of_its_own(kubectl_home: Kubectl, tmp_path: Path) -> None:
    environ = kubectl_home.environ
    fresh = Kubectl(
        kubectl_home.environment, {**environ, "HOME": str(tmp_path), "KUBECACHEDIR": str(tmp_path / "cache")}, "default"
    )
    assert rows(fresh.run("get", "ns", "default"))[1][:2] == ["default", "Active"]
