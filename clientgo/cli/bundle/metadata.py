"""Rules about what a bundle says of itself, and of which kinds of objects it may consist."""

import re
from collections.abc import Iterator, Mapping

from clientgo.cli.bundle.objects import name_of, text
from clientgo.cli.bundle.reading import Bundle, Finding

_PREFIX = "operators.operatorframework.io.bundle."
_MUST_BE = {"mediatype.v1": "registry+v1", "manifests.v1": "manifests/", "metadata.v1": "metadata/"}
_WHERE = "metadata/annotations.yaml"
_CHANNEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_PACKAGE = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")

SUPPORTED = frozenset(
    {
        "ClusterRole",
        "ClusterRoleBinding",
        "ClusterServiceVersion",
        "ConfigMap",
        "ConsoleCLIDownload",
        "ConsoleLink",
        "ConsolePlugin",
        "ConsoleQuickStart",
        "ConsoleYAMLSample",
        "CustomResourceDefinition",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "PodMonitor",
        "PriorityClass",
        "PrometheusRule",
        "Role",
        "RoleBinding",
        "Secret",
        "Service",
        "ServiceAccount",
        "ServiceMonitor",
        "VerticalPodAutoscaler",
    }
)
"""The kinds that OLM takes from a bundle (operator-registry)."""

REMOVED: Mapping[tuple[str, str], str] = {
    ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition"): "1.22",
    ("rbac.authorization.k8s.io/v1beta1", "Role"): "1.22",
    ("rbac.authorization.k8s.io/v1beta1", "RoleBinding"): "1.22",
    ("rbac.authorization.k8s.io/v1beta1", "ClusterRole"): "1.22",
    ("rbac.authorization.k8s.io/v1beta1", "ClusterRoleBinding"): "1.22",
    ("scheduling.k8s.io/v1beta1", "PriorityClass"): "1.22",
    ("policy/v1beta1", "PodDisruptionBudget"): "1.25",
}
"""The APIs of such kinds that Kubernetes no longer has, and since which of its versions."""


def metadata_rules(bundle: Bundle) -> Iterator[Finding]:
    """What is wrong with annotations, labels and kinds."""
    if bundle.annotations:
        yield from (Finding("error", _WHERE, sentence) for sentence in _annotations(bundle.annotations))
    if bundle.labels is not None and bundle.annotations:
        yield from _labels(bundle)
    for path, obj in bundle.objects.items():
        kind, version = text(obj.get("kind")), text(obj.get("apiVersion"))
        if kind not in SUPPORTED:
            yield Finding("error", path, f"OLM installs no {kind} from a bundle: take {name_of(obj)!r} out")
        since = REMOVED.get((version, kind))
        if since:
            yield Finding("error", path, f"{kind} of {version} is gone since Kubernetes {since}: use the stable API")


def _annotations(said: Mapping[str, object]) -> Iterator[str]:
    for name, value in _MUST_BE.items():
        if said.get(_PREFIX + name) != value:
            yield f"{_PREFIX}{name} is {said.get(_PREFIX + name)!r}, and has to be {value!r}"
    package = text(said.get(_PREFIX + "package.v1"))
    if not _PACKAGE.fullmatch(package):
        yield f"{_PREFIX}package.v1 is {package!r}, and has to be the package's name: lower case letters, digits, '-'"
    channels = text(said.get(_PREFIX + "channels.v1")).split(",")
    for channel in channels:
        if not _CHANNEL.fullmatch(channel):
            yield f"{_PREFIX}channels.v1 has the channel {channel!r}: write names parted by commas, without spaces"
    default = said.get(_PREFIX + "channel.default.v1")
    if default is not None and default not in channels:
        yield f"{_PREFIX}channel.default.v1 is {default!r}, which is none of the channels {', '.join(channels)}"


def _labels(bundle: Bundle) -> Iterator[Finding]:
    labels = bundle.labels or {}
    differ = sorted(
        name
        for name in map(str, labels.keys() | bundle.annotations.keys())
        if name.startswith(_PREFIX) and labels.get(name) != bundle.annotations.get(name)
    )
    for name in differ:
        yield Finding(
            "error",
            "bundle.Dockerfile",
            f"its label {name} is {labels.get(name)!r}, and the annotation {bundle.annotations.get(name)!r}",
        )
