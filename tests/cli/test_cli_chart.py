"""`make helm-chart`: with its own values it is what `make deploy` applies."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from clientgo.cli.chart import chart_files
from tests.cli.projects import FOO, clientgo, foo_project, run

pytestmark = [pytest.mark.timeout(180), pytest.mark.feature("A-76")]

IMAGE = "registry.example.com/foo:0.2.0"
_JSON = re.compile(r"\{\{ toJson \.Values\.(\w+) \}\}")
_RELEASE = {"{{ .Release.Namespace }}": "foo-system", "{{ .Release.Service }}": "kustomize"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, variables: Mapping[str, str]) -> Path:
    """Foo with webhooks, and its chart."""
    made = foo_project(tmp_path_factory.mktemp("chart") / "foo")
    assert clientgo(made, "create", "webhook", *FOO, "--defaulting") == 0
    told = run(made, variables, "make", "helm-chart", "VERSION=0.2.0", f"IMG={IMAGE}")
    assert "helm install foo dist/chart --namespace foo-system" in told
    return made


def templates(project: Path) -> str:
    """All of them, one after another."""
    found = sorted((project / "dist" / "chart" / "templates").iterdir())
    return "".join(f"---\n{file.read_text()}" for file in found)


def by_name(objects: list[Any]) -> dict[tuple[str, str], Any]:
    return {(one["kind"], one["metadata"]["name"]): one for one in objects if one}


@pytest.mark.e2e
def test_with_its_own_values_it_is_what_deploy_applies(project: Path, variables: Mapping[str, str]) -> None:
    values = yaml.safe_load((project / "dist/chart/values.yaml").read_text())
    said = _JSON.sub(lambda value: json.dumps(values[value[1]]), templates(project))
    for expression, value in _RELEASE.items():
        said = said.replace(expression, value)
    made = by_name(list(yaml.safe_load_all(re.sub(r"^ *\{\{- .*\}\}\n", "", said, flags=re.MULTILINE))))
    run(project, variables, "make", "build-installer", f"IMG={IMAGE}")
    wanted = by_name(list(yaml.safe_load_all((project / "dist/install.yaml").read_text())))

    # Helm makes the namespace; what is new are places for the pods, and that CRDs stay.
    del wanted["Namespace", "foo-system"]
    pod = made["Deployment", "foo-controller-manager"]["spec"]["template"]["spec"]
    assert [pod.pop(name) for name in ("nodeSelector", "tolerations", "affinity")] == [{}, [], {}]
    crd = made["CustomResourceDefinition", "foos.samplecontroller.c9g.io"]["metadata"]
    assert crd.pop("annotations") == {"helm.sh/resource-policy": "keep"}
    assert made == wanted


@pytest.mark.e2e
@pytest.mark.parametrize("crds", [True, False])
def test_gos_templates_put_it_into_another_namespace_with_or_without_crds(
    project: Path, variables: Mapping[str, str], crds: bool
) -> None:
    # kubectl has Go's templates, without Helm's own functions.
    (project / "chart.tmpl").write_text(templates(project).replace("toJson", "print"))
    values = yaml.safe_load((project / "dist/chart/values.yaml").read_text())
    values["crd"] = {"enable": crds, "keep": False}
    release = {"Namespace": "elsewhere", "Service": "Helm"}
    scope = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "Values": values, "Release": release}
    (project / "scope.json").write_text(json.dumps(scope))

    said = run(project, variables, "kubectl", "label", "--local", "-f", "scope.json", "a=b", "-o", "go-template-file",
        "--template", "chart.tmpl")  # fmt: skip
    made = by_name(list(yaml.safe_load_all(said)))
    assert "foo-system" not in said
    assert made["Deployment", "foo-controller-manager"]["metadata"]["namespace"] == "elsewhere"
    assert [kind for kind, _ in made if kind == "CustomResourceDefinition"] == (
        ["CustomResourceDefinition"] if crds else []
    )
    assert made["Service", "foo-webhook-service"]["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm"


def test_what_looks_like_a_template_in_a_manifest_is_text_and_namesakes_share_a_file() -> None:
    data = {"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "{{ .Mine }}"}}

    files = chart_files("foo", "0.1.0", IMAGE, (data, data))
    assert files["templates/configmap-a.yaml"].count('{{ "{{" }} .Mine }}') == 2
    assert files["templates/configmap-a.yaml"].count("---\n") == 1


def test_namespace_and_image_that_look_like_numbers_stay_texts() -> None:
    account = {"kind": "ServiceAccount", "metadata": {"name": "a", "namespace": "foo-system"}}

    files = chart_files("foo", "0.1.0", "1e3", (account,))
    assert 'namespace: "{{ .Release.Namespace }}"' in files["templates/serviceaccount-a.yaml"]
    assert yaml.safe_load(files["values.yaml"])["image"] == "1e3"
    assert "image: '1e3'" in files["values.yaml"]


def test_a_version_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = foo_project(tmp_path / "p")

    assert clientgo(project, "chart", "--version", "v1") == 1
    assert "invalid version 'v1': expected a semantic version" in capsys.readouterr().err
