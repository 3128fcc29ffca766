"""Minimal valid bundle for tests of the rules, and functions that modify it."""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from clientgo_olm.objects import OPERATORS
from clientgo_olm.reading import Bundle
from clientgo_olm.rules import required
from clientgo_olm.suites import SUITES

NAME = "foos.samplecontroller.c9g.io"
BUNDLE = "operators.operatorframework.io.bundle."
CSV = "manifests/foo.clusterserviceversion.yaml"
CRD = "manifests/samplecontroller.c9g.io_foos.yaml"

EXAMPLE = {"apiVersion": "samplecontroller.c9g.io/v1", "kind": "Foo", "metadata": {"name": "a"}}

_VERSION: dict[str, Any] = {
    "apiVersion": OPERATORS,
    "kind": "ClusterServiceVersion",
    "metadata": {
        "name": "foo.v0.1.0",
        "annotations": {"alm-examples": json.dumps([EXAMPLE]), "capabilities": "Basic Install"},
    },
    "spec": {
        "displayName": "Foo",
        "version": "0.1.0",
        "minKubeVersion": "1.29.0",
        "provider": {"name": "c9g.io"},
        "icon": [{"base64data": "PHN2Zy8+", "mediatype": "image/svg+xml"}],
        "maintainers": [{"name": "Jane", "email": "jane@c9g.io"}],
        "links": [{"name": "Foo", "url": "https://c9g.io"}],
        "installModes": [{"type": "OwnNamespace", "supported": False}, {"type": "AllNamespaces", "supported": True}],
        "customresourcedefinitions": {
            "owned": [{"name": NAME, "kind": "Foo", "version": "v1", "description": "A Foo."}]
        },
        "install": {
            "strategy": "deployment",
            "spec": {
                "deployments": [
                    {
                        "name": "foo",
                        "spec": {
                            "selector": {"matchLabels": {"a": "b"}},
                            "template": {
                                "spec": {
                                    "serviceAccountName": "foo",
                                    "containers": [
                                        {"name": "manager", "resources": {"requests": {"cpu": "1", "memory": "1Mi"}}}
                                    ],
                                }
                            },
                        },
                    }
                ],
                "clusterPermissions": [
                    {
                        "serviceAccountName": "foo",
                        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
                    }
                ],
            },
        },
        "webhookdefinitions": [
            {
                "generateName": "vfoo.c9g.io",
                "type": "ValidatingAdmissionWebhook",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "deploymentName": "foo",
                "containerPort": 443,
                "webhookPath": "/validate",
            }
        ],
    },
}
_DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": NAME},
    "spec": {
        "group": "samplecontroller.c9g.io",
        "names": {"kind": "Foo", "plural": "foos"},
        "versions": [{"name": "v1", "served": True, "storage": True}],
    },
}
_ANNOTATIONS = {
    f"{BUNDLE}mediatype.v1": "registry+v1",
    f"{BUNDLE}manifests.v1": "manifests/",
    f"{BUNDLE}metadata.v1": "metadata/",
    f"{BUNDLE}package.v1": "foo",
    f"{BUNDLE}channels.v1": "candidate,stable",
    f"{BUNDLE}channel.default.v1": "stable",
}


def valid_bundle() -> Bundle:
    """Return a bundle without errors or warnings."""
    objects = {CSV: copy.deepcopy(_VERSION), CRD: copy.deepcopy(_DEFINITION)}
    return Bundle(objects, dict(_ANNOTATIONS), size=1000, labels=dict(_ANNOTATIONS))


def set_value(path: str, value: object) -> Callable[[Bundle], Bundle]:
    """Set the value at a path of `csv`, `crd` or `annotations`, as `csv spec installModes 0 type`; None removes it."""

    def change(bundle: Bundle) -> Bundle:
        root, *names = path.split()
        at: Any = {"csv": bundle.objects[CSV], "crd": bundle.objects[CRD], "annotations": bundle.annotations}[root]
        *route, last = (int(name) if name.isdigit() else name for name in names)
        for name in route:
            at = at[name]
        if value is None:
            del at[last]
        else:
            at[last] = value
        return bundle

    return change


def add_object(name: str, obj: dict[str, Any]) -> Callable[[Bundle], Bundle]:
    """Add an object."""
    return lambda bundle: replace(bundle, objects={**bundle.objects, f"manifests/{name}.yaml": obj})


def messages(bundle: Bundle, *suites: str) -> list[str]:
    """Return level and text of each finding, without its file."""
    findings = [*required(bundle), *(finding for suite in suites for finding in SUITES[suite](bundle))]
    return [f"{finding.level}: {finding.text}" for finding in findings]
