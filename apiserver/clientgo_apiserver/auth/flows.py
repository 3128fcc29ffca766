"""Flow schemas and priority levels that responses name in their headers. Requests are not queued by them."""

from typing import NamedTuple
from weakref import WeakKeyDictionary

from clientgo.internal.boundeddict import BoundedDict
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.users import User, service_account_name
from clientgo_apiserver.auth.authorization import Attributes, any_of
from clientgo_apiserver.storage.store import Store
from clientgo_apiserver.storage.stored import Key

GROUP = "flowcontrol.apiserver.k8s.io"
FLOW_SCHEMAS: Key = (GROUP, "flowschemas")
PRIORITY_LEVELS: Key = (GROUP, "prioritylevelconfigurations")
_CATCH_ALL = "catch-all"
_USERS = 1000


class _Flow(NamedTuple):
    """A flow schema whose priority level exists."""

    schema: Object
    uids: tuple[str, str]
    """Of the schema and of its level."""


class _Flows:
    """The flow schemas of a store, most important first, and the rules of them that name each of the last users."""

    def __init__(self) -> None:
        self._flows: list[_Flow] | None = None
        self._rules: BoundedDict[tuple[str, tuple[str, ...]], list[tuple[Object, _Flow]]] = BoundedDict(_USERS)

    def changed(self, *_: object) -> None:
        """Drop what is known: a flow schema or a priority level has changed."""
        self._flows = None
        self._rules.clear()

    def of(self, store: Store, attributes: Attributes) -> tuple[str, str]:
        """Return the uids of the flow schema and the priority level of a request; empty without flow schemas."""
        if self._flows is None:
            self._flows = _read(store)
        user = attributes.user
        key = (user.name, user.groups)
        rules = self._rules.get(key)
        if rules is None:
            rules = self._rules[key] = [
                (rule, flow)
                for flow in self._flows
                for rule in flow.schema["spec"].get("rules") or ()
                if any(_names(subject, user) for subject in rule.get("subjects") or ())
            ]
        for rule, flow in rules:
            if _covers(rule, attributes):
                return flow.uids
        return self._flows[-1].uids if self._flows else ("", "")


def _read(store: Store) -> list[_Flow]:
    levels = {each["metadata"]["name"]: each["metadata"]["uid"] for each in store.list(PRIORITY_LEVELS)}
    schemas = sorted(store.list(FLOW_SCHEMAS), key=_importance)
    named = [(schema, levels.get(schema["spec"]["priorityLevelConfiguration"]["name"])) for schema in schemas]
    return [_Flow(schema, (schema["metadata"]["uid"], uid)) for schema, uid in named if uid]


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
    return flows.of(store, attributes)


def _covers(rule: Object, attributes: Attributes) -> bool:
    """Return whether a rule of a flow schema, which names the user, is about a request."""
    if attributes.path:
        rules = rule.get("nonResourceRules") or ()
        return any(any_of(each["verbs"], attributes.verb) and _has_path(each, attributes.path) for each in rules)
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
    if not all(any_of(listed, value) for listed, value in facts):
        return False
    if not attributes.namespace:
        return bool(rule.get("clusterScope"))
    return any_of(rule.get("namespaces"), attributes.namespace)


def _has_path(rule: Object, path: str) -> bool:
    return any(
        pattern in ("*", path) or path.startswith(f"{pattern.removesuffix('*').removesuffix('/')}/")
        for pattern in rule["nonResourceURLs"]
    )
