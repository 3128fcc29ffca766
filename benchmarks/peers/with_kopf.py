# mypy: disallow-untyped-calls=False, disable-error-code="arg-type"
"""Subject kopf: `kopf run` this file. The Deployment is adopted; the Foo's status follows an event handler.

The handlers call the official client, as in kopf's documentation; sync handlers run in kopf's threads.
"""

import json
import logging
from typing import Any

import kopf
from kubernetes import client, config

from benchmarks.objects import deployment

config.load_kube_config()
apps, foos = client.AppsV1Api(), client.CustomObjectsApi()
KIND = ("samplecontroller.k8s.io", "v1alpha1")


@kopf.on.create(*KIND, "foos")
def create(body: kopf.Body, spec: kopf.Spec, name: str, namespace: str, patch: kopf.Patch, **_: Any) -> None:
    """Create the Foo's Deployment; kopf's patch includes the status."""
    document = json.loads(deployment(spec["deploymentName"], "", spec["replicas"]))
    del document["metadata"]["ownerReferences"]
    kopf.adopt(document, owner=body)
    built = apps.create_namespaced_deployment(namespace, document)
    patch.status["availableReplicas"] = (built.status and built.status.available_replicas) or 0


@kopf.on.update(*KIND, "foos", field="spec.replicas")
def scale(spec: kopf.Spec, namespace: str, **_: Any) -> None:
    """Scale the Foo's Deployment."""
    apps.patch_namespaced_deployment(spec["deploymentName"], namespace, {"spec": {"replicas": spec["replicas"]}})


@kopf.on.event("apps", "v1", "deployments")
def available(status: kopf.Status, meta: kopf.Meta, namespace: str, **_: Any) -> None:
    """Report the available replicas of a Deployment to its Foo."""
    count = status.get("availableReplicas")
    for owner in meta.get("ownerReferences", ()):
        if owner["kind"] == "Foo" and count is not None:
            messages = {"status": {"availableReplicas": count}}
            foos.patch_namespaced_custom_object_status(*KIND, namespace, "foos", owner["name"], messages)


logging.getLogger("kubernetes").setLevel(logging.WARNING)
