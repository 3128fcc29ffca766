"""Flow schemas and priority levels that responses name in their headers. Requests are not queued by them."""

from typing import Any
from weakref import WeakKeyDictionary

from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.users import User, service_account_name
from clientgo_apiserver.auth.authorization import Attributes
from clientgo_apiserver.storage.store import Store
from clientgo_apiserver.storage.stored import Key

GROUP = "flowcontrol.apiserver.k8s.io"
FLOW_SCHEMAS: Key = (GROUP, "flowschemas")
PRIORITY_LEVELS: Key = (GROUP, "prioritylevelconfigurations")
_CATCH_ALL = "catch-all"


class _Flows:
    """The flow schemas of a store, most important first, with the uids of their priority levels."""

    def __init__(self) -> None:
        self._schemas: list[tuple[Object, str]] | None = None

    def changed(self, *_: object) -> None:
        """Drop what is known: a flow schema or a priority level has changed."""
        self._schemas = None

    def of(self, store: Store) -> list[tuple[Object, str]]:
        """Return the flow schemas whose priority level exists, in the order in which they are matched."""
        if self._schemas is None:
            levels = {each["metadata"]["name"]: each["metadata"]["uid"] for each in store.list(PRIORITY_LEVELS)}
            schemas = sorted(store.list(FLOW_SCHEMAS), key=_importance)
            named = [(schema, levels.get(schema["spec"]["priorityLevelConfiguration"]["name"])) for schema in schemas]
            self._schemas = [(schema, uid) for schema, uid in named if uid]
        return self._schemas


def _importance(schema: Object) -> tuple[bool, int, str]:
    name = schema["metadata"]["name"]
    return name == _CATCH_ALL, schema["spec"].get("matchingPrecedence") or 0, name


_FLOWS: WeakKeyDictionary[Store, _Flows] = WeakKeyDictionary()


def flow_uids(store: Store, attributes: Attributes) -> tuple[str, str]:
    """Return the uids of the flow schema and the priority level of a request; empty without flow schemas."""
    flows = _FLOWS.get(store)
    if flows is None:
        flows = _FLOWS[store] = _Flows()
        store.subscribe(flows.changed, (FLOW_SCHEMAS, PRIORITY_LEVELS))
    schemas = flows.of(store)
    matching = (
        item for item in schemas if any(_covers(rule, attributes) for rule in item[0]["spec"].get("rules") or ())
    )
    schema, level = next(matching, schemas[-1] if schemas else (None, ""))
    return ("", "") if schema is None else (schema["metadata"]["uid"], level)


def _covers(rule: Object, attributes: Attributes) -> bool:
    """Return whether a rule of a flow schema is about a request."""
    if not any(_names(subject, attributes.user) for subject in rule.get("subjects") or ()):
        return False
    if attributes.path:
        rules = rule.get("nonResourceRules") or ()
        return any(_has(each["verbs"], attributes.verb) and _has_path(each, attributes.path) for each in rules)
    return any(_covers_resource(each, attributes) for each in rule.get("resourceRules") or ())


def _names(subject: Object, user: User) -> bool:
    kind = subject.get("kind")
    if kind == "User":
        return (subject.get("user") or {}).get("name") in ("*", user.name)
    if kind == "Group":
        name = (subject.get("group") or {}).get("name")
        return name == "*" or name in user.groups
    account, subject_account = service_account_name(user.name), subject.get("serviceAccount") or {}
    return (
        account is not None
        and account[0] == subject_account.get("namespace")
        and subject_account.get("name") in ("*", account[1])
    )


def _covers_resource(rule: Object, attributes: Attributes) -> bool:
    resource = attributes.resource + (f"/{attributes.subresource}" if attributes.subresource else "")
    facts = ((rule["verbs"], attributes.verb), (rule["resources"], resource), (rule["apiGroups"], attributes.group))
    if not all(_has(listed, value) for listed, value in facts):
        return False
    if not attributes.namespace:
        return bool(rule.get("clusterScope"))
    return _has(rule.get("namespaces") or (), attributes.namespace)


def _has(listed: Any, value: str) -> bool:
    return value in listed or "*" in listed


def _has_path(rule: Object, path: str) -> bool:
    return any(
        pattern in ("*", path) or path.startswith(f"{pattern.removesuffix('*').removesuffix('/')}/")
        for pattern in rule["nonResourceURLs"]
    )
