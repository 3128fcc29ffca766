"""Rules about what the operator brings along: its kinds, and the accounts it runs as."""

from collections.abc import Iterator, Mapping

from clientgo.cli.bundle.objects import Object, at, mappings, name_of, text
from clientgo.cli.bundle.reading import Bundle

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
