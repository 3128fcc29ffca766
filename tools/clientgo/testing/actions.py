"""Actions: the calls that a fake client records, as values that tests compare and reactors read.

`Action.of("update", foo, subresource="status")` is what a test expects; the fake records an equal value for the call.
Options (field manager, selectors) are recorded but not compared.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from clientgo.meta.codec import Undecodable, decode, encode_value, to_dict
from clientgo.meta.jsonvalues import same
from clientgo.meta.names import ObjectName
from clientgo.meta.objects import EMPTY_MAP, ApiObject, GroupVersionKind, GroupVersionResource
from clientgo.meta.patches.overlay import changed
from clientgo.meta.scheme import Scheme, api_of
from clientgo.rest.request import Request

READS = frozenset(("get", "list", "watch"))
"""Verbs that change nothing."""

_PATCHES = frozenset(("patch", "apply"))
_WITH_OBJECT = frozenset(("create", "update"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One call: its verb, resource and submitted object.

    `object` is the submitted object of a create or update: of the class that the scheme has for it, else a dict.
    `body` is its JSON as it was sent, with the values that the class does not hold; empty for a dict.
    `patch` and `patch_type` are the bytes and media type of a patch or apply, `options` the query parameters,
    `delete_options` the body of a deletion, `kind` the resource's kind as the client knows it, `command` the words of a
    command in a pod (the verb `connect`).
    """

    verb: str
    resource: GroupVersionResource
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    object: Any = None
    body: bytes = field(default=b"", compare=False)
    patch: bytes = b""
    patch_type: str = ""
    command: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default=EMPTY_MAP, compare=False)
    delete_options: Mapping[str, Any] = field(default=EMPTY_MAP, compare=False)
    kind: str = field(default="", compare=False)

    def __eq__(self, other: Any) -> bool:  # of the class `object`, which is a field here
        if not isinstance(other, Action):
            return NotImplemented
        return self._key() == other._key() and same(self.object, other.object)

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        called = (self.verb, self.resource, self.namespace, self.name, self.subresource)
        return *called, self.patch, self.patch_type, self.command

    @classmethod
    def of(cls, verb: str, obj: ApiObject, *, subresource: str = "") -> "Action":
        """Return the action that submits `obj` (create, update), or that concerns it (any other verb)."""
        meta = obj.metadata
        return cls(
            verb=verb,
            resource=api_of(type(obj)).gvr,
            namespace=meta.namespace,
            name=meta.name,
            subresource=subresource,
            object=obj if verb in _WITH_OBJECT else None,
        )

    @property
    def label_selector(self) -> str:
        """Label selector of a list, watch or deletecollection."""
        return self.options.get("labelSelector", "")

    @property
    def field_selector(self) -> str:
        """Field selector of a list, watch or deletecollection."""
        return self.options.get("fieldSelector", "")

    @property
    def field_manager(self) -> str:
        """Field manager of the call, or ""."""
        return self.options.get("fieldManager", "")

    @property
    def dry_run(self) -> bool:
        """True if the call is a dry run."""
        return "dryRun" in self.options

    @property
    def is_write(self) -> bool:
        """True if the verb writes."""
        return self.verb not in READS

    @property
    def patch_value(self) -> Any:
        """The decoded patch; None without a patch."""
        return msgspec.json.decode(self.patch) if self.patch else None

    def matches(self, verb: str, resource: str) -> bool:
        """Return whether a reactor for `verb` and `resource` handles this action.

        "*" matches any. `pods` includes its subresources, `pods/status` is only that subresource; the verb `patch`
        includes server-side apply.
        """
        plural = self.resource.resource
        if verb not in ("*", self.verb) and not (verb == "patch" and self.verb in _PATCHES):
            return False
        return resource in ("*", plural) or (bool(self.subresource) and resource == f"{plural}/{self.subresource}")

    def __str__(self) -> str:
        what = f"{self.resource.resource}/{self.subresource}" if self.subresource else self.resource.resource
        return f"{self.verb} {what} {ObjectName(self.namespace, self.name)}".rstrip()


def action_of(request: Request, scheme: Scheme) -> Action:
    """Return the action of a request, with its object decoded to the scheme's class."""
    body = request.body or b""
    submitted = _decoded(body, scheme) if request.verb in _WITH_OBJECT and body else None
    patches = request.verb in _PATCHES
    deletes = request.verb in ("delete", "deletecollection")
    return Action(
        verb=request.verb,
        resource=request.resource,
        namespace=request.namespace,
        name=request.name or _own_name(submitted),
        subresource=request.subresource,
        object=submitted,
        body=body if hasattr(type(submitted), "__api_type__") else b"",
        patch=body if patches else b"",
        patch_type=request.content_type if patches else "",
        command=tuple(value for name, value in request.repeated if name == "command"),
        options=request.query,
        delete_options=msgspec.json.decode(body, type=dict[str, Any]) if deletes and body else EMPTY_MAP,
        kind=request.kind,
    )


def changed_request(request: Request, recorded: Action, action: Action) -> Request:
    """Return the request of an action that a reactor has made of the recorded one."""
    body = request.body
    if action.object is not recorded.object:
        body = encode_value(_submitted(action))
    elif action.patch != recorded.patch:
        body = action.patch
    elif action.delete_options != recorded.delete_options:
        body = encode_value(dict(action.delete_options))
    return msgspec.structs.replace(
        request,
        verb=action.verb,
        resource=action.resource,
        namespace=action.namespace,
        name=action.name if action.name != recorded.name else request.name,
        subresource=action.subresource,
        query=action.options,
        body=body,
        content_type=action.patch_type or request.content_type,
    )


def _submitted(action: Action) -> Any:
    """Return the JSON of the object of an action: as it was sent, but for what a reactor has changed."""
    obj: Any = action.object
    if not hasattr(type(obj), "__api_type__"):
        return obj
    sent = msgspec.json.decode(action.body) if action.body else {}
    if sent.get("kind") != api_of(type(obj)).kind:
        return to_dict(obj)
    return changed(sent, decode(type(obj), action.body), obj)


def _decoded(body: bytes, scheme: Scheme) -> Any:
    try:
        plain = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return body  # recorded as sent; the server rejects it
    if not isinstance(plain, dict):
        return plain
    group, _, version = str(plain.get("apiVersion", "")).rpartition("/")
    cls = scheme.class_of(GroupVersionKind(group, version, str(plain.get("kind", ""))))
    if cls is None:
        return plain
    try:
        return decode(cls, body)
    except Undecodable:
        # A test may submit an invalid object on purpose; it is recorded as sent.
        return plain


def _own_name(submitted: Any) -> str:
    if isinstance(submitted, dict):
        meta = submitted.get("metadata")
        return str(meta.get("name", "")) if isinstance(meta, dict) else ""
    return str(getattr(getattr(submitted, "metadata", None), "name", ""))
