"""The rules that every bundle has to keep, as the operator framework publishes and checks them.

Sources: its API's validators (ClusterServiceVersion, bundle, CRD), the CRD of ClusterServiceVersions, and its
registry's checks of a bundle's format. Texts are ours.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from clientgo.cli.bundle.objects import OPERATORS, Object, at, mapping, mappings, name_of, text, texts
from clientgo.cli.bundle.reading import Bundle, Finding
from clientgo.cli.bundle.shape import CLUSTER_SERVICE_VERSION, misshapen

MOST_BYTES = 1 << 20
"""What a bundle may be, packed: OLM keeps it in one ConfigMap."""

SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-(0|[1-9]\d*|\d*[A-Za-z-][\dA-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][\dA-Za-z-]*))*)?(\+[\dA-Za-z-]+(\.[\dA-Za-z-]+)*)?"
)
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_IMAGE = re.compile(r"[\w.-]+(:\d+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:[\w][\w.-]{0,127})?(@[a-z0-9]+:[0-9a-f]{32,})?")
_CASED = ("olm.operatorGroup", "olm.operatorNamespace", "olm.targetNamespaces", "olm.providedAPIs", "olm.skipRange")


def required(bundle: Bundle) -> Iterator[Finding]:
    """Everything in which a bundle is not what OLM and its registries take."""
    yield from bundle.problems
    yield from metadata_rules(bundle)
    yield from _size(bundle)
    count = len(bundle.of("ClusterServiceVersion"))
    if count != 1:
        yield Finding("error", "manifests", f"there are {count} ClusterServiceVersions: a bundle has one")
        return
    where = bundle.version_file
    yield from (Finding("error", where, sentence) for sentence in misshapen(CLUSTER_SERVICE_VERSION, bundle.version))
    yield from (Finding("error", where, sentence) for sentence in ownership(bundle))
    csv = bundle.version
    for is_error, sentence in (
        *_version(csv),
        *_modes(csv),
        *_images_and_annotations(csv),
        *_examples(csv),
        *_webhooks(csv),
    ):
        yield Finding("error" if is_error else "warning", where, sentence)


Sentences = Iterator[tuple[bool, str]]
"""Whether it is an error, and what it is."""


def _version(csv: Object) -> Sentences:
    if csv.get("apiVersion") != OPERATORS:
        yield True, f"apiVersion is {csv.get('apiVersion')}, and has to be {OPERATORS}"
    name, version = name_of(csv), text(at(csv, "spec.version"))
    replaces = text(at(csv, "spec.replaces"))
    for path, value in (("metadata.name", name), ("spec.replaces", replaces)):
        if value and (not _SUBDOMAIN.fullmatch(value) or len(value) > 63):
            yield True, f"{path} {value!r} is no DNS subdomain of at most 63 characters"
    if version and not SEMVER.fullmatch(version):
        yield True, f"spec.version {version!r} is no semantic version, as 0.1.0"
    elif version and name and name.partition(".v")[2] != version:
        yield True, f"metadata.name {name!r} and spec.version {version!r} differ: the name is PACKAGE.v{version}"
    if replaces and replaces == name:
        yield True, f"spec.replaces {replaces!r} is this version itself: name the one before"
    least = text(at(csv, "spec.minKubeVersion"))
    if least and not SEMVER.fullmatch(least):
        yield True, f"spec.minKubeVersion {least!r} is no semantic version, as 1.29.0"
    elif not least:
        yield False, "spec.minKubeVersion is missing, so that the operator is offered to clusters of every version"


def _images_and_annotations(csv: Object) -> Sentences:
    for number, one in enumerate(mappings(at(csv, "spec.relatedImages"))):
        if not _IMAGE.fullmatch(text(one.get("image"))):
            yield True, f"spec.relatedImages[{number}].image {text(one.get('image'))!r} is no image's name"
    for key in mapping(at(csv, "metadata.annotations")):
        known = next((one for one in _CASED if one.lower() == str(key).lower() and one != key), None)
        if known:
            yield True, f"the annotation {key} is written {known}"


def _modes(csv: Object) -> Sentences:
    modes = mappings(at(csv, "spec.installModes"))
    types = [text(one.get("type")) for one in modes]
    for twice in sorted({one for one in types if types.count(one) > 1}):
        yield True, f"spec.installModes names {twice} twice"
    supported = [text(one.get("type")) for one in modes if one.get("supported") is True]
    if modes and not supported:
        yield True, "spec.installModes supports none: OLM could install the operator nowhere"
    converting = any(one.get("conversionCRDs") for one in mappings(at(csv, "spec.webhookdefinitions")))
    if converting and supported != ["AllNamespaces"]:
        yield True, "spec.installModes has to support AllNamespaces and nothing else, because a webhook converts"


def _examples(csv: Object) -> Sentences:
    said = text(at(csv, "metadata.annotations.alm-examples"))
    if not said:
        yield False, "the annotation alm-examples is missing: users are shown no example of any kind"
        return
    try:
        examples: Any = json.loads(said)
    except (ValueError, RecursionError) as error:
        yield True, f"the annotation alm-examples is no JSON: {error}"
        return
    if not isinstance(examples, list):
        yield True, "the annotation alm-examples is no JSON list of objects"
        return
    provided = {
        (text(one.get("name")).partition(".")[2] + "/" + text(one.get("version")), text(one.get("kind")))
        for one in mappings(at(csv, "spec.customresourcedefinitions.owned"))
    } | {
        (f"{text(one.get('group'))}/{text(one.get('version'))}", text(one.get("kind")))
        for one in mappings(at(csv, "spec.apiservicedefinitions.owned"))
    }
    shown = {(text(one.get("apiVersion")), text(one.get("kind"))) for one in mappings(examples)}
    for api, kind in sorted(shown - provided):
        yield True, f"alm-examples has a {kind} of {api}, which the operator does not own"
    for api, kind in sorted(provided - shown):
        yield False, f"alm-examples has no {kind} of {api}: add one to config/samples"


def _webhooks(csv: Object) -> Sentences:
    deployments = {text(one.get("name")) for one in mappings(at(csv, "spec.install.spec.deployments"))}
    owned = {text(one.get("name")) for one in mappings(at(csv, "spec.customresourcedefinitions.owned"))}
    for one in mappings(at(csv, "spec.webhookdefinitions")):
        name, port = text(one.get("generateName")), one.get("containerPort", 443)
        if text(one.get("deploymentName")) not in deployments:
            yield (
                True,
                f"the webhook {name} is answered by the Deployment {one.get('deploymentName')!r}, which is not there",
            )
        if isinstance(port, int) and not 0 < port < 65536:
            yield True, f"the webhook {name} has containerPort {port}, which is no port"
        if text(one.get("webhookPath"))[:1] not in ("", "/"):
            yield True, f"the webhook {name} has webhookPath {one['webhookPath']!r}, which does not begin with /"
        converts = texts(one.get("conversionCRDs"))
        if one.get("type") == "ConversionWebhook" and not converts:
            yield True, f"the webhook {name} converts nothing: name CRDs in conversionCRDs"
        for crd in sorted(set(converts) - owned):
            yield True, f"the webhook {name} converts {crd}, which the operator does not own"


def _size(bundle: Bundle) -> Iterator[Finding]:
    if bundle.size > MOST_BYTES:
        yield Finding("error", "manifests", f"packed it has {bundle.size} bytes, and may have {MOST_BYTES}")
    elif bundle.size > 0.85 * MOST_BYTES:
        yield Finding("warning", "manifests", f"packed it has {bundle.size} bytes, and may have {MOST_BYTES}")


_PREFIX = "operators.operatorframework.io.bundle."
_MUST_BE = {"mediatype.v1": "registry+v1", "manifests.v1": "manifests/", "metadata.v1": "metadata/"}
_WHERE = "metadata/annotations.yaml"
_CHANNEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_PACKAGE = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")

SUPPORTED = frozenset({
    "ClusterRole", "ClusterRoleBinding", "ClusterServiceVersion", "ConfigMap", "ConsoleCLIDownload", "ConsoleLink",
    "ConsolePlugin", "ConsoleQuickStart", "ConsoleYAMLSample", "CustomResourceDefinition", "NetworkPolicy",
    "PodDisruptionBudget", "PodMonitor", "PriorityClass", "PrometheusRule", "Role", "RoleBinding", "Secret", "Service",
    "ServiceAccount", "ServiceMonitor", "VerticalPodAutoscaler",
})  # fmt: skip
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
        yield from _label_findings(bundle)
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


def _label_findings(bundle: Bundle) -> Iterator[Finding]:
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


Key = tuple[str, str, str]
"""A CRD's name, its kind, and one of its versions."""


def ownership(bundle: Bundle) -> Iterator[str]:
    """What is owned is there, and what is there is owned, by name, kind and version; OLM makes the accounts."""
    there: dict[Key, bool] = {}
    for definition in bundle.of("CustomResourceDefinition"):
        yield from _definition(definition)
        for version in mappings(at(definition, "spec.versions")):
            key = name_of(definition), text(at(definition, "spec.names.kind")), text(version.get("name"))
            if key in there:
                yield f"{' '.join(key)} is defined twice"
            there[key] = bool(version.get("served"))
    said = mappings(at(bundle.version, "spec.customresourcedefinitions.owned"))
    owned = [(text(one.get("name")), text(one.get("kind")), text(one.get("version"))) for one in said]
    yield from _owned(owned, there)
    names = {(name, kind) for name, kind, _ in owned}
    for name, kind in sorted({(name, kind) for name, kind, _ in there} - names):
        yield f"the CRD {name} ({kind}) is in manifests, and not in customresourcedefinitions.owned"
    deployments = mappings(at(bundle.version, "spec.install.spec.deployments"))
    accounts = {text(at(one, "spec.template.spec.serviceAccountName")) for one in deployments}
    for account in sorted({name_of(one) for one in bundle.of("ServiceAccount")} & accounts):
        yield f"the ServiceAccount {account} is made by OLM, for the Deployment: take its manifest out"


def _owned(owned: list[Key], there: Mapping[Key, bool]) -> Iterator[str]:
    for key in owned:
        name, kind, version = key
        if "." not in name:
            yield f"the owned CRD {name!r} is not named PLURAL.GROUP"
        if owned.count(key) > 1:
            yield f"the owned CRD {name} ({kind}, {version}) is named twice"
        if key not in there:
            yield f"the owned CRD {name} ({kind}, {version}) is not in manifests: make bundle puts it there"
        elif not there[key]:
            yield f"the owned CRD {name} ({kind}) does not serve its version {version}"


def _definition(definition: Object) -> Iterator[str]:
    name = name_of(definition)
    group, plural = text(at(definition, "spec.group")), text(at(definition, "spec.names.plural"))
    if name != f"{plural}.{group}":
        yield f"the CRD {name!r} has to be called {plural}.{group}, as its plural and group say"
    stored = [one for one in mappings(at(definition, "spec.versions")) if one.get("storage") is True]
    if len(stored) != 1:
        yield f"the CRD {name} stores {len(stored)} versions: exactly one has `storage: true`"
