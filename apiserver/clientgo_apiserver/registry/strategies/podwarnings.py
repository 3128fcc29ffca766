"""Warnings about pods and pod templates, with the words of kube-apiserver."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from clientgo.meta.quantities import ParsedQuantity
from clientgo_apiserver.api.gotext import quoted_text
from clientgo_apiserver.api.names import label_value_errors
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.registry.strategies.addresswarnings import ip_warnings

DEPRECATED_NODE_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
"""What to use instead of a node's label, by the label."""

DEPRECATED_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
"""Warnings about sources of volumes, by field."""

_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_SCHEDULED = ("requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution")
_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_APPARMOR = 'deprecated since v1.30; use the "appArmorProfile" field instead'
_NO_SELECTOR = "a null labelSelector results in matching no pod"


def pod_warnings(pod: Object, path: str = "") -> Iterator[str]:
    """Yield the warnings about a pod, or about the pod template at the path."""
    prefix, spec = f"{path}." if path else "", pod.get("spec") or {}
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    at, noted = f"{prefix}spec", f"{prefix}metadata.annotations"
    yield from _field_warnings(_PLACEMENT, spec, at)
    for key, text in _ANNOTATIONS.items() if annotations else ():
        if key in annotations:
            yield f"{noted}[{key}]: {text}"
    yield from _field_warnings(_SOURCES, spec, at)
    yield from _security_warnings(spec, annotations, noted) if annotations else ()
    yield from _field_warnings(_EXECUTION, spec, at)


def _field_warnings(checks: "tuple[tuple[str, SpecCheck], ...]", spec: Object, path: str) -> Iterator[str]:
    """Yield the warnings of the checks whose field a spec has: most have few of the fields."""
    for field, check in checks:
        if field in spec:
            yield from check(spec, path)


def selector_term_warnings(term: Object, path: str, *, values: bool) -> Iterator[str]:
    """Yield the warnings about a term that selects nodes; `values` includes invalid values of labels."""
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        key, at = expression.get("key") or "", f"{path}.matchExpressions[{index}]"
        if key in DEPRECATED_NODE_LABELS:
            yield f"{at}.key: {key} is {DEPRECATED_NODE_LABELS[key]}"
        for position, value in enumerate(expression.get("values") or () if values else ()):
            yield from (f"{at}.values[{position}]: {value} is invalid, {error}" for error in label_value_errors(value))


def fraction_warnings(quantities: Object | None, path: str, resources: tuple[str, ...]) -> Iterator[str]:
    """Yield a warning for each of the resources whose quantity is not a whole number of bytes."""
    for resource in resources:
        quantity = (quantities or {}).get(resource)
        if quantity is not None and -ParsedQuantity(quantity).value * 1000 // 1 % 1000:
            yield f"{path}[{resource}]: fractional byte value {quoted_text(quantity)} is invalid, must be an integer"


def claim_warnings(spec: Object, path: str) -> Iterator[str]:
    """Yield the warnings about the spec of a PersistentVolumeClaim."""
    resources = spec.get("resources") or {}
    for field in ("requests", "limits"):
        yield from fraction_warnings(resources.get(field), f"{path}.resources.{field}", ("storage",))


def _containers(spec: Object, path: str) -> Iterator[tuple[Object, str]]:
    for field in _CONTAINERS:
        for index, container in enumerate(spec.get(field) or ()):
            yield container, f"{path}.{field}[{index}]"


def _node_selector_warnings(spec: Object, path: str) -> Iterator[str]:
    for key in sorted(spec.get("nodeSelector") or ()):
        if key in DEPRECATED_NODE_LABELS:
            yield f"{path}.nodeSelector[{key}]: {DEPRECATED_NODE_LABELS[key]}"


def _node_affinity_warnings(spec: Object, path_of_spec: str) -> Iterator[str]:
    path = f"{path_of_spec}.affinity.nodeAffinity"
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required, preferred = _SCHEDULED
    for index, term in enumerate((affinity.get(required) or {}).get("nodeSelectorTerms") or ()):
        yield from selector_term_warnings(term, f"{path}.{required}.nodeSelectorTerms[{index}]", values=False)
    for index, weighted in enumerate(affinity.get(preferred) or ()):
        term = weighted.get("preference") or {}
        yield from selector_term_warnings(term, f"{path}.{preferred}[{index}].preference", values=True)


def _spread_warnings(spec: Object, path_of_spec: str) -> Iterator[str]:
    path = f"{path_of_spec}.topologySpreadConstraints"
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        key = constraint.get("topologyKey") or ""
        if key in DEPRECATED_NODE_LABELS:
            yield f"{path}[{index}].topologyKey: {key} is {DEPRECATED_NODE_LABELS[key]}"
        if constraint.get("labelSelector") is None:
            yield f"{path}[{index}].labelSelector: {_NO_SELECTOR}"


def _volume_warnings(spec: Object, path_of_spec: str) -> Iterator[str]:
    path, volumes = f"{path_of_spec}.volumes", spec.get("volumes") or ()
    for index, volume in enumerate(volumes):
        for field, text in DEPRECATED_VOLUMES.items():
            if field in volume:
                yield f"{path}[{index}].{'storageOS' if field == 'storageos' else field}: {text}"
        template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate") or {}
        yield from claim_warnings(template.get("spec") or {}, f"{path}[{index}].ephemeral.volumeClaimTemplate.spec")
    for volume in volumes:
        yield from _path_warnings(volume)


def _path_warnings(volume: Object) -> Iterator[str]:
    """Yield the warnings about files of a volume that lie in the way of each other."""
    name = quoted_text(volume.get("name") or "")
    for kind, description in _files_from(volume):
        files = [(item.get("path") or "", "") for item in (volume.get(kind) or {}).get("items") or ()]
        yield from (f"volume {name} ({description}): overlapping paths: {text}" for text in _overlaps(files))
    projected: list[tuple[str, str]] = []
    for source in (volume.get("projected") or {}).get("sources") or ():
        if not source:
            yield f"volume {name} (Projected) has no sources provided"
        projected += _projected_files(source)
    yield from (f"volume {name} (Projected): overlapping paths: {text}" for text in _overlaps(projected))


def _files_from(source: Object) -> Iterator[tuple[str, str]]:
    """Yield the parts of a source with files that its items name, with their descriptions."""
    for kind in ("configMap", "secret", "downwardAPI"):
        if part := source.get(kind):
            named = "" if kind == "downwardAPI" else f" {quoted_text(part.get('name') or part.get('secretName') or '')}"
            yield kind, f"{kind[0].upper()}{kind[1:]}{named}"


def _projected_files(source: Object) -> Iterator[tuple[str, str]]:
    """Yield the paths of the files of a projected source, with the words about the source."""
    for kind, description in _files_from(source):
        yield from ((item.get("path") or "", f" ({description})") for item in source[kind].get("items") or ())
    if "serviceAccountToken" in source:
        yield source["serviceAccountToken"].get("path") or "", " (ServiceAccountToken)"
    if bundle := source.get("clusterTrustBundle"):
        named = bundle.get("name") or bundle.get("signerName") or ""
        yield bundle.get("path") or "", f" (ClusterTrustBundle {quoted_text(named)})"
    certificate = source.get("podCertificate") or {}
    for field, words in _CERTIFICATE_FILES.items():
        if certificate.get(field):
            yield certificate[field], f" (PodCertificate {words})"


_CERTIFICATE_FILES = {
    "certificateChainPath": "chain", "keyPath": "key", "credentialBundlePath": "credential bundle",
}  # fmt: skip


def _overlaps(files: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield each pair of files of which one has the path of the other, or of a folder of it."""
    named = [(f"{path.rstrip('/')}/", owner) for path, owner in files if path.rstrip("/")]
    pairs: list[tuple[int, int]] = []
    above: list[int] = []  # files at the path of the present one, or at that of a folder of it, which sort before it
    for index in sorted(range(len(named)), key=lambda index: named[index][0]):
        while above and not named[index][0].startswith(named[above[-1]][0]):
            above.pop()
        pairs += ((max(index, other), min(index, other)) for other in above)
        above.append(index)
    for index, earlier in sorted(pairs):
        (path, owner), (other, of_other) = named[index], named[earlier]
        yield f"{quoted_text(path[:-1])}{owner} with {quoted_text(other[:-1])}{of_other}"


def _duplicates(spec: Object, path: str, field: str, key: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, item in enumerate(spec.get(field) or ()):
        value = item.get(key) or ""
        if value in seen:
            yield f"{path}.{field}[{index}].{key}: duplicate {key} {quoted_text(value)}"
        seen.add(value)


def _alias_warnings(spec: Object, path: str) -> Iterator[str]:
    yield from _duplicates(spec, path, "hostAliases", "ip")


def _secret_warnings(spec: Object, path: str) -> Iterator[str]:
    yield from _duplicates(spec, path, "imagePullSecrets", "name")
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if not secret.get("name"):
            yield f'{path}.imagePullSecrets[{index}].name: invalid empty name ""'


def _overhead_warnings(spec: Object, path: str) -> Iterator[str]:
    yield from fraction_warnings(spec.get("overhead"), f"{path}.overhead", ("memory", "ephemeral-storage"))


def _security_warnings(spec: Object, annotations: Object, path: str) -> Iterator[str]:
    """Yield warnings for annotations of profiles that a container has no field for."""
    context = spec.get("securityContext") or {}
    if "seccomp.security.alpha.kubernetes.io/pod" in annotations and "seccompProfile" not in context:
        yield f"{path}[seccomp.security.alpha.kubernetes.io/pod]: {_SECCOMP}"
    for container, _ in _containers(spec, ""):
        own_context, name = container.get("securityContext") or {}, container.get("name") or ""
        seccomp = f"container.seccomp.security.alpha.kubernetes.io/{name}"
        if seccomp in annotations and "seccompProfile" not in own_context:
            yield f"{path}[{seccomp}]: {_SECCOMP}"
        apparmor = f"container.apparmor.security.beta.kubernetes.io/{name}"
        if apparmor in annotations and "appArmorProfile" not in own_context and "appArmorProfile" not in context:
            yield f"{path}[{apparmor}]: {_APPARMOR}"


def _all_container_warnings(spec: Object, path: str) -> Iterator[str]:
    for container, at in _containers(spec, path):
        if "env" in container or container.get("resources"):
            yield from _container_warnings(container, at)


def _container_warnings(container: Object, path: str) -> Iterator[str]:
    resources = container.get("resources") or {}
    for resource in ("memory", "ephemeral-storage") if resources else ():
        for field in ("limits", "requests"):
            yield from fraction_warnings(resources.get(field), f"{path}.resources.{field}", (resource,))
    seen: set[str] = set()
    for index, variable in enumerate(container.get("env") or ()):
        name, value = variable.get("name") or "", variable.get("value") or ""
        reference = f"$({name})"
        if name in seen and ("valueFrom" in variable or value == reference or reference not in value):
            hidden = f"hides previous definition of {quoted_text(name)}, which may be dropped when using apply"
            yield f"{path}.env[{index}]: {hidden}"
        seen.add(name)


def _port_warnings(spec: Object, path: str) -> Iterator[str]:
    """Yield warnings for ports that several containers, or one container twice, define."""
    earlier: dict[tuple[Any, Any], list[tuple[str, Any, Any]]] = {}
    for container, at in _containers(spec, path):
        for index, port in enumerate(container.get("ports") or ()):
            field, host, number = f"{at}.ports[{index}]", port.get("hostIP") or "", port.get("hostPort") or 0
            if host and not number:
                yield f"{field}: hostIP set without hostPort: {_go_port(port)}"
            same = earlier.setdefault((port.get("containerPort"), port.get("protocol")), [])
            for other, other_host, other_number in same:
                if (host, number) == (other_host, other_number):
                    yield f"{field}: duplicate port definition with {other}"
                elif not number or not other_number:
                    yield f"{field}: overlapping port definition with {other}"
                elif number == other_number and bool(host) != bool(other_host):
                    yield f"{field}: dangerously ambiguous port definition with {other}"
            same.append((field, host, number))


def _port_name_warnings(spec: Object, path: str) -> Iterator[str]:
    """Yield warnings for names that several ports have."""
    earlier = dict[str, str]()
    for container, at in _containers(spec, path):
        for index, port in enumerate(container.get("ports") or ()):
            name, field = port.get("name"), f"{at}.ports[{index}]"
            if name and (other := earlier.setdefault(name, field)) != field:
                use = f"services and probes that select ports by name will use {other}"
                yield f"{field}: duplicate port name {quoted_text(name)} with {other}, {use}"


def _go_port(port: Object) -> str:
    return (
        f"{{Name:{port.get('name') or ''} HostPort:0 ContainerPort:{port.get('containerPort') or 0}"
        f" Protocol:{port.get('protocol') or ''} HostIP:{port['hostIP']}}}"
    )


def _grace_warnings(spec: Object, path: str) -> Iterator[str]:
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        reason = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{path}.terminationGracePeriodSeconds: {reason}"


def _pod_affinity_warnings(spec: Object, path: str) -> Iterator[str]:
    affinity = spec.get("affinity") or {}
    for field in ("podAffinity", "podAntiAffinity"):
        for scheduled, inner in zip(_SCHEDULED, ("", "podAffinityTerm"), strict=True):
            for index, entry in enumerate((affinity.get(field) or {}).get(scheduled) or ()):
                term = (entry.get(inner) or {}) if inner else entry
                if term.get("labelSelector") is None:
                    at = f"{path}.affinity.{field}.{scheduled}[{index}]{'.' if inner else ''}{inner}"
                    yield f"{at}.labelSelector: {_NO_SELECTOR}"


def _server_warnings(spec: Object, path: str) -> Iterator[str]:
    for index, server in enumerate((spec.get("dnsConfig") or {}).get("nameservers") or ()):
        yield from ip_warnings(server, f"{path}.dnsConfig.nameservers[{index}]")


def _address_warnings(spec: Object, path: str) -> Iterator[str]:
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        yield from ip_warnings(alias.get("ip") or "", f"{path}.hostAliases[{index}].ip")


SpecCheck = Callable[[Object, str], Iterator[str]]

_PLACEMENT: tuple[tuple[str, SpecCheck], ...] = (
    ("nodeSelector", _node_selector_warnings),
    ("affinity", _node_affinity_warnings),
    ("topologySpreadConstraints", _spread_warnings),
)
_SOURCES: tuple[tuple[str, SpecCheck], ...] = (
    ("volumes", _volume_warnings),
    ("hostAliases", _alias_warnings),
    ("imagePullSecrets", _secret_warnings),
    ("overhead", _overhead_warnings),
)
_EXECUTION: tuple[tuple[str, SpecCheck], ...] = (
    ("containers", _all_container_warnings),
    ("containers", _port_warnings),
    ("containers", _port_name_warnings),
    ("terminationGracePeriodSeconds", _grace_warnings),
    ("affinity", _pod_affinity_warnings),
    ("dnsConfig", _server_warnings),
    ("hostAliases", _address_warnings),
)
"""Checks by the field of a spec that they are about, in the order of the warnings of kube-apiserver."""
