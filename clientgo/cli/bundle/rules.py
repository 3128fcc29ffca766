"""The rules that every bundle has to keep, as the operator framework publishes and checks them.

Sources: its API's validators (ClusterServiceVersion, bundle, CRD), the CRD of ClusterServiceVersions, and its
registry's checks of a bundle's format. Texts are ours.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from clientgo.cli.bundle.metadata import metadata_rules
from clientgo.cli.bundle.objects import OPERATORS, Object, at, mapping, mappings, name_of, text, texts
from clientgo.cli.bundle.ownership import ownership
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
