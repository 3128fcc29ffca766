"""Steps of a scenario: what the user does to the cluster; after each, the operator runs until it is quiet.

    steps = [create(foo), change(foo, {"spec": {"replicas": 3}}), advance(60), delete(foo)]

Objects are instances of API kinds, or dicts with apiVersion, kind and metadata.
"""

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from clientgo.errors import ConfigError
from clientgo.meta.codec import to_dict
from clientgo.perturb.programs.gate import target_of
from clientgo.perturb.state import ClusterState, Object, ObjectRef
from clientgo.perturb.world import World

MERGE = "application/merge-patch+json"
_STRICT = "?fieldValidation=Strict"  # as kubectl: a field that no schema has is a mistake


@dataclass(frozen=True)
class UserInputs:
    """Deviations from what the steps create: other contents of objects, and objects that are created later.

    A content has the fields that replace those of the object, and the labels and annotations. An object in `late` is
    created when a step first changes or reads it, or by `ScenarioUser.create_late`.
    """

    contents: Mapping[ObjectRef, Object] = field(default_factory=dict)
    late: frozenset[ObjectRef] = frozenset()


AS_WRITTEN = UserInputs()
"""Inputs of a scenario as it is written."""


class ScenarioUser:
    """The user of the cluster in a step: creates, changes and deletes objects, and lets time pass."""

    def __init__(self, world: World, inputs: UserInputs = AS_WRITTEN) -> None:
        """Create a user who creates objects as `inputs` say."""
        self._world = world
        self._inputs = inputs
        self._late: dict[ObjectRef, Object] = {}
        self._plurals: dict[str, dict[str, tuple[str, bool]]] = {}

    def __repr__(self) -> str:
        return f"<ScenarioUser of {self._world!r}>"

    @property
    def state(self) -> ClusterState:
        """The objects now."""
        return self._world.state

    def create(self, obj: object) -> Object:
        """Create an object and return it."""
        document = as_dict(obj)
        subject = target_of(self._url(document))
        ref = ObjectRef(subject.resource, subject.namespace, subject.name)
        if ref in self._inputs.contents:
            document = with_content(document, self._inputs.contents[ref])
        if ref in self._inputs.late:
            self._late[ref] = document
            return document
        return self._create(document)

    def _create(self, document: Object) -> Object:
        namespace = self._late.pop(ObjectRef("namespaces", "", document["metadata"].get("namespace") or ""), None)
        if namespace is not None:
            self._create(namespace)
        return self._world.request("POST", f"{self._url(document, named=False)}{_STRICT}", document)

    def create_late(self) -> None:
        """Create the objects that steps were to create, and that are created later."""
        while self._late:
            self._create(self._late.pop(next(iter(self._late))))

    def change(self, obj: object, patch: Mapping[str, Any], *, subresource: str = "") -> Object:
        """Apply a JSON merge patch to an object, or to a subresource such as `status`."""
        path = self._path(as_dict(obj)) + (f"/{subresource}" if subresource else "")
        return self._world.request("PATCH", f"{path}{_STRICT}", dict(patch), MERGE)

    def replace(self, obj: object) -> Object:
        """Replace everything but the metadata and status of an existing object."""
        document = as_dict(obj)
        stored = self._world.request("GET", self._path(document))
        metadata = stored["metadata"]
        for key in ("labels", "annotations"):
            if key in document["metadata"]:
                metadata[key] = document["metadata"][key]
        retained = {"metadata": metadata, **({"status": stored["status"]} if "status" in stored else {})}
        return self._world.request("PUT", f"{self._path(document)}{_STRICT}", {**document, **retained})

    def delete(self, obj: object) -> None:
        """Delete an object."""
        self._world.request("DELETE", self._path(as_dict(obj)))

    def get(self, obj: object) -> Object:
        """Return the stored object; AssertionError if there is none."""
        return self._world.request("GET", self._path(as_dict(obj)))

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass; the operator runs meanwhile."""
        self._world.advance(seconds)

    def _path(self, document: Object) -> str:
        url = self._url(document)
        late = self._late.pop(ObjectRef(*target_of(url)[:3]), None)
        if late is not None:
            self._create(late)
        return url

    def _url(self, document: Object, *, named: bool = True) -> str:
        version, kind = str(document["apiVersion"]), str(document["kind"])
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if version not in self._plurals:
            resources = self._world.request("GET", root)["resources"]
            self._plurals[version] = {
                each["kind"]: (each["name"], each["namespaced"]) for each in resources if "/" not in each["name"]
            }
        if kind not in self._plurals[version]:
            raise AssertionError(f"kind {kind} of {version} is not served: add its CRD")
        plural, namespaced = self._plurals[version][kind]
        if namespaced:
            root += f"/namespaces/{document['metadata'].get('namespace') or 'default'}"
        return f"{root}/{plural}/{document['metadata']['name']}" if named else f"{root}/{plural}"


@dataclass(frozen=True)
class ScenarioStep:
    """One action of the user, with a name for people.

    `kinds` are the classes of its objects, and `versions` the apiVersion and kind of each.
    """

    name: str
    act: Callable[[ScenarioUser], object] = field(repr=False)
    kinds: tuple[type, ...] = ()
    versions: tuple[tuple[str, str], ...] = ()


def create(*objects: object) -> ScenarioStep:
    """Create objects, in this order."""
    return _each("create", objects, lambda user, obj: user.create(obj))


def change(obj: object, patch: Mapping[str, Any], *, subresource: str = "") -> ScenarioStep:
    """Apply a JSON merge patch to an object, or to a subresource such as `status`."""
    frozen = copy.deepcopy(dict(patch))
    name = f"change {_title(obj)}{f' {subresource}' if subresource else ''}"
    return ScenarioStep(name, lambda user: user.change(obj, frozen, subresource=subresource))


def replace(obj: object) -> ScenarioStep:
    """Replace everything but the metadata and status of an existing object."""
    return ScenarioStep(f"replace {_title(obj)}", lambda user: user.replace(obj))


def delete(*objects: object) -> ScenarioStep:
    """Delete objects, in this order."""
    return _each("delete", objects, lambda user, obj: user.delete(obj))


def advance(seconds: float) -> ScenarioStep:
    """Let `seconds` pass; raise ConfigError for an invalid time."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
        raise ConfigError(f"invalid time {seconds!r} of advance: expected seconds")
    return ScenarioStep(f"advance {seconds:g} s", lambda user: user.advance(seconds))


def mark_ready(obj: object) -> ScenarioStep:
    """Set the Ready condition of an object, such as a pod, to True."""
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    return ScenarioStep(
        f"mark {_title(obj)} ready", lambda user: user.change(obj, {"status": status}, subresource="status")
    )


def call(function: Callable[[ScenarioUser], object], name: str = "") -> ScenarioStep:
    """Call `function(user)`."""
    return ScenarioStep(name or getattr(function, "__name__", "call"), function)


def as_dict(obj: object) -> Object:
    """Return the JSON form of an object, a copy."""
    return copy.deepcopy(dict(obj)) if isinstance(obj, Mapping) else to_dict(obj)


def with_content(document: Object, content: Object) -> Object:
    """Return an object with other fields, labels and annotations; those of the content replace all."""
    metadata = {**document["metadata"], **content.get("metadata", {})}
    metadata = {key: value for key, value in metadata.items() if value != {} or key not in _REPLACED_METADATA}
    return {**document, **content, "metadata": metadata}


_REPLACED_METADATA = ("labels", "annotations")


def _each(verb: str, objects: tuple[object, ...], act: Callable[[ScenarioUser, object], object]) -> ScenarioStep:
    def run(user: ScenarioUser) -> None:
        for obj in objects:
            act(user, obj)

    kinds = tuple(type(obj) for obj in objects if not isinstance(obj, Mapping))
    documents = (as_dict(obj) for obj in objects)
    versions = tuple((str(each.get("apiVersion", "")), str(each.get("kind", ""))) for each in documents)
    return ScenarioStep(f"{verb} {', '.join(map(_title, objects))}", run, kinds, versions)


def _title(obj: object) -> str:
    document = as_dict(obj)
    return f"{str(document.get('kind', '')).lower()} {document['metadata'].get('name', '')}"
