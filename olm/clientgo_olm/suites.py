"""Optional rules: requirements of OperatorHub.io, and good practices."""

import re
from collections.abc import Callable, Iterator, Mapping

from clientgo_olm.objects import at, mapping, mappings, name_of, text, texts
from clientgo_olm.reading import Bundle, Finding

CAPABILITIES = ("Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot")
CATEGORIES = (
    "AI/Machine Learning", "Application Runtime", "Big Data", "Cloud Provider", "Developer Tools", "Database",
    "Integration & Delivery", "Logging & Tracing", "Modernization & Migration", "Monitoring", "Networking",
    "OpenShift Optional", "Security", "Storage", "Streaming & Messaging",
)  # fmt: skip
_MEDIA = ("image/gif", "image/jpeg", "image/png", "image/svg+xml")
_MAIL = re.compile(r"[^@\s]+@[^@\s]+")
_URL = re.compile(r"https?://[^\s/]\S*")
_CHANNELS = ("candidate", "fast", "stable")


def operatorhub(bundle: Bundle) -> Iterator[Finding]:
    """Yield violations of the requirements of OperatorHub.io."""
    csv, path = bundle.version, bundle.version_file
    yield from (Finding("error", path, sentence) for sentence in (*_people(mapping(csv.get("spec"))),))
    annotations = mapping(at(csv, "metadata.annotations"))
    for capability in [text(annotations.get("capabilities"))]:
        if capability not in CAPABILITIES:
            yield Finding(
                "error", path, f"invalid capabilities {capability!r}: expected one of {', '.join(CAPABILITIES)}"
            )
    for category in filter(None, (name.strip() for name in text(annotations.get("categories")).split(","))):
        if category not in CATEGORIES:
            yield Finding("error", path, f"invalid category {category!r}: expected one of {', '.join(CATEGORIES)}")
    if not mappings(at(csv, "spec.icon")):
        yield Finding("warning", path, "spec.icon is missing")


def good_practices(bundle: Bundle) -> Iterator[Finding]:
    """Yield violations of good practices, as warnings."""
    csv, path = bundle.version, bundle.version_file
    for deployment in mappings(at(csv, "spec.install.spec.deployments")):
        for container in mappings(at(deployment, "spec.template.spec.containers")):
            requests = mapping(at(container, "resources.requests"))
            if not {"cpu", "memory"} <= requests.keys():
                yield Finding("warning", path, f"the container {container.get('name')} has no CPU or no memory request")
    for owned in mappings(at(csv, "spec.customresourcedefinitions.owned")):
        if not text(owned.get("description")):
            yield Finding("warning", path, f"{owned.get('kind')} has no description: give its class a docstring")
    channels = text(bundle.annotations.get("operators.operatorframework.io.bundle.channels.v1")).split(",")
    for channel in channels:
        if not channel.startswith(_CHANNELS):
            message = f"unusual channel {channel!r}: expected a name that begins with {', '.join(_CHANNELS)}"
            yield Finding("warning", "metadata/annotations.yaml", message)
    if any(_makes_definitions(rule) for rule in _rules(bundle)):
        yield Finding(
            "warning", path, "the operator may create CRDs, which is the task of OLM: put them into the bundle"
        )
    if len(name_of(csv).split(".v")) != 2:
        yield Finding("warning", path, f"metadata.name {name_of(csv)!r} is not PACKAGE.vVERSION")


SUITES: Mapping[str, Callable[[Bundle], Iterator[Finding]]] = {
    "operatorhub": operatorhub,
    "good-practices": good_practices,
}


def _people(spec: Mapping[str, object]) -> Iterator[str]:
    if not text(mapping(spec.get("provider")).get("name")).strip():
        yield "spec.provider.name is missing"
    for number, item in enumerate(mappings(spec.get("maintainers"))):
        if not text(item.get("name")) or not _MAIL.fullmatch(text(item.get("email"))):
            yield f"spec.maintainers[{number}] must have a name and an email address"
    for number, item in enumerate(mappings(spec.get("links"))):
        if not text(item.get("name")) or not _URL.fullmatch(text(item.get("url"))):
            yield f"spec.links[{number}] must have a name and a URL such as https://example.com"
    icons = mappings(spec.get("icon"))
    if len(icons) > 1:
        yield f"expected one icon in spec.icon, got {len(icons)}"
    for item in icons:
        if not text(item.get("base64data")) or item.get("mediatype") not in _MEDIA:
            yield f"spec.icon must have base64data, and a mediatype of {', '.join(_MEDIA)}"


def _rules(bundle: Bundle) -> Iterator[Mapping[str, object]]:
    for which in ("permissions", "clusterPermissions"):
        for permission in mappings(at(bundle.version, f"spec.install.spec.{which}")):
            yield from mappings(permission.get("rules"))


def _makes_definitions(rule: Mapping[str, object]) -> bool:
    return (
        "apiextensions.k8s.io" in texts(rule.get("apiGroups"))
        and bool({"customresourcedefinitions", "*"} & set(texts(rule.get("resources"))))
        and bool({"create", "patch", "*"} & set(texts(rule.get("verbs"))))
    )
