"""Defaults of kinds that run nothing: namespaces, events, services, secrets, volumes, webhooks and others."""

import base64
import ipaddress
import zlib

from clientgo.apiserver.registry.defaults.filling import Object, each, filled, within

_SERVICE_NETWORK = ipaddress.ip_network("10.96.0.0/16")
_NODE_PORTS = (30000, 32767)
_RBAC = "rbac.authorization.k8s.io"


def namespace(obj: Object) -> Object:
    """A Namespace: held by the server's own finalizer, labelled with its name."""
    meta = obj["metadata"]
    if "deletionTimestamp" in meta or "name" not in meta:
        return obj
    labels = {**meta.get("labels", {}), "kubernetes.io/metadata.name": meta["name"]}
    spec = filled(obj.get("spec"), finalizers=["kubernetes"])
    return {**obj, "metadata": {**meta, "labels": labels}, "spec": spec}


def event(obj: Object) -> Object:
    """An Event: members that Go's type always writes."""
    given = filled(obj, source={}, reportingComponent="", reportingInstance="", involvedObject={})
    return {"firstTimestamp": None, "lastTimestamp": None, "eventTime": None, **given}


def service(obj: Object) -> Object:
    """A Service: type, affinity, and an address out of the cluster's own network, kept once it has one."""
    spec = filled(obj.get("spec"), sessionAffinity="None", type="ClusterIP", internalTrafficPolicy="Cluster")
    spec = within(spec, "ports", lambda ports: each(ports, lambda port: _port(spec["type"], port, obj)))
    if spec["type"] == "ExternalName":
        return {**obj, "spec": spec}
    if spec["type"] in ("NodePort", "LoadBalancer"):
        spec = filled(spec, externalTrafficPolicy="Cluster")
    if spec["type"] == "LoadBalancer":
        spec = filled(spec, allocateLoadBalancerNodePorts=True)
    address = spec.get("clusterIP") or _address(obj)
    spec = filled(spec, clusterIP=address, clusterIPs=[address], ipFamilies=["IPv4"], ipFamilyPolicy="SingleStack")
    return {**obj, "spec": spec}


def limit_range(obj: Object) -> Object:
    """A LimitRange: what containers get by default follows from what they may have at most, and at least."""

    def item(one: Object) -> Object:
        if one.get("type") != "Container":
            return one
        limits = {**(one.get("max") or {}), **(one.get("default") or {})}
        requests = {**(one.get("min") or {}), **limits, **(one.get("defaultRequest") or {})}
        given = {"default": limits, "defaultRequest": requests}
        return {**one, **{field: amounts for field, amounts in given.items() if amounts}}

    return within(obj, "spec", lambda spec: within(spec, "limits", lambda limits: each(limits, item)))


def secret(obj: Object) -> Object:
    """A Secret: its type, and stringData folded into data."""
    new = filled(obj, type="Opaque")
    texts = new.pop("stringData", None) or {}
    if texts:
        encoded = {key: base64.b64encode(str(value).encode()).decode() for key, value in texts.items()}
        new["data"] = {**(new.get("data") or {}), **encoded}
    return new


def volume_claim(obj: Object) -> Object:
    """A PersistentVolumeClaim."""
    return {**obj, "spec": filled(obj.get("spec"), volumeMode="Filesystem")}


def volume(obj: Object) -> Object:
    """A PersistentVolume."""
    return {**obj, "spec": filled(obj.get("spec"), persistentVolumeReclaimPolicy="Retain", volumeMode="Filesystem")}


def mutating_webhooks(obj: Object) -> Object:
    """A MutatingWebhookConfiguration."""
    hooks = each(obj.get("webhooks"), lambda hook: filled(_webhook(hook), reinvocationPolicy="Never"))
    return {**obj, "webhooks": hooks} if hooks is not None else obj


def validating_webhooks(obj: Object) -> Object:
    """A ValidatingWebhookConfiguration."""
    return within(obj, "webhooks", lambda hooks: each(hooks, _webhook))


def autoscaler(obj: Object) -> Object:
    """A HorizontalPodAutoscaler."""
    spec = filled(obj.get("spec"), minReplicas=1)
    # As autoscaling/v1 writes it, the CPU target is a field and becomes a metric when it is stored.
    if not spec.get("metrics") and spec.get("targetCPUUtilizationPercentage") is None:
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    return {**obj, "spec": spec}


def network_policy(obj: Object) -> Object:
    """A NetworkPolicy: it speaks of ingress, and of egress when it has egress rules."""
    spec = filled(obj.get("spec"), podSelector={})
    types = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    spec = filled(spec, policyTypes=types)
    for field in ("ingress", "egress"):
        spec = within(spec, field, lambda rules: each(rules, _policy_rule))
    return {**obj, "spec": spec}


def storage_class(obj: Object) -> Object:
    """A StorageClass."""
    return filled(obj, reclaimPolicy="Delete", volumeBindingMode="Immediate")


def priority_class(obj: Object) -> Object:
    """A PriorityClass."""
    return filled(obj, preemptionPolicy="PreemptLowerPriority")


def role_binding(obj: Object) -> Object:
    """A RoleBinding or ClusterRoleBinding: API groups of what it names."""

    def subject(value: Object) -> Object:
        return filled(value, apiGroup=_RBAC) if value.get("kind") in ("User", "Group") else value

    new = within(obj, "subjects", lambda subjects: each(subjects, subject))
    return within(new, "roleRef", lambda ref: filled(ref, apiGroup=_RBAC))


def _webhook(obj: Object) -> Object:
    hook = filled(
        obj,
        failurePolicy="Fail",
        matchPolicy="Equivalent",
        timeoutSeconds=10,
        namespaceSelector={},
        objectSelector={},
    )
    hook = within(hook, "rules", lambda rules: each(rules, lambda rule: filled(rule, scope="*")))

    def client(value: Object) -> Object:
        return within(value, "service", lambda service: filled(service, port=443))

    return within(hook, "clientConfig", client)


def _policy_rule(obj: Object) -> Object:
    return within(obj, "ports", lambda ports: each(ports, lambda port: filled(port, protocol="TCP")))


def _port(kind: str, port: Object, obj: Object) -> Object:
    new = filled(port, protocol="TCP", targetPort=port.get("port"))
    if kind in ("NodePort", "LoadBalancer"):
        low, high = _NODE_PORTS
        new = filled(new, nodePort=low + _spread(obj, str(port.get("port"))) % (high - low + 1))
    return new


def _address(obj: Object) -> str:
    return str(_SERVICE_NETWORK[1 + _spread(obj, "") % (_SERVICE_NETWORK.num_addresses - 2)])


def _spread(obj: Object, more: str) -> int:
    """A number from the object's name: addresses need not be allocated, only be plausible and stay the same."""
    meta = obj["metadata"]
    return zlib.crc32(f"{meta.get('namespace')}/{meta.get('name')}/{more}".encode())
