"""kubectl against the API server: what its user types, and what is then printed."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from clientgo.envtest import Environment

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed"),
]

GROUP = "kubectl.example.com"
CRD: dict[str, Any] = yaml.safe_load(f"""
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: foos.{GROUP}}}
spec:
  group: {GROUP}
  scope: Namespaced
  names: {{plural: foos, singular: foo, kind: Foo, listKind: FooList, shortNames: [fo]}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {{}}
      scale: {{specReplicasPath: .spec.replicas, statusReplicasPath: .status.availableReplicas}}
    additionalPrinterColumns:
    - {{name: Deployment, type: string, jsonPath: .spec.deploymentName}}
    - {{name: Replicas, type: integer, jsonPath: .spec.replicas}}
    - {{name: Available, type: integer, jsonPath: .status.availableReplicas, priority: 1}}
    - {{name: Age, type: date, jsonPath: .metadata.creationTimestamp}}
    schema:
      openAPIV3Schema:
        type: object
        description: Foo asks for a Deployment.
        required: [spec]
        properties:
          spec:
            type: object
            description: What is wanted.
            required: [deploymentName]
            properties:
              deploymentName: {{type: string, maxLength: 63, description: Name of the Deployment.}}
              replicas: {{type: integer, format: int32, minimum: 1, maximum: 10, default: 1}}
          status:
            type: object
            properties:
              availableReplicas: {{type: integer, format: int32}}
""")


class Kubectl:
    """Runs kubectl in one namespace, with a home and a cache of its own."""

    def __init__(self, environ: Mapping[str, str], namespace: str) -> None:
        self.environ = dict(environ)
        self.namespace = namespace

    def run(self, *arguments: str, stdin: Any = None, code: int = 0, **environ: str) -> str:
        """Run one command and give what it prints to both streams; its exit status must be `code`."""
        done = subprocess.run(
            self.command(*arguments),
            input=json.dumps(stdin) if stdin is not None else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**self.environ, **environ},
            text=True,
            timeout=40,
            check=False,
        )
        assert done.returncode == code, done.stdout
        return done.stdout

    def command(self, *arguments: str) -> list[str]:
        """The command line, with the namespace where none is named."""
        return ["kubectl", *(() if "-n" in arguments else ("-n", self.namespace)), *arguments]

    def apply(self, obj: dict[str, Any], *arguments: str, code: int = 0) -> str:
        return self.run("apply", "-f", "-", *arguments, stdin=obj, code=code)

    def read(self, *what: str) -> dict[str, Any]:
        obj: dict[str, Any] = json.loads(self.run("get", *what, "-o", "json"))
        return obj


def foo(name: str = "a", replicas: int = 1, **spec: Any) -> dict[str, Any]:
    spec = {"deploymentName": name, "replicas": replicas, **spec}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Foo", "metadata": {"name": name}, "spec": spec}


def deployment(name: str = "d", replicas: int = 2, image: str = "nginx:1") -> dict[str, Any]:
    labels = {"app": name}
    container = {"name": "nginx", "image": image, "ports": [{"containerPort": 80}]}
    pods = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": pods}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": labels}, "spec": spec}


def config_map(name: str, owner: dict[str, Any] | None = None, **data: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name}
    if owner is not None:
        reference = {key: owner[key] for key in ("apiVersion", "kind")}
        metadata["ownerReferences"] = [{**reference, **{key: owner["metadata"][key] for key in ("name", "uid")}}]
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def rows(text: str) -> list[list[str]]:
    """The printed table, cell by cell, with every age as `AGE`."""
    return [
        [re.sub(r"^(\d+[smhd])+$", "AGE", cell) for cell in re.split(r" {2,}", line.strip())] for line in lines(text)
    ]


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment variables of every kubectl of this module: the server's address, and nobody's own files."""
    home = tmp_path_factory.mktemp("home")
    (home / "crd.yaml").write_text(json.dumps(CRD))
    environment = Environment(crd_paths=[home / "crd.yaml"], kubeconfig=home / "kubeconfig")
    environment.start()
    try:
        found = {**os.environ, "HOME": str(home), "KUBECACHEDIR": str(home / "cache")}
        if (home / "kubeconfig").exists():
            found["KUBECONFIG"] = str(home / "kubeconfig")
        yield found
    finally:
        environment.stop()


@pytest.fixture
def kubectl(environ: dict[str, str], request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """A kubectl in a namespace that lives as long as the test."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name)[:60].strip("-")
    found = Kubectl(environ, name)
    found.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, "-n", "default")
    yield found
    found.run("delete", "namespace", name, "--wait=false", "--ignore-not-found", "-n", "default")


def test_apply_creates_then_changes_then_leaves_alone(kubectl: Kubectl) -> None:
    assert kubectl.apply(foo()) == f"foo.{GROUP}/a created\n"
    assert kubectl.apply(foo()) == f"foo.{GROUP}/a unchanged\n"
    assert kubectl.apply(foo(replicas=3)) == f"foo.{GROUP}/a configured\n"
    assert kubectl.read("foo", "a")["spec"] == {"deploymentName": "a", "replicas": 3}


def test_get_prints_the_columns_of_the_definition(kubectl: Kubectl) -> None:
    kubectl.apply(foo("a", 1))
    kubectl.apply(foo("b", 2))
    assert rows(kubectl.run("get", "fo")) == [
        ["NAME", "DEPLOYMENT", "REPLICAS", "AGE"],
        ["a", "a", "1", "AGE"],
        ["b", "b", "2", "AGE"],
    ]
    wide = rows(kubectl.run("get", "foo", "a", "-o", "wide"))
    assert wide == [["NAME", "DEPLOYMENT", "REPLICAS", "AVAILABLE", "AGE"], ["a", "a", "1", "AGE"]]
    assert rows(kubectl.run("get", "foos", "-A"))[0] == ["NAMESPACE", "NAME", "DEPLOYMENT", "REPLICAS", "AGE"]
    assert lines(kubectl.run("get", "foos", "-o", "name")) == [f"foo.{GROUP}/a", f"foo.{GROUP}/b"]
    columns = "custom-columns=N:.metadata.name,R:.spec.replicas"
    assert rows(kubectl.run("get", "foos", "-o", columns)) == [["N", "R"], ["a", "1"], ["b", "2"]]
    assert kubectl.run("get", "foos", "-l", "x=y") == f"No resources found in {kubectl.namespace} namespace.\n"


def test_get_pages_through_long_lists(kubectl: Kubectl) -> None:
    listed = [config_map(f"m{index}", n=str(index)) for index in range(7)]
    kubectl.apply({"apiVersion": "v1", "kind": "List", "items": listed})
    found = lines(kubectl.run("get", "cm", "-o", "name", "--chunk-size=3"))
    assert {f"configmap/m{index}" for index in range(7)} <= set(found)


def test_describe_shows_the_object_and_its_events(kubectl: Kubectl) -> None:
    kubectl.apply(foo())
    obj = kubectl.read("foo", "a")
    about = {
        "kind": "Foo",
        "apiVersion": obj["apiVersion"],
        **{k: obj["metadata"][k] for k in ("name", "namespace", "uid")},
    }
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "a.1"},
        "involvedObject": about,
        "type": "Normal",
        "reason": "Synced",
        "message": "Foo synced successfully",
        "source": {"component": "sample-controller"},
        "firstTimestamp": obj["metadata"]["creationTimestamp"],
        "lastTimestamp": obj["metadata"]["creationTimestamp"],
        "count": 1,
    }
    kubectl.run("create", "-f", "-", stdin=event)
    described = kubectl.run("describe", "foo", "a")
    assert re.search(r"^API Version:\s+kubectl\.example\.com/v1$", described, re.MULTILINE)
    assert re.search(r"^  Deployment Name:  a$", described, re.MULTILINE)
    assert re.search(r"Normal\s+Synced\s+\S+\s+sample-controller\s+Foo synced successfully", described)
    header, row = rows(kubectl.run("get", "events"))
    assert header == ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert row[1:] == ["Normal", "Synced", "foo/a", "Foo synced successfully"]
    assert "Foo synced successfully" in kubectl.run("events", "--for", "foo/a")


def test_create_refuses_a_name_that_is_taken(kubectl: Kubectl) -> None:
    assert kubectl.run("create", "-f", "-", stdin=foo()) == f"foo.{GROUP}/a created\n"
    refused = kubectl.run("create", "-f", "-", stdin=foo(), code=1)
    assert (
        refused == f'Error from server (AlreadyExists): error when creating "STDIN": foos.{GROUP} "a" already exists\n'
    )


def test_objects_are_made_from_flags(kubectl: Kubectl) -> None:
    # These commands send protobuf, unlike those that read a file.
    assert kubectl.run("create", "configmap", "m", "--from-literal=a=1") == "configmap/m created\n"
    assert kubectl.read("cm", "m")["data"] == {"a": "1"}
    assert kubectl.run("create", "secret", "generic", "s", "--from-literal=a=1") == "secret/s created\n"
    assert kubectl.read("secret", "s")["data"] == {"a": "MQ=="}
    made = kubectl.run("create", "deployment", "web", "--image=nginx", "--replicas=0", "--port=80")
    assert made == "deployment.apps/web created\n"
    spec = kubectl.read("deploy", "web")["spec"]
    container = spec["template"]["spec"]["containers"][0]
    assert (spec["replicas"], container["image"]) == (0, "nginx")
    assert container["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    other = f"{kubectl.namespace}-2"
    assert kubectl.run("create", "namespace", other, "-n", "default") == f"namespace/{other} created\n"
    kubectl.run("delete", "namespace", other, "-n", "default")


def test_what_get_prints_can_be_applied(kubectl: Kubectl) -> None:
    kubectl.run("create", "-f", "-", stdin=config_map("m", a="1"))
    listed = kubectl.read("cm")
    for item in listed["items"]:
        del item["metadata"]["resourceVersion"]
    assert "configmap/m configured\n" in kubectl.apply(listed)
    assert "configmap/m unchanged\n" in kubectl.apply(listed)


def test_invalid_values_are_named(kubectl: Kubectl) -> None:
    refused = kubectl.apply(foo(replicas=11), code=1)
    why = "Invalid value: 11: spec.replicas in body should be less than or equal to 10"
    assert refused == f'The Foo "a" is invalid: spec.replicas: {why}\n'
    spec = foo()
    del spec["spec"]["deploymentName"]
    assert "spec.deploymentName: Required value" in kubectl.apply(spec, code=1)


def test_unknown_fields_are_refused_without_turning_validation_off(kubectl: Kubectl) -> None:
    refused = kubectl.apply(foo(replcas=2), code=1)
    assert 'strict decoding error: unknown field "spec.replcas"' in refused
    assert kubectl.apply(foo(replcas=2), "--validate=warn") == (
        f'Warning: unknown field "spec.replcas"\nfoo.{GROUP}/a created\n'
    )
    assert "replcas" not in kubectl.read("foo", "a")["spec"]


def test_replace_and_edit_write_the_whole_object(kubectl: Kubectl) -> None:
    kubectl.run("create", "-f", "-", stdin=foo())
    assert kubectl.run("replace", "-f", "-", stdin=foo(replicas=5)) == f"foo.{GROUP}/a replaced\n"
    edited = kubectl.run("edit", "foo", "a", KUBE_EDITOR=r"sed -i s/replicas:.5/replicas:\ 7/")
    assert edited == f"foo.{GROUP}/a edited\n"
    assert kubectl.read("foo", "a")["spec"]["replicas"] == 7


def test_patches_of_every_type(kubectl: Kubectl) -> None:
    kubectl.apply(foo())
    kubectl.apply(deployment())
    done = f"foo.{GROUP}/a patched\n"
    assert kubectl.run("patch", "foo", "a", "--type=merge", "-p", '{"spec":{"replicas":4}}') == done
    change = '[{"op":"replace","path":"/spec/replicas","value":5}]'
    assert kubectl.run("patch", "foo", "a", "--type=json", "-p", change) == done
    assert kubectl.run("patch", "foo", "a", "--type=json", "-p", change) == f"foo.{GROUP}/a patched (no change)\n"
    sidecar = '{"spec":{"template":{"spec":{"containers":[{"name":"sidecar","image":"x"}]}}}}'
    assert kubectl.run("patch", "deploy", "d", "-p", sidecar) == "deployment.apps/d patched\n"
    containers = kubectl.read("deploy", "d")["spec"]["template"]["spec"]["containers"]
    assert {item["name"] for item in containers} == {"nginx", "sidecar"}
    status = '{"status":{"availableReplicas":3}}'
    kubectl.run("patch", "foo", "a", "--type=merge", "--subresource=status", "-p", status)
    assert kubectl.read("foo", "a")["status"] == {"availableReplicas": 3}


def test_labels_and_annotations_are_set_changed_and_removed(kubectl: Kubectl) -> None:
    kubectl.apply(foo())
    assert kubectl.run("label", "foo", "a", "x=y") == f"foo.{GROUP}/a labeled\n"
    assert "--overwrite is false" in kubectl.run("label", "foo", "a", "x=z", code=1)
    assert kubectl.run("label", "foo", "a", "x=z", "--overwrite") == f"foo.{GROUP}/a labeled\n"
    assert rows(kubectl.run("get", "foo", "--show-labels"))[1][-1] == "x=z"
    assert lines(kubectl.run("get", "foo", "-l", "x in (z)", "-o", "name")) == [f"foo.{GROUP}/a"]
    assert kubectl.run("label", "foo", "a", "x-") == f"foo.{GROUP}/a unlabeled\n"
    assert kubectl.run("annotate", "foo", "a", "k=v") == f"foo.{GROUP}/a annotated\n"
    assert kubectl.read("foo", "a")["metadata"]["annotations"]["k"] == "v"


def test_scale_goes_through_the_subresource(kubectl: Kubectl) -> None:
    kubectl.apply(foo())
    kubectl.apply(deployment())
    assert kubectl.run("scale", "foo/a", "--replicas=3") == f"foo.{GROUP}/a scaled\n"
    assert kubectl.run("scale", "deploy/d", "--replicas=4") == "deployment.apps/d scaled\n"
    assert kubectl.read("foo", "a")["spec"]["replicas"] == 3
    kubectl.run("rollout", "status", "deploy/d", "--timeout=20s")
    assert rows(kubectl.run("get", "deploy", "d")) == [
        ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"],
        ["d", "4/4", "4", "4", "AGE"],
    ]
    refused = kubectl.run("scale", "foo/a", "--replicas=3", "--current-replicas=1", code=1)
    assert "Expected replicas to be 1, was 3" in refused


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
    kubectl.apply(foo(replicas=2))
    waited = kubectl.run("wait", "foo/a", "--for=jsonpath={.spec.replicas}=2", "--timeout=10s")
    assert waited == f"foo.{GROUP}/a condition met\n"
    missed = kubectl.run("wait", "foo/a", "--for=condition=Ready", "--timeout=1s", code=1)
    assert missed == "error: timed out waiting for the condition on foos/a\n"
    kubectl.run("delete", "foo", "a", "--wait=false")
    kubectl.run("wait", "foo/a", "--for=delete", "--timeout=10s")


def test_watch_prints_every_change(kubectl: Kubectl) -> None:
    kubectl.apply(foo())
    command = kubectl.command("get", "foos", "-w", "--output-watch-events")
    watch = subprocess.Popen(command, stdout=subprocess.PIPE, env=kubectl.environ, text=True)
    assert watch.stdout is not None
    try:
        seen = [watch.stdout.readline() for _ in range(2)]
        kubectl.run("scale", "foo/a", "--replicas=3")
        kubectl.run("delete", "foo", "a")
        seen += [watch.stdout.readline() for _ in range(2)]
    finally:
        watch.terminate()
        watch.wait()
        watch.stdout.close()
    assert rows("".join(seen)) == [
        ["EVENT", "NAME", "DEPLOYMENT", "REPLICAS", "AGE"],
        ["ADDED", "a", "a", "1", "AGE"],
        ["MODIFIED", "a", "a", "3", "AGE"],
        ["DELETED", "a", "a", "3", "AGE"],
    ]


def test_delete_says_what_is_gone_and_what_never_was(kubectl: Kubectl) -> None:
    kubectl.apply(foo("a"))
    kubectl.apply(foo("b"))
    assert kubectl.run("delete", "foo", "a").startswith(f'foo.{GROUP} "a" deleted')
    missing = f'Error from server (NotFound): foos.{GROUP} "a" not found\n'
    assert kubectl.run("delete", "foo", "a", code=1) == missing
    assert kubectl.run("get", "foo", "a", code=1) == missing
    assert kubectl.run("delete", "foos", "--all").startswith(f'foo.{GROUP} "b" deleted')
    assert kubectl.run("delete", "foos", "--all") == "No resources found\n"


@pytest.mark.parametrize(("cascade", "stays"), [("background", False), ("foreground", False), ("orphan", True)])
def test_dependents_follow_or_stay_as_asked(kubectl: Kubectl, cascade: str, *, stays: bool) -> None:
    kubectl.apply(foo())
    kubectl.apply(config_map("child", kubectl.read("foo", "a"), x="y"))
    kubectl.run("delete", "foo", "a", f"--cascade={cascade}")
    if stays:
        assert "ownerReferences" not in kubectl.read("cm", "child")["metadata"]
    else:
        kubectl.run("wait", "cm/child", "--for=delete", "--timeout=10s")


def test_diff_tells_what_apply_would_change(kubectl: Kubectl) -> None:
    kubectl.apply(foo())
    kubectl.apply(deployment())
    assert kubectl.run("diff", "-f", "-", stdin=foo()) == ""
    changed = kubectl.run("diff", "-f", "-", stdin=foo(replicas=2), code=1)
    assert {"-  replicas: 1", "+  replicas: 2"} <= set(lines(changed))
    changed = kubectl.run("diff", "-f", "-", stdin=deployment(image="nginx:2"), code=1)
    assert {"-      - image: nginx:1", "+      - image: nginx:2"} <= set(lines(changed))


def test_server_side_apply_owns_fields(kubectl: Kubectl) -> None:
    done = "deployment.apps/d serverside-applied\n"
    assert kubectl.apply(deployment(), "--server-side") == done
    assert kubectl.apply(deployment(), "--server-side") == done
    refused = kubectl.apply(deployment(replicas=3), "--server-side", "--field-manager=other", code=1)
    assert refused.startswith('error: Apply failed with 1 conflict: conflict with "kubectl": .spec.replicas\n')
    forced = kubectl.apply(deployment(replicas=3), "--server-side", "--field-manager=other", "--force-conflicts")
    assert forced == done
    assert kubectl.apply(foo(), "--server-side") == f"foo.{GROUP}/a serverside-applied\n"


def test_dry_run_on_the_server_stores_nothing(kubectl: Kubectl) -> None:
    assert kubectl.apply(foo(), "--dry-run=server") == f"foo.{GROUP}/a created (server dry run)\n"
    kubectl.run("get", "foo", "a", code=1)


def test_config_map_lives_and_dies(kubectl: Kubectl) -> None:
    assert kubectl.apply(config_map("m", a="1")) == "configmap/m created\n"
    assert kubectl.apply(config_map("m", a="2", b="3")) == "configmap/m configured\n"
    assert rows(kubectl.run("get", "cm", "m")) == [["NAME", "DATA", "AGE"], ["m", "2", "AGE"]]
    assert "b:\n----\n3\n" in kubectl.run("describe", "cm", "m")
    assert kubectl.run("delete", "cm", "m").startswith('configmap "m" deleted')


def test_namespace_takes_its_contents_with_it(kubectl: Kubectl) -> None:
    kubectl.apply(foo())
    assert rows(kubectl.run("get", "ns", kubectl.namespace))[1][1:] == ["Active", "AGE"]
    assert re.search(r"^Status:\s+Active$", kubectl.run("describe", "ns", kubectl.namespace), re.MULTILINE)
    kubectl.run("delete", "ns", kubectl.namespace)
    missing = f'Error from server (NotFound): namespaces "{kubectl.namespace}" not found\n'
    assert kubectl.apply(foo(), code=1).endswith(f'namespaces "{kubectl.namespace}" not found\n')
    assert kubectl.run("get", "ns", kubectl.namespace, code=1) == missing


def test_definition_comes_and_goes(kubectl: Kubectl, tmp_path: Path) -> None:
    text = (
        json.dumps(CRD).replace("foos", "bars").replace("Foo", "Bar").replace('"foo"', '"bar"').replace('"fo"', '"ba"')
    )
    name = f"bars.{GROUP}"
    made = kubectl.apply(json.loads(text))
    assert made == f"customresourcedefinition.apiextensions.k8s.io/{name} created\n"
    kubectl.run("wait", "--for=condition=Established", f"crd/{name}", "--timeout=10s")
    assert rows(kubectl.run("get", "crd", name))[0] == ["NAME", "CREATED AT"]
    kubectl.apply(json.loads(json.dumps(foo()).replace("Foo", "Bar")))
    assert rows(kubectl.run("get", "ba"))[1] == ["a", "a", "1", "AGE"]
    gone = kubectl.run("delete", "crd", name)
    assert f'customresourcedefinition.apiextensions.k8s.io "{name}" deleted' in gone
    assert 'the server doesn\'t have a resource type "bars"' in kubectl.run(
        "get", "bars", code=1, KUBECACHEDIR=str(tmp_path)
    )


def test_api_resources_name_everything_served(kubectl: Kubectl) -> None:
    found = {row[0]: row[1:] for row in rows(kubectl.run("api-resources"))}
    assert found["foos"] == ["fo", f"{GROUP}/v1", "true", "Foo"]
    assert found["deployments"] == ["deploy", "apps/v1", "true", "Deployment"]
    assert found["customresourcedefinitions"][1:] == ["apiextensions.k8s.io/v1", "false", "CustomResourceDefinition"]
    assert {"v1", "apps/v1", f"{GROUP}/v1"} <= set(lines(kubectl.run("api-versions")))
    assert 'error: the server doesn\'t have a resource type "nosuch"\n' in kubectl.run("get", "nosuch", code=1)


def test_explain_reads_schemas_of_custom_and_built_in_kinds(kubectl: Kubectl) -> None:
    explained = kubectl.run("explain", "foo.spec")
    assert lines(explained)[:5] == [
        f"GROUP:      {GROUP}",
        "KIND:       Foo",
        "VERSION:    v1",
        "",
        "FIELD: spec <Object>",
    ]
    assert "  deploymentName\t<string> -required-\n    Name of the Deployment.\n" in explained
    replicas = kubectl.run("explain", "deployment.spec.replicas")
    assert lines(replicas)[:5] == [
        *("GROUP:      apps", "KIND:       Deployment", "VERSION:    v1", "", "FIELD: replicas <integer>")
    ]
    assert "Number of desired pods." in replicas
    recursive = kubectl.run("explain", "deployment.spec.template.spec.containers", "--recursive")
    assert "\n  livenessProbe\t<Probe>\n" in recursive
    refused = kubectl.run("explain", "foo.spec.nosuch", code=1)
    assert refused.endswith('error: field "nosuch" does not exist\n')


def test_raw_paths_version_and_rights(kubectl: Kubectl) -> None:
    assert kubectl.run("get", "--raw", "/readyz") == "ok"
    assert "readyz check passed" in kubectl.run("get", "--raw", "/readyz?verbose")
    assert json.loads(kubectl.run("version", "-o", "json").partition("\nWARNING")[0])["serverVersion"]["major"] == "1"
    assert kubectl.run("auth", "can-i", "create", "foos") == "yes\n"


def test_kubectl_needs_no_home_of_its_own(environ: dict[str, str], tmp_path: Path) -> None:
    fresh = Kubectl({**environ, "HOME": str(tmp_path), "KUBECACHEDIR": str(tmp_path / "cache")}, "default")
    assert rows(fresh.run("get", "ns", "default"))[1][:2] == ["default", "Active"]
