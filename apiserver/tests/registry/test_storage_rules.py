"""Rules of storage, runtimes and address ranges: what is wrong, and the error of each field."""

from typing import Any

import pytest
import yaml

from apiserver.tests.inprocess import MERGE, PODS, Kube
from apiserver.tests.registry.ruletables import cases, check


def volume(**fields: Any) -> dict[str, Any]:
    return {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], **fields}}


BASES: dict[str, tuple[str, dict[str, Any]]] = {
    "csidrivers": ("/apis/storage.k8s.io/v1/csidrivers", {"spec": {"tokenRequests": [{"audience": "a"}]}}),
    "csinodes": ("/apis/storage.k8s.io/v1/csinodes", {"spec": {"drivers": [{"name": "d", "nodeID": "n"}]}}),
    "csistoragecapacities": (
        "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities",
        {"storageClassName": "s", "nodeTopology": {"matchLabels": {"a": "b"}}},
    ),
    "ipaddresses": ("/apis/networking.k8s.io/v1/ipaddresses", {"spec": {"parentRef": {"resource": "s", "name": "n"}}}),
    "persistentvolumeclaims": (
        "/api/v1/namespaces/default/persistentvolumeclaims",
        {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
    ),
    "persistentvolumes": ("/api/v1/persistentvolumes", volume(hostPath={"path": "/x"})),
    "runtimeclasses": ("/apis/node.k8s.io/v1/runtimeclasses", {"handler": "h"}),
    "servicecidrs": ("/apis/networking.k8s.io/v1/servicecidrs", {"spec": {"cidrs": ["10.5.0.0/24"]}}),
    "storageclasses": ("/apis/storage.k8s.io/v1/storageclasses", {"provisioner": "p"}),
    "volumeattachments": (
        "/apis/storage.k8s.io/v1/volumeattachments",
        {"spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "p"}}},
    ),
    "volumeattributesclasses": (
        "/apis/storage.k8s.io/v1/volumeattributesclasses",
        {"driverName": "d", "parameters": {"a": "b"}},
    ),
}
INVALID = r"""
csidrivers spec: {nodeAllocatableUpdatePeriodSeconds: 9}
    => spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds
csidrivers spec: {tokenRequests: [{expirationSeconds: 599}, {}]}
    => spec.tokenRequests[0].expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes
    && spec.tokenRequests[1].audience: Duplicate value: ""
csidrivers spec: {serviceAccountTokenInSecrets: true} => spec.serviceAccountTokenInSecrets: Invalid value: true: service
csinodes spec: {drivers: [{name: d, nodeID: n, allocatable: {count: -1}, topologyKeys: [a, a]}]}
    => spec.drivers[0].allocatable.count: Invalid value: -1: must be greater && spec.drivers[0]: Duplicate value: "a"
csistoragecapacities storageClassName: "", capacity: "-1" => storageClassName: Invalid value: "": a lowercase
    && capacity: Invalid value: "-1": must be greater than or equal to 0
csistoragecapacities nodeTopology: {matchExpressions: [{key: a}]} => nodeTopology.matchExpressions[0].operator: Invalid
ipaddresses metadata: {name: a} => metadata.name: Invalid value: "a": must be a valid IP address
ipaddresses metadata: {name: 10.0.0.1}, spec: {} => spec.parentRef: Required value
ipaddresses metadata: {name: "::1"}, spec: {parentRef: {group: A_b}} => spec.parentRef.group: Invalid value: "A_b"
    && spec.parentRef.resource: Required value && spec.parentRef.name: Required value
persistentvolumes metadata: {name: a, annotations: {volume.beta.kubernetes.io/mount-options: ro}}
    => metadata.annotations.volume.beta.kubernetes.io/mount-options: Forbidden: may not specify mount options for this
persistentvolumeclaims spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}},
    dataSource: {kind: PersistentVolumeClaim, name: a}, dataSourceRef: {kind: PersistentVolumeClaim, name: b}}
    => spec: Invalid value: {}: must match dataSourceRef
runtimeclasses overhead: {podFixed: {a: "1"}} => overhead.limits[a]: Invalid value: "a": must be a standard resource
    && overhead.limits[a]: Invalid value: "a": must be a standard resource for containers
runtimeclasses scheduling: {tolerations: [{key: a}, {key: a}]} => scheduling.tolerations[1]: Duplicate value:
servicecidrs spec: {cidrs: []} => spec.cidrs: Required value: at least one CIDR required
servicecidrs spec: {cidrs: [10.0.0.0/24, 10.1.0.0/24]} => spec.cidrs: Invalid value: ["10.0.0.0/24","10.1.0.0/24"]: may
servicecidrs spec: {cidrs: ["0:0::/64"]} => spec.cidrs[0]: Invalid value: "0:0::/64": must be in canonical form
storageclasses allowedTopologies: [{}] => allowedTopologies[0].matchLabelExpressions: Duplicate value: ""
volumeattachments spec: {attacher: A_b, nodeName: n, source: {persistentVolumeName: p}} => spec.attacher: Invalid value
volumeattachments spec: {attacher: a, nodeName: n, source: {persistentVolumeName: p, inlineVolumeSpec: {}}}
    => spec.source: Forbidden: must specify exactly one of inlineVolumeSpec and persistentVolumeName
volumeattachments spec: {attacher: a, nodeName: n, source: {inlineVolumeSpec: {accessModes: [ReadWriteOnce]}}}
    => spec.source.inlineVolumeSpec.csi: Required value && spec.source.inlineVolumeSpec: Required value: must specify
volumeattributesclasses driverName: a b, parameters: {} => driverName: Invalid value: "a b": name part must consist of
    && parameters: Required value: must contain at least one key/value pair
"""
CHANGES = r"""
csinodes spec: {drivers: [{name: d, nodeID: n, allocatable: {count: 1}}]} => ok
csinodes spec: {drivers: [{name: d, nodeID: m}]}
    => spec.drivers: Invalid value: {"Name":"d","NodeID":"m","TopologyKeys":null,"Allocatable":null}: field is immutable
volumeattachments spec: {nodeName: m} => spec: Invalid value: {"Attacher":"a","Source":{"PersistentVolumeName":"p",
csistoragecapacities storageClassName: t => storageClassName: Invalid value: "t": field is immutable
servicecidrs spec: {cidrs: [10.6.0.0/24]} => spec.cidrs[0]: Invalid value: "10.6.0.0/24": field is immutable
servicecidrs spec: {cidrs: [10.5.0.0/24, "2001:db8::/64"]} => ok
servicecidrs spec: {cidrs: []} => spec.cidrs: Invalid value: []: field is immutable
volumeattributesclasses driverName: e => driverName: Forbidden: updates to driverName are forbidden.
"""


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


def of(text: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return the path of a kind, its valid object, and the fields of the text."""
    plural, _, fields = text.partition(" ")
    path, base = BASES[plural]
    return path, {"metadata": {"name": "x"}, **base}, yaml.safe_load(f"{{{fields}}}")


@pytest.mark.parametrize(("fields", "errors"), cases(INVALID), ids=lambda text: text[:60])
def test_invalid_object_is_rejected_with_an_error_for_each_field(kube: Kube, fields: str, errors: str) -> None:
    path, base, invalid = of(fields)
    check(kube.refused(422, "POST", path, {**base, **invalid}), errors, {})


@pytest.mark.parametrize(("change", "errors"), cases(CHANGES), ids=lambda text: text[:60])
def test_change_is_accepted_or_rejected_with_an_error_for_each_field(kube: Kube, change: str, errors: str) -> None:
    path, base, patch = of(change)
    kube.ok("POST", path, base)
    if errors == "ok":
        kube.ok("PATCH", f"{path}/x", patch, MERGE)
    else:
        check(kube.refused(422, "PATCH", f"{path}/x", patch, MERGE), errors, {})


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


@pytest.mark.parametrize(
    ("status", "errors"),
    [
        (
            {"allocatedResourceStatuses": {"a": "NodeResizePending"}},
            'allocatedResourceStatuses: Unsupported value: "a"',
        ),
        (
            {"allocatedResourceStatuses": {"storage": "x"}},
            'allocatedResourceStatuses: Unsupported value: "storage"',
        ),
        ({"allocatedResources": {"a b": "1"}}, 'status.allocatedResources: Invalid value: "a b"'),
        ({"allocatedResources": {"storage": "-1"}}, "status.allocatedResources[storage]: Invalid value: -1"),
        ({"allocatedResources": {"storage": "1", "example.com/a": "1"}}, ""),
    ],
)
def test_resize_of_a_claim_is_validated(kube: Kube, status: dict[str, Any], errors: str) -> None:
    url = "/api/v1/namespaces/default/persistentvolumeclaims"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    kube.ok("POST", url, {"metadata": {"name": "c"}, "spec": spec})
    response = kube.send("PATCH", f"{url}/c/status", {"status": status}, MERGE)
    assert response.status == (422 if errors else 200)
    assert errors in response.body.decode().replace("\\", "")
