"""Warnings about valid objects of built-in kinds, with the words of kube-apiserver: functions by group and plural."""

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping

from clientgo.meta.quantities import ParsedQuantity
from clientgo_apiserver.api.gotext import quoted_text
from clientgo_apiserver.api.names import label_errors
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.gotypes.metadata import STANDARD_FINALIZERS
from clientgo_apiserver.registry.strategies.addresswarnings import cidr_warnings, ip_warnings
from clientgo_apiserver.registry.strategies.podwarnings import (
    DEPRECATED_NODE_LABELS,
    DEPRECATED_VOLUMES,
    claim_warnings,
    pod_warnings,
    selector_term_warnings,
)
from clientgo_apiserver.registry.validation.certificates import pem_blocks
from clientgo_apiserver.releases.release import current

Warn = Callable[[Object, Object | None], Iterable[str]]
"""Returns the warnings about an object and the one it replaces, None if it is created."""

_DNS_LABEL = "which can result in surprising behavior; a DNS label is recommended"
_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"
_INGRESS_CLASS = "kubernetes.io/ingress.class"
_ENDPOINT_CONTROLLERS = {
    "endpoints.kubernetes.io/managed-by": ("endpoint-controller",),
    "endpointslice.kubernetes.io/managed-by": (
        "endpointslice-controller.k8s.io",
        "endpointslicemirroring-controller.k8s.io",
    ),
}
_MANY_INDEXES = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4,"
    " Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
)
_TIME_ZONE = (
    "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead,"
    " see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)
ORPHANED_PODS = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them"
    " or set propagationPolicy=Orphan to suppress this warning"
)
"""Warning about the deletion of a Job without a propagation policy."""


def object_warnings(resource: Resource, new: Object, old: Object | None) -> list[str]:
    """Return the warnings about an object that is created or replaces another."""
    warn = _WARNINGS.get(resource.storage)
    return [] if warn is None else list(warn(new, old))


def finalizer_warnings(new: Object, old: Object | None) -> list[str]:
    """Return the warnings about new finalizers of a custom object that have no domain; built-in kinds reject them."""
    if not new["metadata"].get("finalizers"):
        return []
    names, existing = (set((obj or {"metadata": {}})["metadata"].get("finalizers") or ()) for obj in (new, old))
    without_domain = sorted(name for name in names - existing - {*STANDARD_FINALIZERS} if "/" not in name)
    return [
        f'metadata.finalizers: "{name}": prefer a domain-qualified finalizer name'
        f"{' including a path (/)' * ('.' in name)} to avoid accidental conflicts with other finalizer writers"
        for name in without_domain
    ]


def _has_changed(new: Object, old: Object | None) -> bool:
    return old is None or new["metadata"].get("generation") != old["metadata"].get("generation")


def _name_warnings(new: Object, use: str) -> Iterator[str]:
    if errors := label_errors(new["metadata"].get("name") or ""):
        yield f"metadata.name: this is used in {use}, {_DNS_LABEL}: [{' '.join(errors)}]"


def _pod(new: Object, old: Object | None) -> Iterator[str]:
    if old is None:
        yield from _name_warnings(new, "the Pod's hostname")
        yield from pod_warnings(new)


def _workload(new: Object, old: Object | None, *, named: bool = True) -> Iterator[str]:
    if named and old is None:
        yield from _name_warnings(new, "Pod names and hostnames")
    if _has_changed(new, old):
        yield from pod_warnings(new["spec"].get("template") or {}, "spec.template")


def _replication_controller(new: Object, old: Object | None) -> Iterator[str]:
    if old is None:
        yield from _workload(new, None)
    elif _has_changed(new, old):  # as on a real server, of the pods before
        yield from pod_warnings(old["spec"].get("template") or {}, "spec.template")


def _daemon_set(new: Object, old: Object | None) -> Iterator[str]:
    if old is None or new["spec"].get("template") != old["spec"].get("template"):
        yield from pod_warnings(new["spec"].get("template") or {}, "spec.template")


def _resource_slice(new: Object, _: Object | None) -> Iterator[str]:
    driver = new["spec"].get("driver") or ""
    if driver != driver.lower():
        yield f"spec.driver: driver names should be lowercase; {quoted_text(driver)} contains uppercase characters"


def _pod_template(new: Object, old: Object | None) -> Iterator[str]:
    if _has_changed(new, old):
        yield from pod_warnings(new.get("template") or {}, "template")


def _stateful_set(new: Object, old: Object | None) -> Iterator[str]:
    yield from _workload(new, old, named=False)
    spec = new["spec"]
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        path = f"spec.volumeClaimTemplates[{index}]{'' if old is None else '.Spec'}"
        yield from claim_warnings(claim.get("spec") or {}, path)
    if (spec.get("revisionHistoryLimit") or 0) < 0:
        advice = "a negative value retains all historical revisions; a value >= 0 is recommended"
        yield f"spec.revisionHistoryLimit: {advice}"


def _job_spec_warnings(spec: Object, path: str) -> Iterator[str]:
    indexed, completions = spec.get("completionMode") == "Indexed", spec.get("completions") or 0
    if indexed and completions > 100_000 and (spec.get("parallelism") or 0) > 10_000:
        yield f"{path}: {_MANY_INDEXES}"
    yield from pod_warnings(spec.get("template") or {}, f"{path}.template")


def _job(new: Object, old: Object | None) -> Iterator[str]:
    if old is None:
        yield from _name_warnings(new, "Pod names and hostnames")
    if _has_changed(new, old):
        yield from _job_spec_warnings(new["spec"], "spec")


def _cron_job(new: Object, old: Object | None) -> Iterator[str]:
    if old is None:
        yield from _name_warnings(new, "Pod names and hostnames")
    if _has_changed(new, old):
        template = new["spec"].get("jobTemplate") or {}
        yield from _job_spec_warnings(template.get("spec") or {}, "spec.jobTemplate.spec")
    if old is not None and "TZ" in (new["spec"].get("schedule") or ""):
        yield _TIME_ZONE


def _service(new: Object, _: Object | None) -> Iterator[str]:
    spec, kind = new["spec"], new["spec"].get("type")
    headless = kind == "ClusterIP" and spec.get("clusterIP") == "None"
    external, balancer = spec.get("externalIPs") or (), spec.get("loadBalancerIP") or ""
    if "service.kubernetes.io/topology-aware-hints" in (new["metadata"].get("annotations") or {}):
        hints, mode = "service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"
        yield f"annotation {hints} is deprecated, please use {mode} instead"
    for index, address in enumerate(() if headless else spec.get("clusterIPs") or ()):
        yield from ip_warnings(address, f"spec.clusterIPs[{index}]")
    if headless:
        ignored = {"loadBalancerIP": balancer, "externalIPs": external}
        ignored["SessionAffinity"] = (spec.get("sessionAffinity") or "None") != "None"
        yield from (f"spec.{field} is ignored for headless services" for field, value in ignored.items() if value)
    for index, address in enumerate(external):
        yield from ip_warnings(address, f"spec.externalIPs[{index}]")
    if external and not headless and kind != "ExternalName":
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    yield from ip_warnings(balancer, "spec.loadBalancerIP")
    for index, network in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        yield from cidr_warnings(network.strip(), f"spec.loadBalancerSourceRanges[{index}]")
    if kind == "ExternalName" and external:
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if kind != "ExternalName" and spec.get("externalName"):
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def _is_of_controller(new: Object) -> bool:
    labels = new["metadata"].get("labels") or {}
    return any(labels.get(key) in controllers for key, controllers in _ENDPOINT_CONTROLLERS.items())


def _endpoints(new: Object, _: Object | None) -> Iterator[str]:
    for index, subset in enumerate(() if _is_of_controller(new) else new.get("subsets") or ()):
        for field in ("addresses", "notReadyAddresses"):
            for position, address in enumerate(subset.get(field) or ()):
                yield from ip_warnings(address.get("ip") or "", f"subsets[{index}].{field}[{position}].ip")


def _endpoint_slice(new: Object, old: Object | None) -> Iterator[str]:
    if old is None and new.get("addressType") == "FQDN":
        yield "spec.addressType: FQDN endpoints are deprecated"
    for index, endpoint in enumerate(() if _is_of_controller(new) else new.get("endpoints") or ()):
        for position, address in enumerate(endpoint.get("addresses") or ()):
            yield from ip_warnings(address or "", f"endpoints[{index}].addresses[{position}]")


def _class_annotation_warnings(new: Object) -> Iterator[str]:
    if _STORAGE_CLASS in (new["metadata"].get("annotations") or {}):
        instead = 'deprecated since v1.8; use "storageClassName" attribute instead'
        yield f"metadata.annotations[{_STORAGE_CLASS}]: {instead}"


def _volume(new: Object, _: Object | None) -> Iterator[str]:
    yield from _class_annotation_warnings(new)
    spec = new["spec"]
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        advice = "Instead, the recommended approach is to use dynamic provisioning."
        yield f"spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. {advice}"
    terms = ((spec.get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms") or ()
    for index, term in enumerate(terms):
        yield from selector_term_warnings(term, f"spec.nodeAffinity.required.nodeSelectorTerms[{index}]", values=True)
    for field in ("cephfs", "photonPersistentDisk", "scaleIO", "storageos", "glusterfs", "rbd"):
        if field in spec:
            yield f"spec.{'storageOS' if field == 'storageos' else field}: {DEPRECATED_VOLUMES[field]}"


def _claim(new: Object, _: Object | None) -> Iterator[str]:
    yield from _class_annotation_warnings(new)
    yield from claim_warnings(new.get("spec") or {}, "spec")


def _storage_class(new: Object, _: Object | None) -> Iterator[str]:
    for index, topology in enumerate(new.get("allowedTopologies") or ()):
        for position, expression in enumerate(topology.get("matchLabelExpressions") or ()):
            if text := DEPRECATED_NODE_LABELS.get(expression.get("key") or ""):
                yield f"allowedTopologies[{index}].matchLabelExpressions[{position}].key: {text}"


def _storage_capacity(new: Object, _: Object | None) -> Iterator[str]:
    topology = new.get("nodeTopology") or {}
    yield from selector_term_warnings(topology, "nodeTopology", values=False)
    for key in sorted(topology.get("matchLabels") or ()):
        if key in DEPRECATED_NODE_LABELS:
            yield f"nodeTopology.matchLabels.{key}: {DEPRECATED_NODE_LABELS[key]}"


def _driver(new: Object, old: Object | None) -> Iterator[str]:
    spec, before = new.get("spec") or {}, (old or {}).get("spec") or {}
    tokens, in_secrets = spec.get("tokenRequests"), spec.get("serviceAccountTokenInSecrets")
    is_unset = in_secrets is None and current().enabled("CSIServiceAccountTokenSecrets")
    if tokens and is_unset and tokens != before.get("tokenRequests"):
        yield (
            "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent"
            " possible logging of tokens in volume attributes"
        )


def _runtime_class(new: Object, _: Object | None) -> Iterator[str]:
    for key in sorted((new.get("scheduling") or {}).get("nodeSelector") or ()):
        if key in DEPRECATED_NODE_LABELS:
            yield f"scheduling.nodeSelector: {DEPRECATED_NODE_LABELS[key]}"


def _ingress(new: Object, old: Object | None) -> Iterator[str]:
    annotations, spec = new["metadata"].get("annotations") or {}, new.get("spec") or {}
    if old is None and _INGRESS_CLASS in annotations and spec.get("ingressClassName") is None:
        yield f"annotation {quoted_text(_INGRESS_CLASS)} is deprecated, please use 'spec.ingressClassName' instead"


def _network_policy(new: Object, _: Object | None) -> Iterator[str]:
    for field, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate((new.get("spec") or {}).get(field) or ()):
            for position, peer in enumerate(rule.get(peers) or ()):
                block, path = peer.get("ipBlock") or {}, f"spec.{field}[{index}].{peers}[{position}].ipBlock"
                yield from cidr_warnings(block.get("cidr") or "", f"{path}.cidr")
                for number, network in enumerate(block.get("except") or ()):
                    yield from cidr_warnings(network or "", f"{path}.except[{number}]")


def _node(new: Object, _: Object | None) -> Iterator[str]:
    spec = new.get("spec") or {}
    if "configSource" in spec:
        yield "spec.configSource: the feature is removed"
    if spec.get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"
    for index, network in enumerate(spec.get("podCIDRs") or ()):
        yield from cidr_warnings(network or "", f"spec.podCIDRs[{index}]")


def _quota(new: Object, old: Object | None) -> Iterator[str]:
    hard = (new.get("spec") or {}).get("hard") or {}
    for resource in ("cpu", "memory", "storage", "ephemeral-storage") if old is None else ():
        names = (f"requests.{resource}", resource if resource in ("cpu", "memory") else "")
        request, limit = next((name for name in names if name in hard), ""), f"limits.{resource}"
        if request and limit in hard and ParsedQuantity(hard[request]).value > ParsedQuantity(hard[limit]).value:
            yield f"ResourceQuota {request} ({hard[request]}) should be less than {limit} ({hard[limit]})"


def _service_account(new: Object, old: Object | None) -> Iterator[str]:
    before = (old["metadata"].get("annotations") or {}) if old else {}
    if _MOUNTABLE in (new["metadata"].get("annotations") or {}) and _MOUNTABLE not in before:
        advice = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        yield f"metadata.annotations[{_MOUNTABLE}]: {advice}"


def _secret(new: Object, _: Object | None) -> Iterator[str]:
    """Yield the error of Go's tls.X509KeyPair about the PEM data, if there is one."""
    if new.get("type") != "kubernetes.io/tls":
        return
    data = new.get("data") or {}
    certificates, keys = (_contents(data.get(key) or "") for key in ("tls.crt", "tls.key"))
    if "CERTIFICATE" not in certificates:
        yield f"tls: {_certificate_error(list(certificates))}"
    elif not any(kind == "PRIVATE KEY" or kind.endswith(" PRIVATE KEY") for kind in keys):
        yield f"tls: {_key_error(list(keys))}"
    elif not certificates["CERTIFICATE"].startswith(b"\x30"):
        yield "x509: malformed certificate"


def _contents(encoded: str) -> dict[str, bytes]:
    """Return the first block of PEM of each type."""
    contents: dict[str, bytes] = {}
    for kind, content, _ in pem_blocks(base64.b64decode(encoded).decode(errors="replace")):
        contents.setdefault(kind, content)
    return contents


def _certificate_error(skipped: list[str]) -> str:
    if not skipped:
        return "failed to find any PEM data in certificate input"
    if len(skipped) == 1 and skipped[0].endswith("PRIVATE KEY"):
        hint = "but did find a private key; PEM inputs may have been switched"
        return f"failed to find certificate PEM data in certificate input, {hint}"
    problem = 'failed to find "CERTIFICATE" PEM block in certificate input'
    return f"{problem} after skipping PEM blocks of the following types: [{' '.join(skipped)}]"


def _key_error(skipped: list[str]) -> str:
    if not skipped:
        return "failed to find any PEM data in key input"
    if skipped == ["CERTIFICATE"]:
        return "found a certificate rather than a key in the PEM for the private key"
    problem = 'failed to find PEM block with type ending in "PRIVATE KEY" in key input'
    return f"{problem} after skipping PEM blocks of the following types: [{' '.join(skipped)}]"


_WARNINGS: Mapping[tuple[str, str], Warn] = {
    ("", "endpoints"): _endpoints,
    ("", "nodes"): _node,
    ("", "persistentvolumeclaims"): _claim,
    ("", "persistentvolumes"): _volume,
    ("", "pods"): _pod,
    ("", "podtemplates"): _pod_template,
    ("", "replicationcontrollers"): _replication_controller,
    ("", "resourcequotas"): _quota,
    ("", "secrets"): _secret,
    ("", "serviceaccounts"): _service_account,
    ("", "services"): _service,
    ("apps", "daemonsets"): _daemon_set,
    ("apps", "deployments"): _workload,
    ("apps", "replicasets"): _workload,
    ("apps", "statefulsets"): _stateful_set,
    ("batch", "cronjobs"): _cron_job,
    ("batch", "jobs"): _job,
    ("discovery.k8s.io", "endpointslices"): _endpoint_slice,
    ("networking.k8s.io", "ingresses"): _ingress,
    ("networking.k8s.io", "networkpolicies"): _network_policy,
    ("node.k8s.io", "runtimeclasses"): _runtime_class,
    ("resource.k8s.io", "resourceslices"): _resource_slice,
    ("storage.k8s.io", "csidrivers"): _driver,
    ("storage.k8s.io", "csistoragecapacities"): _storage_capacity,
    ("storage.k8s.io", "storageclasses"): _storage_class,
}
