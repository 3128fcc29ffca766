"""kubectl as a user runs it, and objects to apply."""

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from clientgo.envtest import BundledServer, Environment

GROUP = "kubectl.example.com"
CRD: dict[str, Any] = yaml.safe_load(f"""
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: gadgets.{GROUP}}}
spec:
  group: {GROUP}
  scope: Namespaced
  names: {{plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList, shortNames: [gd]}}
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
        description: Gadget asks for a Deployment.
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
    """kubectl for one namespace of an environment's server, with its own home and cache."""

    def __init__(self, environment: Environment, environ: Mapping[str, str], namespace: str) -> None:
        self.environment = environment
        self.environ = dict(environ)
        self.namespace = namespace

    def run(self, *arguments: str, stdin: Any = None, code: int = 0, **environ: str) -> str:
        """Run one command and return its output; its exit code must be `code`."""
        done = subprocess.run(
            self.command(*arguments), input=json.dumps(stdin) if stdin is not None else None, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env={**self.environ, **environ}, text=True, timeout=40, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stdout
        return done.stdout

    def command(self, *arguments: str) -> list[str]:
        """Return the command line, with the namespace unless it names one."""
        return ["kubectl", *(() if "-n" in arguments else ("-n", self.namespace)), *arguments]

    def apply(self, obj: dict[str, Any], *arguments: str, code: int = 0) -> str:
        return self.run("apply", "-f", "-", *arguments, stdin=obj, code=code)

    def read(self, *what: str) -> dict[str, Any]:
        obj: dict[str, Any] = json.loads(self.run("get", *what, "-o", "json"))
        return obj


@contextmanager
def simulated_cluster(home: Path) -> Iterator[Kubectl]:
    """Kubectl for the default namespace of a server that simulates a cluster."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "KUBECONFIG": str(home / "kubeconfig")}
    environment = Environment(server=BundledServer(secure=True, kubeconfig=home / "kubeconfig", ready_seconds=0.1))
    with environment:
        yield Kubectl(environment, environ, "default")


def gadget(name: str = "a", replicas: int = 1, **spec: Any) -> dict[str, Any]:
    spec = {"deploymentName": name, "replicas": replicas, **spec}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Gadget", "metadata": {"name": name}, "spec": spec}


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
    """Return the cells of a printed table, with every age as `AGE`."""
    return [
        [re.sub(r"^(\d+[smhd])+$", "AGE", cell) for cell in re.split(r" {2,}", line.strip())] for line in lines(text)
    ]


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]
