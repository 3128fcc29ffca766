"""Sources of volumes: of pods, and of persistent volumes."""

from typing import Any

import pytest
import yaml

from apiserver.tests.inprocess import MERGE, PODS, Kube
from apiserver.tests.registry.ruletables import cases, check

SOURCES = r"""
gcePersistentDisk: {pdName: d, partition: 256} => persistentDisk.partition: Invalid value: 256: must be between 1 and
awsElasticBlockStore: {volumeID: d, partition: -1} => awsElasticBlockStore.partition: Invalid value: -1: must be between
fc: {targetWWNs: [a], wwids: [b], lun: 256} => fc.targetWWNs: Invalid value: ["a"]: targetWWNs and wwids can not be
    && fc.lun: Invalid value: 256: must be between 0 and 255, inclusive
fc: {targetWWNs: [a]} => fc.lun: Required value: lun is required if targetWWNs is specified
azureDisk: {diskName: d, diskURI: a, cachingMode: X, kind: Y} => azureDisk.cachingMode: Unsupported value: "X"
    && azureDisk.kind: Unsupported value: "Y" && azureDisk.diskURI: Unsupported value: "a": supported values: "https://
azureDisk: {diskName: d, diskURI: "https://a", kind: Managed} => azureDisk.diskURI: Unsupported value: "https://a"
flocker: {} => flocker: Required value: one of datasetName and datasetUUID is required
flocker: {datasetName: a/b, datasetUUID: c} => flocker: Invalid value: "resource": datasetName and datasetUUID can not
    && flocker.datasetName: Invalid value: "a/b": must not contain '/'
quobyte: {registry: "a:1,b", volume: v} => quobyte.registry: Invalid value: "a:1,b": must be a host:port pair or
flexVolume: {driver: d, options: {a: b, c.k8s.io/e: f}} => flexVolume.options[c.k8s.io/e]: Invalid value: "c.k8s.io/e":
storageos: {volumeName: A} => storageos.volumeName: Invalid value: "A": a lowercase RFC 1123 label
portworxVolume: {} => portworxVolume.volumeID: Required value
photonPersistentDisk: {} => photonPersistentDisk.pdID: Required value
"""
VOLUMES = r"""
glusterfs: {endpoints: e, path: p, endpointsNamespace: ""} => glusterfs.endpointsNamespace: Invalid value: "": if the
azureFile: {secretName: s, shareName: n, secretNamespace: ""} => azureFile.secretNamespace: Required value
cinder: {volumeID: v, secretRef: {}} => cinder.secretRef.name: Required value
    && cinder.secretRef.namespace: Required value
iscsi: {targetPortal: p, iqn: x, lun: 0, initiatorName: y} => iscsi.iqn: Invalid value: "x": must be valid format
    && iscsi.initiatorname: Invalid value: "y": must be valid format
"""
AFFINITIES = [
    ("beta.kubernetes.io/os", "kubernetes.io/os", True),
    ("kubernetes.io/os", "beta.kubernetes.io/os", False),
    ("a", "b", False),
]


def volume(**fields: Any) -> dict[str, Any]:
    return {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], **fields}}


@pytest.mark.parametrize(("source", "errors"), cases(SOURCES), ids=lambda text: text[:60])
def test_source_is_rejected_for_volumes_of_pods_and_for_persistent_ones(kube: Kube, source: str, errors: str) -> None:
    fields = yaml.safe_load(f"{{{source}}}")
    status = kube.refused(422, "POST", "/api/v1/persistentvolumes", {"metadata": {"name": "x"}, **volume(**fields)})
    check(status, errors, {"spec.": ""})
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": [{"name": "v", **fields}]}
    check(kube.refused(422, "POST", PODS, {"metadata": {"name": "x"}, "spec": spec}), errors, {"spec.volumes[0].": ""})


@pytest.mark.parametrize(("source", "errors"), cases(VOLUMES), ids=lambda text: text[:60])
def test_source_of_a_persistent_volume_is_rejected(kube: Kube, source: str, errors: str) -> None:
    obj = {"metadata": {"name": "x"}, **volume(**yaml.safe_load(f"{{{source}}}"))}
    check(kube.refused(422, "POST", "/api/v1/persistentvolumes", obj), errors, {"spec.": ""})


@pytest.mark.parametrize(("old", "new", "allowed"), AFFINITIES)
def test_affinity_of_a_volume_changes_only_to_newer_labels(kube: Kube, old: str, new: str, allowed: bool) -> None:
    def affinity(key: str) -> dict[str, Any]:
        term = {"matchExpressions": [{"key": key, "operator": "Exists"}]}
        return {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}

    url = "/api/v1/persistentvolumes"
    kube.ok("POST", url, {"metadata": {"name": "x"}, **volume(hostPath={"path": "/x"}, **affinity(old))})
    response = kube.send("PATCH", f"{url}/x", {"spec": affinity(new)}, MERGE)
    assert response.status == (200 if allowed else 422)
