"""Manifests in artifacts/, read as files or rendered by kubectl."""

import functools
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ARTIFACTS = ROOT / "artifacts"
NAME = "sample-controller"
NAMESPACE = "sample-controller-system"
OVERLAYS = ("default", "namespaced", "sharded")

Object = dict[str, Any]


def documents(path: Path) -> list[Object]:
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def gathered(folder: Path) -> list[Object]:
    """Return the objects of a kustomization that adds at most labels, without kubectl."""
    matches: list[Object] = []
    [kustomization] = documents(folder / "kustomization.yaml")
    assert set(kustomization) <= {"apiVersion", "kind", "resources", "namespace", "labels"}
    for resource in kustomization["resources"]:
        path = (folder / resource).resolve()
        matches += gathered(path) if path.is_dir() else documents(path)
    for added in kustomization.get("labels", ()):
        for each in matches:
            each["metadata"]["labels"] = {**each["metadata"].get("labels", {}), **added["pairs"]}
    return matches


@functools.cache
def _kustomize(folder: Path) -> str:
    done = subprocess.run(
        ["kubectl", "kustomize", str(folder)], capture_output=True, text=True, check=False, timeout=30
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def rendered(folder: Path | str) -> list[Object]:
    """Return the output of `kubectl kustomize` for a folder of artifacts/ or another one."""
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    return [document for document in yaml.safe_load_all(_kustomize(ARTIFACTS / folder)) if document]


def named(objects: Iterable[Object], kind: str, name: str = NAME) -> Object:
    """Return the object of this kind and name."""
    [matches] = [each for each in objects if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return matches


def pod(objects: Iterable[Object]) -> Object:
    """Return the pod template of the controller's Deployment."""
    template: Object = named(objects, "Deployment")["spec"]["template"]
    return template


def container(objects: Iterable[Object]) -> Object:
    """Return the controller's container."""
    [only] = pod(objects)["spec"]["containers"]
    result: Object = only
    return result


Grant = tuple[str, str, str, str]
"""API group, resource (with its subresource), the one name it is about or "", and verb."""


def grants(role: Object) -> Iterator[Grant]:
    """Return the permissions of a role, one by one."""
    for rule in role["rules"]:
        for group in rule.get("apiGroups", ()):
            for resource in rule["resources"]:
                for name in rule.get("resourceNames", ("",)):
                    yield from ((group, resource, name, verb) for verb in rule["verbs"])
