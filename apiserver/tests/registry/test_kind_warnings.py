"""Warnings by kind: a line for each object, with the start of each of its warnings."""

import base64
from typing import Any

import pytest
import yaml

from apiserver.tests.registry.ruletables import cases
from clientgo_apiserver.registry.builtin import builtin_registry
from clientgo_apiserver.registry.strategies.warnings import object_warnings

WARNINGS = r"""
services spec: {type: ClusterIP, clusterIP: None, loadBalancerIP: 1.2.3.4, sessionAffinity: ClientIP}
    => spec.loadBalancerIP is ignored && spec.SessionAffinity is ignored for headless services
services spec: {clusterIPs: [010.0.0.1]} => spec.clusterIPs[0]: non-standard IP address "010.0.0.1"
services spec: {loadBalancerIP: "::ffff:1.2.3.4"} => spec.loadBalancerIP: non-standard IP address "::ffff:1.2.3.4"
services spec: {loadBalancerIP: "2001:DB8::1"} => spec.loadBalancerIP: IPv6 address "2001:DB8::1" should be in RFC 5952
services spec: {loadBalancerSourceRanges: [10.0.0.1/8]}
    => spec.loadBalancerSourceRanges[0]: CIDR value "10.0.0.1/8" is ambiguous
services spec: {type: ExternalName, externalName: a, externalIPs: [1.2.3.4]} => spec.externalIPs is ignored when
services spec: {type: ClusterIP, externalName: a} => spec.externalName is ignored when spec.type is not
services spec: {trafficDistribution: PreferClose} => spec.trafficDistribution: "PreferClose" is deprecated
services metadata: {annotations: {service.kubernetes.io/topology-aware-hints: auto}}, spec: {}
    => annotation service.kubernetes.io/topology-aware-hints is deprecated
endpoints subsets: [{addresses: [{ip: 01.2.3.4}]}] => subsets[0].addresses[0].ip: non-standard IP address
endpoints subsets: [{addresses: [{ip: 01.2.3.4}]}],
    metadata: {labels: {endpoints.kubernetes.io/managed-by: endpoint-controller}}
    => none
endpointslices addressType: FQDN => spec.addressType: FQDN endpoints are deprecated
endpointslices endpoints: [{addresses: [01.2.3.4]}] => endpoints[0].addresses[0]: non-standard IP address
persistentvolumes spec: {persistentVolumeReclaimPolicy: Recycle, glusterfs: {}}
    => spec.persistentVolumeReclaimPolicy: The Recycle
    && spec.glusterfs: deprecated in v1.25
persistentvolumes spec: {nodeAffinity: {required: {nodeSelectorTerms: [
    {matchExpressions: [{key: beta.kubernetes.io/os}]}]}}}
    => spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: beta.kubernetes.io/os is
persistentvolumeclaims metadata: {annotations: {volume.beta.kubernetes.io/storage-class: a}}
    => metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated
storageclasses allowedTopologies: [{matchLabelExpressions: [{key: beta.kubernetes.io/arch}]}]
    => allowedTopologies[0].matchLabelExpressions[0].key: deprecated since v1.14
csidrivers spec: {tokenRequests: [{}]} => spec.serviceAccountTokenInSecrets is unset
csidrivers spec: {tokenRequests: [{}], serviceAccountTokenInSecrets: false} => none
csistoragecapacities nodeTopology: {matchLabels: {beta.kubernetes.io/os: a}}
    => nodeTopology.matchLabels.beta.kubernetes.io/os: deprecated
runtimeclasses scheduling: {nodeSelector: {beta.kubernetes.io/os: a}} => scheduling.nodeSelector: deprecated since v1.14
nodes spec: {podCIDRs: [10.0.0.1/24]} => spec.podCIDRs[0]: CIDR value
serviceaccounts metadata: {annotations: {kubernetes.io/enforce-mountable-secrets: "true"}}
    => metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated
statefulsets spec: {revisionHistoryLimit: -1} => spec.revisionHistoryLimit: a negative value retains all
jobs metadata: {name: a.b}, spec: {} => metadata.name: this is used in Pod names and hostnames
jobs spec: {completionMode: Indexed, completions: 100001, parallelism: 10001} => spec:
cronjobs spec: {jobTemplate: {spec: {template: {spec: {nodeSelector: {beta.kubernetes.io/os: a}}}}}}
    => spec.jobTemplate.spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14
podtemplates template: {spec: {hostAliases: [{ip: 01.2.3.4}, {ip: 01.2.3.4}]}}
    => template.spec.hostAliases[1].ip: duplicate ip
    && template.spec.hostAliases[0].ip: non-standard && template.spec.hostAliases[1].ip: non-standard
pods spec: {topologySpreadConstraints: [{topologyKey: beta.kubernetes.io/os}]}
    => spec.topologySpreadConstraints[0].topologyKey: beta.kubernetes.io/os is deprecated
    && spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod
pods spec: {affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{podAffinityTerm: {}}]}}}
    => spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector: a
pods spec: {dnsConfig: {nameservers: [01.2.3.4]}} => spec.dnsConfig.nameservers[0]: non-standard IP address
pods spec: {volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: a}}, {podCertificate: {keyPath: a}},
    {clusterTrustBundle: {signerName: s, path: a/}}]}}]}
    => volume "v" (Projected): overlapping paths: "a" (PodCertificate key) with "a" (ServiceAccountToken)
    && volume "v" (Projected): overlapping paths: "a" (ClusterTrustBundle "s") with "a" (ServiceAccountToken)
    && volume "v" (Projected): overlapping paths: "a" (ClusterTrustBundle "s") with "a" (PodCertificate key)
pods spec: {volumes: [{name: v, configMap: {name: m, items: [{path: a}, {path: a/b}]}}]}
    => volume "v" (ConfigMap "m"): overlapping paths: "a/b" with "a"
pods spec: {volumes: [{name: v, projected: {sources: [{secret: {name: s, items: [{path: a}]}}, {downwardAPI: {items: [
    {path: a/b}, {path: ab}]}}]}}]}
    => volume "v" (Projected): overlapping paths: "a/b" (DownwardAPI) with "a" (Secret "s")
pods metadata: {annotations: {seccomp.security.alpha.kubernetes.io/pod: a}}, spec: {}
    => metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: non-functional
pods spec: {containers: [{ports: [{name: p, containerPort: 1}]}, {ports: [{name: p, containerPort: 2}]}]}
    => spec.containers[1].ports[0]: duplicate port name "p" with spec.containers[0].ports[0], services and probes that
resourceslices spec: {driver: A.b} => spec.driver: driver names should be lowercase; "A.b" contains uppercase characters
services spec: {ports: [{port: 1}], externalIPs: [1.2.3.4]}
    => spec.externalIPs is deprecated and may no longer be implemented in some clusters
secrets type: kubernetes.io/tls, data: {tls.crt: "", tls.key: ""}
    => tls: failed to find any PEM data in certificate input
resourcequotas spec: {hard: {requests.cpu: "2", limits.cpu: "1"}}
    => ResourceQuota requests.cpu (2) should be less than limits.cpu (1)
persistentvolumeclaims spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1500m}}}
    => spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer
nodes spec: {externalID: x} => spec.externalID: this field is deprecated, and is unused by Kubernetes
ingresses metadata: {annotations: {kubernetes.io/ingress.class: x}}, spec: {}
    => annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead
networkpolicies spec: {podSelector: {}, ingress: [{from: [{ipBlock: {cidr: "2001:DB8::/32"}}]}]}
    => spec.ingress[0].from[0].ipBlock.cidr: IPv6 CIDR value "2001:DB8::/32" should be in RFC 5952 canonical format
"""


def warnings(plural: str, **obj: Any) -> list[str]:
    resource = next(each for each in builtin_registry().resources() if each.plural == plural)
    return object_warnings(resource, {**obj, "metadata": {"name": "a", **obj.get("metadata", {})}}, None)


@pytest.mark.parametrize(("item", "texts"), cases(WARNINGS), ids=lambda text: text[:50])
def test_object_has_these_warnings_alone(item: str, texts: str) -> None:
    plural, _, fields = item.partition(" ")
    produced = warnings(plural, **yaml.safe_load(f"{{{fields}}}"))
    expected = [] if texts == "none" else texts.split(" && ")
    assert len(produced) == len(expected), produced
    assert all(text.startswith(start) for text, start in zip(produced, expected, strict=True)), produced


KEY, CERTIFICATE = "RSA PRIVATE KEY", "CERTIFICATE"


@pytest.mark.parametrize(
    ("certificate", "key", "expected"),
    [
        ([], [KEY], "tls: failed to find any PEM data in certificate input"),
        ([KEY], [CERTIFICATE], "tls: failed to find certificate PEM data in certificate input, but did find a private"),
        (["X509 CRL"], [KEY], 'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping'),
        ([CERTIFICATE], [], "tls: failed to find any PEM data in key input"),
        ([CERTIFICATE], [CERTIFICATE], "tls: found a certificate rather than a key in the PEM for the private key"),
        ([CERTIFICATE], ["X509 CRL"], 'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input'),
        ([CERTIFICATE], [KEY], "x509: malformed certificate"),
    ],
)
def test_unusable_key_pair_is_named(certificate: list[str], key: list[str], expected: str) -> None:
    def encoded(kinds: list[str]) -> str:
        pem = "".join(f"-----BEGIN {kind}-----\neHl6\n-----END {kind}-----\n" for kind in kinds)
        return base64.b64encode(pem.encode()).decode()

    data = {"tls.crt": encoded(certificate), "tls.key": encoded(key)}
    [text] = warnings("secrets", type="kubernetes.io/tls", data=data)
    assert text.startswith(expected)
