"""Validation rules for all bundles, as published by the operator framework.

Sources: the validators of its API (ClusterServiceVersion, bundle, CRD), the CRD of ClusterServiceVersions, and the
registry's checks of the bundle format. The messages are this project's.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from clientgo_olm.csvschema import CLUSTER_SERVICE_VERSION, schema_errors
from clientgo_olm.objects import OPERATORS, Object, at, mapping, mappings, name_of, text, texts
from clientgo_olm.reading import Bundle, Finding

MOST_BYTES = 1 << 20
"""Limit of the compressed size: OLM stores a bundle in one ConfigMap."""

SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-(0|[1-9]\d*|\d*[A-Za-z-][\dA-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][\dA-Za-z-]*))*)?(\+[\dA-Za-z-]+(\.[\dA-Za-z-]+)*)?"
)
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_IMAGE = re.compile(r"[\w.-]+(:\d+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:[\w][\w.-]{0,127})?(@[a-z0-9]+:[0-9a-f]{32,})?")
_CASED = ("olm.operatorGroup", "olm.operatorNamespace", "olm.targetNamespaces", "olm.providedAPIs", "olm.skipRange")


def required(bundle: Bundle) -> Iterator[Finding]:
    """Yield all violations of the rules of OLM and its registries."""
    yield from bundle.problems
    yield from metadata_rules(bundle)
    yield from _size(bundle)
    count = len(bundle.of("ClusterServiceVersion"))
    if count != 1:
        yield Finding("error", "manifests", f"expected one ClusterServiceVersion, got {count}")
        return
    path = bundle.version_file
    yield from (Finding("error", path, sentence) for sentence in schema_errors(CLUSTER_SERVICE_VERSION, bundle.version))
    yield from (Finding("error", path, sentence) for sentence in ownership(bundle))
    csv = bundle.version
    for is_error, sentence in (
        *_version(csv),
        *_modes(csv),
        *_images_and_annotations(csv),
        *_examples(csv),
        *_webhooks(csv),
    ):
        yield Finding("error" if is_error else "warning", path, sentence)


Sentences = Iterator[tuple[bool, str]]
"""Pairs of (is an error, message)."""


def _version(csv: Object) -> Sentences:
    if csv.get("apiVersion") != OPERATORS:
        yield True, f"invalid apiVersion {csv.get('apiVersion')}: expected {OPERATORS}"
    name, version = name_of(csv), text(at(csv, "spec.version"))
    replaces = text(at(csv, "spec.replaces"))
    for path, value in (("metadata.name", name), ("spec.replaces", replaces)):
        if value and (not _SUBDOMAIN.fullmatch(value) or len(value) > 63):
            yield True, f"invalid {path} {value!r}: expected a DNS subdomain of at most 63 characters"
    if version and not SEMVER.fullmatch(version):
        yield True, f"invalid spec.version {version!r}: expected a semantic version such as 0.1.0"
    elif version and name and name.partition(".v")[2] != version:
        yield True, f"metadata.name {name!r} and spec.version {version!r} differ: the name is PACKAGE.v{version}"
    if replaces and replaces == name:
        yield True, f"spec.replaces {replaces!r} is this version: name the previous one"
    least = text(at(csv, "spec.minKubeVersion"))
    if least and not SEMVER.fullmatch(least):
        yield True, f"invalid spec.minKubeVersion {least!r}: expected a semantic version such as 1.29.0"
    elif not least:
        yield False, "spec.minKubeVersion is missing: the operator is offered to clusters of all versions"


def _images_and_annotations(csv: Object) -> Sentences:
    for number, item in enumerate(mappings(at(csv, "spec.relatedImages"))):
        if not _IMAGE.fullmatch(text(item.get("image"))):
            yield (
                True,
                f"invalid spec.relatedImages[{number}].image {text(item.get('image'))!r}: "
                "expected the name of an image",
            )
    for key in mapping(at(csv, "metadata.annotations")):
        expected = next((item for item in _CASED if item.lower() == str(key).lower() and item != key), None)
        if expected:
            yield True, f"invalid annotation {key}: expected the spelling {expected}"


def _modes(csv: Object) -> Sentences:
    modes = mappings(at(csv, "spec.installModes"))
    types = [text(item.get("type")) for item in modes]
    for twice in sorted({item for item in types if types.count(item) > 1}):
        yield True, f"spec.installModes has {twice} twice"
    supported = [text(item.get("type")) for item in modes if item.get("supported") is True]
    if modes and not supported:
        yield True, "spec.installModes supports no mode: OLM cannot install the operator"
    converting = any(item.get("conversionCRDs") for item in mappings(at(csv, "spec.webhookdefinitions")))
    if converting and supported != ["AllNamespaces"]:
        yield True, "spec.installModes must support only AllNamespaces, because there is a conversion webhook"


def _examples(csv: Object) -> Sentences:
    annotation = text(at(csv, "metadata.annotations.alm-examples"))
    if not annotation:
        yield False, "the annotation alm-examples is missing: the catalogue shows no examples"
        return
    try:
        examples: Any = json.loads(annotation)
    except (ValueError, RecursionError) as error:
        yield True, f"invalid annotation alm-examples: {error}"
        return
    if not isinstance(examples, list):
        yield True, "invalid annotation alm-examples: expected a JSON list of objects"
        return
    provided = {
        (text(item.get("name")).partition(".")[2] + "/" + text(item.get("version")), text(item.get("kind")))
        for item in mappings(at(csv, "spec.customresourcedefinitions.owned"))
    } | {
        (f"{text(item.get('group'))}/{text(item.get('version'))}", text(item.get("kind")))
        for item in mappings(at(csv, "spec.apiservicedefinitions.owned"))
    }
    kinds = {(text(item.get("apiVersion")), text(item.get("kind"))) for item in mappings(examples)}
    for api, kind in sorted(kinds - provided):
        yield True, f"alm-examples has a {kind} of {api}, which the operator does not own"
    for api, kind in sorted(provided - kinds):
        yield False, f"alm-examples has no {kind} of {api}: add one to config/samples"


def _webhooks(csv: Object) -> Sentences:
    deployments = {text(item.get("name")) for item in mappings(at(csv, "spec.install.spec.deployments"))}
    owned = {text(item.get("name")) for item in mappings(at(csv, "spec.customresourcedefinitions.owned"))}
    for item in mappings(at(csv, "spec.webhookdefinitions")):
        name, port = text(item.get("generateName")), item.get("containerPort", 443)
        if text(item.get("deploymentName")) not in deployments:
            yield (
                True,
                f"the Deployment {item.get('deploymentName')!r} of the webhook {name} not found",
            )
        if isinstance(port, int) and not 0 < port < 65536:
            yield True, f"the webhook {name} has the invalid containerPort {port}"
        if text(item.get("webhookPath"))[:1] not in ("", "/"):
            yield True, f"the webhook {name} has the invalid webhookPath {item['webhookPath']!r}: expected a leading /"
        converts = texts(item.get("conversionCRDs"))
        if item.get("type") == "ConversionWebhook" and not converts:
            yield True, f"the webhook {name} converts no CRDs: list them in conversionCRDs"
        for crd in sorted(set(converts) - owned):
            yield True, f"the webhook {name} converts {crd}, which the operator does not own"


def _size(bundle: Bundle) -> Iterator[Finding]:
    if bundle.size > MOST_BYTES:
        yield Finding("error", "manifests", f"compressed size {bundle.size} bytes, limit {MOST_BYTES}")
    elif bundle.size > 0.85 * MOST_BYTES:
        yield Finding("warning", "manifests", f"compressed size {bundle.size} bytes, limit {MOST_BYTES}")


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
"""Kinds that OLM accepts in a bundle, from operator-registry."""

REMOVED: Mapping[tuple[str, str], str] = {
    ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition"): "1.22",
    ("rbac.authorization.k8s.io/v1beta1", "Role"): "1.22",
    ("rbac.authorization.k8s.io/v1beta1", "RoleBinding"): "1.22",
    ("rbac.authorization.k8s.io/v1beta1", "ClusterRole"): "1.22",
    ("rbac.authorization.k8s.io/v1beta1", "ClusterRoleBinding"): "1.22",
    ("scheduling.k8s.io/v1beta1", "PriorityClass"): "1.22",
    ("policy/v1beta1", "PodDisruptionBudget"): "1.25",
}
"""Removed APIs of these kinds, with the Kubernetes version that removed them."""


def metadata_rules(bundle: Bundle) -> Iterator[Finding]:
    """Yield the violations in annotations, labels and kinds."""
    if bundle.annotations:
        yield from (Finding("error", _WHERE, sentence) for sentence in _annotations(bundle.annotations))
    if bundle.labels is not None and bundle.annotations:
        yield from _label_findings(bundle)
    for path, obj in bundle.objects.items():
        kind, version = text(obj.get("kind")), text(obj.get("apiVersion"))
        if kind not in SUPPORTED:
            yield Finding("error", path, f"OLM does not install a {kind} from a bundle: remove {name_of(obj)!r}")
        since = REMOVED.get((version, kind))
        if since:
            yield Finding("error", path, f"{kind} of {version} was removed in Kubernetes {since}: use the stable API")


def _annotations(annotations: Mapping[str, object]) -> Iterator[str]:
    for name, value in _MUST_BE.items():
        if annotations.get(_PREFIX + name) != value:
            yield f"invalid {_PREFIX}{name} {annotations.get(_PREFIX + name)!r}: expected {value!r}"
    package = text(annotations.get(_PREFIX + "package.v1"))
    if not _PACKAGE.fullmatch(package):
        yield f"invalid {_PREFIX}package.v1 {package!r}: expected lower case letters, digits and '-'"
    channels = text(annotations.get(_PREFIX + "channels.v1")).split(",")
    for channel in channels:
        if not _CHANNEL.fullmatch(channel):
            yield f"invalid channel {channel!r} in {_PREFIX}channels.v1: expected comma-separated names"
    default = annotations.get(_PREFIX + "channel.default.v1")
    if default is not None and default not in channels:
        yield f"invalid {_PREFIX}channel.default.v1 {default!r}: expected one of the channels {', '.join(channels)}"


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
            f"label {name} {labels.get(name)!r} differs from the annotation {bundle.annotations.get(name)!r}",
        )


Key = tuple[str, str, str]
"""A CRD's name, its kind, and one of its versions."""


def ownership(bundle: Bundle) -> Iterator[str]:
    """Yield mismatches between the owned kinds and the CRDs, and service accounts that OLM creates itself."""
    defined: dict[Key, bool] = {}
    for definition in bundle.of("CustomResourceDefinition"):
        yield from _definition(definition)
        for version in mappings(at(definition, "spec.versions")):
            key = name_of(definition), text(at(definition, "spec.names.kind")), text(version.get("name"))
            if key in defined:
                yield f"{' '.join(key)} is defined twice"
            defined[key] = bool(version.get("served"))
    declared = mappings(at(bundle.version, "spec.customresourcedefinitions.owned"))
    owned = [(text(item.get("name")), text(item.get("kind")), text(item.get("version"))) for item in declared]
    yield from _owned(owned, defined)
    names = {(name, kind) for name, kind, _ in owned}
    for name, kind in sorted({(name, kind) for name, kind, _ in defined} - names):
        yield f"the CRD {name} ({kind}) is missing in customresourcedefinitions.owned"
    deployments = mappings(at(bundle.version, "spec.install.spec.deployments"))
    accounts = {text(at(item, "spec.template.spec.serviceAccountName")) for item in deployments}
    for account in sorted({name_of(item) for item in bundle.of("ServiceAccount")} & accounts):
        yield f"OLM creates the ServiceAccount {account} of the Deployment: remove its manifest"


def _owned(owned: list[Key], defined: Mapping[Key, bool]) -> Iterator[str]:
    for key in owned:
        name, kind, version = key
        if "." not in name:
            yield f"invalid name of the owned CRD {name!r}: expected PLURAL.GROUP"
        if owned.count(key) > 1:
            yield f"the owned CRD {name} ({kind}, {version}) is listed twice"
        if key not in defined:
            yield f"the owned CRD {name} ({kind}, {version}) not found in manifests: add it with make bundle"
        elif not defined[key]:
            yield f"the owned CRD {name} ({kind}) does not serve its version {version}"


def _definition(definition: Object) -> Iterator[str]:
    name = name_of(definition)
    group, plural = text(at(definition, "spec.group")), text(at(definition, "spec.names.plural"))
    if name != f"{plural}.{group}":
        yield f"invalid name of the CRD {name!r}: expected {plural}.{group}, from its plural and group"
    stored = [version for version in mappings(at(definition, "spec.versions")) if version.get("storage") is True]
    if len(stored) != 1:
        yield f"the CRD {name} stores {len(stored)} versions: exactly one must have `storage: true`"
