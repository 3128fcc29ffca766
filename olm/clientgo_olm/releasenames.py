"""Names in a chart: those of its objects follow the release, so that a cluster may have several releases."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from clientgo_olm.objects import Object, at, mappings, name_of, of_kind, text, texts

MARK = "CLIENTGO-"
"""Beginning of a placeholder, which is replaced by an expression after the manifest is written as YAML."""

# kustomize adds no prefix to these names either: CRDs and API services are named by their API groups.
_FIXED = ("CustomResourceDefinition", "APIService", "Namespace")
_TOKEN = re.compile(r"[\w.-]+")


class ReleaseNames:
    """Replaces names by expressions: of objects, Secrets of certificates, the Lease, the namespace; and adds labels."""

    def __init__(self, project: str, objects: Iterable[Object]) -> None:
        objects = tuple(objects)
        self._project = project
        self._namespace = f"{project}-system"
        self.lease = lease_of(objects)
        named = {name_of(obj) for obj in objects if obj.get("kind") not in _FIXED}
        secrets = {text(at(obj, "spec.secretName")) for obj in of_kind(objects, "Certificate")}
        names = (named | secrets | {self.lease}) - {""}
        self._names = {name: f"{MARK}RELEASE-{name.removeprefix(f'{project}-')}" for name in names}

    def applied(self, value: Any) -> Any:
        """Return a part of an object with expressions in place of names."""
        if isinstance(value, dict):
            return self._labelled({name: self.applied(inner) for name, inner in value.items()})
        if isinstance(value, list):
            return [self.applied(inner) for inner in value]
        return self._text(value) if isinstance(value, str) else value

    def mentions_namespace(self, value: Any) -> bool:
        """Return whether the project's namespace occurs in a part of an object."""
        if isinstance(value, dict):
            return any(map(self.mentions_namespace, value.values()))
        if isinstance(value, list):
            return any(map(self.mentions_namespace, value))
        return isinstance(value, str) and self._namespace in value

    def _labelled(self, members: Object) -> Object:
        """Distinguish the releases by a label wherever the project's name is one, in selectors as well."""
        if members.get("app.kubernetes.io/managed-by") == "kustomize":
            members["app.kubernetes.io/managed-by"] = f"{MARK}SERVICE"
        if members.get("app.kubernetes.io/name") == self._project:
            members["app.kubernetes.io/instance"] = f"{MARK}WHOLE-RELEASE"
        return members

    def _text(self, value: str) -> str:
        if value == self._namespace:
            return f"{MARK}WHOLE-NAMESPACE"
        return _TOKEN.sub(self._token, value).replace(self._namespace, f"{MARK}NAMESPACE")

    def _token(self, match: re.Match[str]) -> str:
        """Replace `NAME`, `--flag=NAME`, `NAMESPACE/NAME` and, in any text, `NAME.NAMESPACE.svc`."""
        token, before = match[0], match.string[: match.start()]
        if token in self._names and match.end() == len(match.string):
            return self._names[token] if before == "" or before.endswith(("=", f"{self._namespace}/")) else token
        name, dot, domain = token.partition(".")
        if name in self._names and domain.split(".")[0] == self._namespace:
            return f"{self._names[name]}{dot}{domain}"
        return token


def lease_of(objects: Iterable[Object]) -> str:
    """Return the name of the only Lease that a Role allows to update, or an empty text."""
    names = {
        name
        for role in of_kind(objects, "Role")
        for rule in mappings(role.get("rules"))
        if "leases" in texts(rule.get("resources"))
        for name in texts(rule.get("resourceNames"))
    }
    return names.pop() if len(names) == 1 else ""


def lease_flags(arguments: list[str], lease: str) -> list[str]:
    """Return the flag with the name of the Lease, if these arguments elect a leader and do not name one."""
    has_name = any(argument.startswith("--leader-elect-resource-name") for argument in arguments)
    return [f"--leader-elect-resource-name={lease}"] if lease and "--leader-elect" in arguments and not has_name else []


def selectors_of(configuration: Object, names: ReleaseNames) -> Iterator[tuple[str, str, Object]]:
    """Yield webhook, field and value of the selectors that are values of the chart.

    A selector of the project's namespace remains as it is: it follows the release.
    """
    has_webhooks = text(configuration.get("kind")).endswith("WebhookConfiguration")
    for webhook in mappings(configuration.get("webhooks")) if has_webhooks else ():
        for field in ("namespaceSelector", "objectSelector"):
            selector = webhook.get(field) or {}
            if not names.mentions_namespace(selector):
                yield text(webhook.get("name")), field, selector
