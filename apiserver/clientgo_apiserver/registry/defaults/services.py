"""Defaults of Services, except the addresses and node ports that are allocated once the object is admitted."""

from clientgo_apiserver.api.resources import Object


def service(obj: Object, _: Object | None) -> Object:
    """Return a Service with the defaults that depend on several of its fields."""
    spec = {"type": "ClusterIP", **(obj.get("spec") or {})}
    ports = [{**port, "targetPort": port.get("targetPort") or port.get("port", 0)} for port in spec.get("ports") or ()]
    spec |= {"ports": ports} if ports else {}
    if spec.get("sessionAffinity") in (None, "None"):
        spec.pop("sessionAffinityConfig", None)
    if spec.get("externalIPs") and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    balancer = (obj.get("status") or {}).get("loadBalancer") or {}
    if balancer.get("ingress") and spec["type"] == "LoadBalancer":
        points = [
            {**point, "ipMode": point.get("ipMode") or "VIP"} if point.get("ip") else point
            for point in balancer["ingress"]
        ]
        obj = {**obj, "status": {**obj["status"], "loadBalancer": {**balancer, "ingress": points}}}
    return {**obj, "spec": spec}
