"""Fit of a pod beside other pods: required affinity and anti-affinity, topology spread and host ports.

A `PodNeighbors` decides for one pod at one moment, in kube-scheduler's words. Preferences change nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.cluster.base import is_deleting
from clientgo_apiserver.cluster.placement import matches_node
from clientgo_apiserver.storage.selection import selects

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PORTS = "node(s) didn't have free ports for the requested pod ports"
_SPREAD = "node(s) didn't match pod topology spread constraints"
_AFFINITY = "node(s) didn't match pod affinity rules"
_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
_EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"

ANY_ADDRESS = "0.0.0.0"  # nosec B104  # of a simulated node: nothing listens


class PodNeighbors:
    """Pods on nodes, as far as they matter to where one more pod may run."""

    def __init__(
        self, pod: Object, placed: Iterable[Object], nodes: Iterable[Object], namespaces: Callable[[str], Object]
    ) -> None:
        self._pod = pod
        self._placed = list(placed)
        self._nodes = {node["metadata"]["name"]: node for node in nodes}
        self._namespace_labels = namespaces
        self._required = [(term, self._domains(pod, term)) for term in _terms(pod, "podAffinity")]
        self._forbidden = [(term, self._domains(pod, term)) for term in _terms(pod, "podAntiAffinity")]
        self._rejected = self._rejections()
        self._used_ports = {(other["spec"]["nodeName"], port) for other in self._placed for port in host_ports(other)}
        self._spread = [
            (constraint, self._counts(constraint))
            for constraint in pod["spec"].get("topologySpreadConstraints") or ()
            if constraint.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule"
        ]

    def __repr__(self) -> str:
        return f"<PodNeighbors {len(self._placed)} pods>"

    def reason(self, node: Object) -> str:
        """Return why the pod does not fit beside the pods that run, or ""."""
        name, labels = node["metadata"]["name"], node["metadata"].get("labels") or {}
        used = [port for host, port in self._used_ports if host == name]
        if any(_conflict(port, occupied) for port in host_ports(self._pod) for occupied in used):
            return _PORTS
        for constraint, counts in self._spread:
            key = constraint["topologyKey"]
            if key not in labels:
                return f"{_SPREAD} (missing required label)"
            least = min(counts.values(), default=0) if len(counts) >= int(constraint.get("minDomains") or 1) else 0
            added = selects(_spread_selector(constraint, self._pod), self._pod["metadata"].get("labels") or {})
            if counts.get(labels[key], 0) + added - least > int(constraint["maxSkew"]):
                return _SPREAD
        if any(labels.get(term["topologyKey"]) in domains for term, domains in self._forbidden):
            return _ANTI_AFFINITY
        if not self._rejected.isdisjoint(labels.items()):
            return _EXISTING
        return "" if self._is_attracted(labels) else _AFFINITY

    def _is_attracted(self, labels: Mapping[str, str]) -> bool:
        """Return whether the pods that the pod needs run in the node's domains, or it is the first of them."""
        if any(term["topologyKey"] not in labels for term, _ in self._required):
            return False
        is_first = not any(domains for _, domains in self._required) and all(
            self._matches(self._pod, term, self._pod) for term, _ in self._required
        )
        return is_first or all(labels[term["topologyKey"]] in domains for term, domains in self._required)

    def _rejections(self) -> set[tuple[str, str]]:
        """Return the domains, with their topology keys, in which a pod runs that does not want the pod near it."""
        return {
            (term["topologyKey"], domain)
            for other in self._placed
            for term in _terms(other, "podAntiAffinity")
            if (domain := self._domain(other, term["topologyKey"])) is not None
            and self._matches(other, term, self._pod)
        }

    def _domains(self, pod: Object, term: Object) -> set[str]:
        """Return the domains in which pods run that a pod's term selects."""
        selected = (other for other in self._placed if self._matches(pod, term, other))
        domains = (self._domain(other, term["topologyKey"]) for other in selected)
        return {domain for domain in domains if domain is not None}

    def _domain(self, pod: Object, key: str) -> str | None:
        labels = self._nodes.get(pod["spec"]["nodeName"], {}).get("metadata", {}).get("labels") or {}
        domain: str | None = labels.get(key)
        return domain

    def _matches(self, pod: Object, term: Object, other: Object) -> bool:
        """Return whether a pod's affinity term selects another pod."""
        namespace, names = other["metadata"]["namespace"], term.get("namespaces") or ()
        selector = term.get("namespaceSelector")
        if selector is None:
            is_near = namespace in (names or (pod["metadata"]["namespace"],))
        else:
            labels = self._namespace_labels(namespace).get("metadata", {}).get("labels") or {}
            is_near = namespace in names or selects(selector, labels)
        expected = term.get("labelSelector")
        return is_near and expected is not None and selects(expected, other["metadata"].get("labels") or {})

    def _counts(self, constraint: Object) -> Counter[str]:
        """Return the pods in each domain of the nodes on which the pod may run."""
        key, counts = constraint["topologyKey"], Counter[str]()
        for node in self._nodes.values():
            labels = node["metadata"].get("labels") or {}
            if key in labels and matches_node(self._pod["spec"], node):
                counts[labels[key]] += 0
        selector = _spread_selector(constraint, self._pod)
        for other in self._placed:
            domain, meta = self._domain(other, key), other["metadata"]
            is_near = meta["namespace"] == self._pod["metadata"]["namespace"] and not is_deleting(other)
            if is_near and domain is not None and domain in counts and selects(selector, meta.get("labels") or {}):
                counts[domain] += 1
        return counts


def has_neighbors(pod: Object) -> bool:
    """Return whether it matters to a pod, or to others because of it, which pods run near it."""
    spec = pod["spec"]
    affinity = spec.get("affinity") or {}
    fields = (spec.get("topologySpreadConstraints"), affinity.get("podAffinity"), affinity.get("podAntiAffinity"))
    return any(fields) or any(True for _ in host_ports(pod))


def host_ports(pod: Object) -> Iterable[tuple[str, str, int]]:
    """Yield protocol, address and number of the ports of the node that a pod uses."""
    for container in pod["spec"]["containers"]:
        for port in container.get("ports") or ():
            if port.get("hostPort"):
                yield port.get("protocol", "TCP"), port.get("hostIP") or ANY_ADDRESS, int(port["hostPort"])


def _conflict(port: tuple[str, str, int], occupied: tuple[str, str, int]) -> bool:
    (protocol, address, number), (other_protocol, other_address, other_number) = port, occupied
    is_same = (protocol, number) == (other_protocol, other_number)
    return is_same and (address == other_address or ANY_ADDRESS in (address, other_address))


def _terms(pod: Object, kind: str) -> Iterable[Object]:
    terms: list[Object] = ((pod["spec"].get("affinity") or {}).get(kind) or {}).get(_REQUIRED) or []
    return terms


def _spread_selector(constraint: Object, pod: Object) -> Any:
    """Return the selector of a constraint with the labels of the pod that it takes over."""
    selector: Object = constraint.get("labelSelector") or {}
    labels = pod["metadata"].get("labels") or {}
    occupied = {key: labels[key] for key in constraint.get("matchLabelKeys") or () if key in labels}
    return {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), **occupied}} if occupied else selector
