"""Objects of every cluster, which a server with authorization creates at its first start, like a real one.

They are the Service of the server, the roles and bindings of users and components, flow schemas, priority classes, and
an APIService for each built-in group version. Objects that a client has changed stay unchanged.
"""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clientgo.meta.yamlio import read_yaml
from clientgo_apiserver.api.datafiles import read_sections
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.gotypes.metadata import timestamp
from clientgo_apiserver.releases.rows import served_rows
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.stored import name_of

RBAC = "rbac.authorization.k8s.io"
_AGGREGATE = f"{RBAC}/aggregate-to-"


def create_cluster_objects(state: State, port: int) -> None:
    """Store the missing objects of `bootstrap.yaml` and `roles.txt`; the server listens on `port`."""
    now = timestamp(state.clock)
    text = Path(__file__).with_name("bootstrap.yaml").read_text(encoding="utf-8")
    objects = read_yaml(text.replace(": NOW", f': "{now}"').replace(": PORT", f": {port}"))
    for obj in (*objects, *roles_and_bindings(read_sections(Path(__file__).with_name("roles.txt")))):
        _add(state, obj, now)


def _add(state: State, obj: Object, now: str) -> None:
    group, _, version = obj["apiVersion"].rpartition("/")
    resource = state.registry.by_kind(group, version, obj["kind"])
    if resource is None or state.store.entry(resource.storage, *name_of(obj)) is not None:
        return
    if obj["kind"] == "APIService" and not _is_served(state, obj["spec"]):
        return
    meta = {**obj["metadata"], "uid": str(uuid.uuid4()), "creationTimestamp": now}
    state.store.put(resource.storage, {**obj, "metadata": meta})


def _is_served(state: State, spec: Object) -> bool:
    return spec["version"] in state.registry.groups().get(spec.get("group", ""), ())


def roles_and_bindings(sections: dict[str, list[str]]) -> Iterator[Object]:
    """Yield the objects of the sections of a file in the format of `roles.txt`."""
    for section, lines in sections.items():
        kind, _, namespace = section.partition("/")
        read = _bindings if kind.endswith("Binding") else _roles
        for name, labels, members in read([*served_rows(lines)]):
            home = {"namespace": namespace} if namespace else {}
            meta = {
                "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
                "labels": {"kubernetes.io/bootstrapping": "rbac-defaults", **labels},
                "name": name,
                **home,
            }
            yield {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": meta, **members}


def _roles(lines: list[str]) -> Iterator[tuple[str, Object, Object]]:
    """Yield the name, labels and members of each role."""
    starts = [number for number, line in enumerate(lines) if not line.startswith(" ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        name, *options = lines[start].split()
        labels = {_AGGREGATE + option[1:]: "true" for option in options if option.startswith(">")}
        selectors = [{"matchLabels": {_AGGREGATE + option[1:]: "true"}} for option in options if option[0] == "<"]
        rules = [_rule(*line.split()) for line in lines[start + 1 : end]]
        if selectors:  # the controller of aggregated roles writes their rules
            yield name, labels, {"aggregationRule": {"clusterRoleSelectors": selectors}, "rules": None}
        else:
            yield name, labels, {"rules": rules}


def _rule(verbs: str, target: str, resources: str = "", names: str = "") -> Object:
    rule: Object = {"verbs": verbs.split(",")}
    if not resources:
        return {"nonResourceURLs": target.split(","), **rule}
    groups = ["" if group == "core" else group for group in target.split(",")]
    restricted = {"resourceNames": names.split(",")} if names else {}
    return {"apiGroups": groups, **restricted, "resources": resources.split(","), **rule}


def _bindings(lines: list[str]) -> Iterator[tuple[str, Object, Object]]:
    """Yield the name, labels and members of each binding."""
    for line in lines:
        name, role, *subjects = line.split()
        kind, _, role_name = role.partition("=")
        members: Object = {"roleRef": {"apiGroup": RBAC, "kind": kind, "name": role_name or name}}
        if subjects:
            members["subjects"] = [_subject(*subject.split("=")) for subject in subjects]
        yield name, {}, members


def _subject(kind: str, name: str) -> dict[str, Any]:
    if kind == "ServiceAccount":
        namespace, _, account = name.partition("/")
        return {"kind": kind, "name": account, "namespace": namespace}
    return {"apiGroup": RBAC, "kind": kind, "name": name}
