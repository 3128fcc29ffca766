"""`make bundle`: what is made of a whole project, and that it is what OLM takes."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from clientgo.apiserver.apiextensions.schema import schema_errors
from clientgo.apiserver.apiextensions.structural import prune
from clientgo.cli.bundle.files import Channels, bundle_files
from clientgo.cli.bundle.rendered import parse, render
from clientgo.cli.bundle.serviceversion import Release, owned, words
from clientgo.cli.names import CommandError
from tests.cli.projects import FOO, clientgo, foo_project, new_project, run, texts

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

IMAGE = "registry.example.com/foo:0.2.0"
SETTINGS = ("VERSION=0.2.0", f"IMG={IMAGE}", "CHANNELS=candidate,stable", "DEFAULT_CHANNEL=stable")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, variables: Mapping[str, str]) -> Path:
    """Foo with two versions, webhooks of all sorts, and its bundle."""
    made = foo_project(tmp_path_factory.mktemp("bundle") / "foo")
    second = ("--group", "samplecontroller", "--version", "v1", "--kind", "Foo")
    webhooks = ("--defaulting", "--programmatic-validation", "--conversion")
    assert clientgo(made, "create", "api", *second, "--resource", "--controller=false") == 0
    assert clientgo(made, "create", "webhook", *FOO, *webhooks) == 0
    assert "bundle is valid" in run(made, variables, "make", "bundle", *SETTINGS)
    return made


@pytest.fixture(scope="module")
def version(project: Path) -> dict[str, Any]:
    """The ClusterServiceVersion."""
    said = yaml.safe_load((project / "bundle/manifests/foo.clusterserviceversion.yaml").read_text())
    assert isinstance(said, dict)
    return said


@pytest.mark.feature("A-74")
@pytest.mark.feature("A-75")
@pytest.mark.feature("E-11")
def test_a_bundle_has_its_manifests_metadata_and_tests(project: Path) -> None:
    made = {path for path in texts(project) if path.startswith("bundle")}
    annotations = yaml.safe_load((project / "bundle/metadata/annotations.yaml").read_text())["annotations"]
    dockerfile = (project / "bundle.Dockerfile").read_text()

    assert {
        "bundle.Dockerfile",
        "bundle/manifests/foo.clusterserviceversion.yaml",
        "bundle/manifests/samplecontroller.c9g.io_foos.yaml",
        "bundle/manifests/foo-controller-manager-metrics-service_v1_service.yaml",
        "bundle/manifests/foo-foo-viewer-role_rbac.authorization.k8s.io_v1_clusterrole.yaml",
        "bundle/metadata/annotations.yaml",
        "bundle/tests/scorecard/config.yaml",
    } <= made
    assert annotations["operators.operatorframework.io.bundle.mediatype.v1"] == "registry+v1"
    assert annotations["operators.operatorframework.io.bundle.package.v1"] == "foo"
    assert annotations["operators.operatorframework.io.bundle.channels.v1"] == "candidate,stable"
    assert annotations["operators.operatorframework.io.bundle.channel.default.v1"] == "stable"
    assert annotations["operators.operatorframework.io.test.config.v1"] == "tests/scorecard/"
    assert dockerfile.splitlines()[1] == "FROM scratch"
    assert {f"LABEL {name}={value}" for name, value in annotations.items()} <= set(dockerfile.splitlines())
    # OLM makes the namespace, the account and the certificates, and binds the permissions.
    kinds = {yaml.safe_load(text)["kind"] for path, text in texts(project / "bundle" / "manifests").items() if path}
    assert kinds == {"ClusterServiceVersion", "CustomResourceDefinition", "ClusterRole", "Service"}


@pytest.mark.feature("A-75")
@pytest.mark.feature("E-12")
def test_the_version_says_what_the_manifests_say(version: dict[str, Any]) -> None:
    spec, annotations = version["spec"], version["metadata"]["annotations"]
    [deployment] = spec["install"]["spec"]["deployments"]
    [container] = deployment["spec"]["template"]["spec"]["containers"]

    assert (version["metadata"]["name"], spec["version"], annotations["capabilities"]) == (
        "foo.v0.2.0",
        "0.2.0",
        "Basic Install",
    )
    assert [one["apiVersion"].partition("/")[2] for one in json.loads(annotations["alm-examples"])] == [
        "v1",
        "v1alpha1",
    ]
    assert {
        "displayName",
        "description",
        "icon",
        "keywords",
        "links",
        "maintainers",
        "provider",
        "maturity",
    } <= spec.keys()
    assert [(one["version"], one["displayName"]) for one in spec["customresourcedefinitions"]["owned"]] == [
        ("v1", "Foo"),
        ("v1alpha1", "Foo"),
    ]
    assert spec["install"]["strategy"] == "deployment"
    assert container["image"] == IMAGE
    # OLM mounts certificates of its own where the manager looks for them.
    assert "volumeMounts" not in container
    assert "volumes" not in deployment["spec"]["template"]["spec"]
    everywhere = spec["install"]["spec"]["clusterPermissions"]
    assert [one["serviceAccountName"] for one in everywhere] == ["foo-controller-manager"]
    assert any("foos/status" in rule["resources"] for rule in everywhere[0]["rules"])
    assert any("leases" in rule["resources"] for rule in spec["install"]["spec"]["permissions"][0]["rules"])
    assert {one["type"]: one["webhookPath"] for one in spec["webhookdefinitions"]} == {
        "ConversionWebhook": "/convert",
        "MutatingAdmissionWebhook": "/mutate-samplecontroller-c9g-io-v1alpha1-foo",
        "ValidatingAdmissionWebhook": "/validate-samplecontroller-c9g-io-v1alpha1-foo",
    }
    assert {(one["deploymentName"], one["containerPort"], one["targetPort"]) for one in spec["webhookdefinitions"]} == {
        ("foo-controller-manager", 443, 9443)
    }
    supported = {one["type"] for one in spec["installModes"] if one["supported"]}
    assert (len(spec["installModes"]), supported) == (4, {"AllNamespaces"})


@pytest.mark.feature("A-75")
def test_the_version_is_one_by_the_published_schema(version: dict[str, Any]) -> None:
    schema = yaml.safe_load((Path(__file__).parent / "clusterserviceversion_schema.yaml").read_text())
    unknown: list[str] = []
    prune(schema, version, unknown)

    assert [fault.text for fault in schema_errors(schema, version)] == []
    assert unknown == []


@pytest.mark.feature("E-10")
@pytest.mark.feature("E-13")
def test_a_second_bundle_is_the_same_and_the_next_has_nothing_of_the_last(
    project: Path, variables: Mapping[str, str]
) -> None:
    before = texts(project)
    (project / "bundle/manifests/old_v1_configmap.yaml").write_text("kind: ConfigMap\n")
    base = project / "config/manifests/bases/foo.clusterserviceversion.yaml"
    base.write_text(base.read_text().replace("displayName: Foo", "displayName: The Foo"))

    said = run(project, variables, "make", "--silent", "bundle", *SETTINGS)
    assert said.splitlines() == [
        f"updated  bundle/manifests/{base.name}",
        "removed  bundle/manifests/old_v1_configmap.yaml",
        "bundle is valid",
    ]
    base.write_text(before[base.relative_to(project).as_posix()])
    run(project, variables, "make", "bundle", *SETTINGS)
    assert texts(project) == before
    built = run(project, variables, "make", "--silent", "bundle-build", "bundle-push", "CONTAINER_TOOL=echo", *SETTINGS)
    assert built.splitlines() == [
        "build --file bundle.Dockerfile --tag c9g.io/foo-bundle:v0.2.0 .",
        "push c9g.io/foo-bundle:v0.2.0",
    ]
    catalog = ("catalog-build", "catalog-push", "OPM=echo", "CONTAINER_TOOL=docker", "BUNDLE_IMGS=a")
    assert run(project, variables, "make", "--dry-run", *catalog).splitlines() == [
        "echo index add --container-tool docker --mode semver --tag c9g.io/foo-catalog:v0.0.1 --bundles a",
        "docker push c9g.io/foo-catalog:v0.0.1",
    ]


@pytest.mark.feature("E-10")
def test_images_are_listed_by_digest_if_they_have_one(project: Path, variables: Mapping[str, str]) -> None:
    rendered = parse(run(project, variables, "kubectl", "kustomize", "config/manifests"))
    image = f"registry.example.com/foo@sha256:{'0' * 64}"

    with pytest.raises(CommandError, match="image controller:latest has no digest: give IMG as NAME@sha256:DIGEST"):
        bundle_files(rendered, Release("foo", "0.2.0", digests=True), Channels())
    files = bundle_files(rendered, Release("foo", "0.2.0", image, digests=True), Channels())

    said = yaml.safe_load(files["bundle/manifests/foo.clusterserviceversion.yaml"])
    assert said["spec"]["relatedImages"] == [{"image": image, "name": "manager"}]


def test_what_a_hand_said_of_a_kind_stays_and_the_rest_is_taken_from_its_schema() -> None:
    schema = {
        "description": "One Foo.",
        "properties": {"spec": {"properties": {"imageName": {"description": "What runs."}, "replicas": {}}}},
    }
    definition = {
        "metadata": {"name": "foos.c9g.io"},
        "spec": {
            "names": {"kind": "Foo"},
            "versions": [
                {"name": "v1", "served": True, "schema": {"openAPIV3Schema": schema}},
                {"name": "v0", "served": False},
            ],
        },
    }
    base = {
        "name": "foos.c9g.io",
        "kind": "Foo",
        "version": "v1",
        "displayName": "The Foo",
        "specDescriptors": [{"path": "replicas", "description": "How many."}],
    }

    assert owned([definition], [base]) == [
        {
            "name": "foos.c9g.io",
            "kind": "Foo",
            "version": "v1",
            "displayName": "The Foo",
            "description": "One Foo.",
            "specDescriptors": [
                {"path": "imageName", "displayName": "Image Name", "description": "What runs."},
                {"path": "replicas", "displayName": "Replicas", "description": "How many."},
            ],
        }
    ]


@pytest.mark.parametrize(
    ("name", "said"), [("IPPool", "IP Pool"), ("availableReplicas", "Available Replicas"), ("foo", "Foo"), ("_", "_")]
)
def test_names_are_taken_apart_into_words(name: str, said: str) -> None:
    assert words(name) == said


@pytest.mark.feature("E-13")
def test_what_can_not_be_bundled_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = new_project(tmp_path / "p")
    before = texts(project)
    assert clientgo(project, "bundle") == 1
    assert "nothing to bundle yet: add a kind with clientgo create api" in capsys.readouterr().err

    assert clientgo(project, "create", "api", *FOO, "--resource", "--controller=false") == 0
    assert clientgo(project, "bundle", "--version", "1") == 1
    assert "invalid version '1': expected a semantic version such as 0.1.0" in capsys.readouterr().err
    assert not (project / "bundle").exists()
    assert "config/manifests/kustomization.yaml" not in before


@pytest.mark.parametrize(
    ("kubectl", "told"),
    [
        ("nowhere", "cannot run nowhere to render config/manifests: No such file or directory"),
        ("false", "false kustomize config/manifests failed"),
    ],
)
def test_a_kubectl_that_is_not_there_or_fails_is_told(tmp_path: Path, kubectl: str, told: str) -> None:
    with pytest.raises(CommandError, match=told):
        render(tmp_path, kubectl)


def test_a_rendering_without_a_version_is_refused() -> None:
    with pytest.raises(CommandError, match="expected one ClusterServiceVersion in config/manifests/bases, got 0"):
        _ = parse("kind: Foo\n").base
    with pytest.raises(CommandError, match=r"config/manifests rendered invalid YAML: line 1"):
        parse("a: [")
