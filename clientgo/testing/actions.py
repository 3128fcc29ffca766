"""What a client asked of a fake, as a value that a test can compare and a reactor can read.

`Action.of("update", foo, subresource="status")` is what a test expects; the fake records the same for a call. Two
actions are equal when they do the same to the same object: options (who writes, selectors) are kept and not compared.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from clientgo.meta.codec import Undecodable, decode
from clientgo.meta.names import ObjectName
from clientgo.meta.objects import EMPTY_MAP, ApiObject, GroupVersionKind, GroupVersionResource
from clientgo.meta.scheme import Scheme, api_of
from clientgo.rest.request import Request

READS = frozenset(("get", "list", "watch"))
"""The verbs that change nothing."""

_PATCHES = frozenset(("patch", "apply"))
_WITH_OBJECT = frozenset(("create", "update"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One call: verb, what it was about, and what was submitted.

    `object` is the object of a create or update as it was submitted: of the class the scheme knows for it, else a dict.
    `patch` and `patch_type` are the bytes and the media type of a patch or apply. `options` holds the query parameters
    in the API's names; `delete_options` the body of a deletion.
    """

    verb: str
    resource: GroupVersionResource
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    object: Any = None
    patch: bytes = b""
    patch_type: str = ""
    options: Mapping[str, str] = field(default=EMPTY_MAP, compare=False)
    delete_options: Mapping[str, Any] = field(default=EMPTY_MAP, compare=False)

    @classmethod
    def of(cls, verb: str, obj: ApiObject, *, subresource: str = "") -> "Action":
        """The action that submits `obj` (create, update), or that is about it (any other verb)."""
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
        """The label selector of a list, watch or collection's deletion."""
        return self.options.get("labelSelector", "")

    @property
    def field_selector(self) -> str:
        """The field selector of a list, watch or collection's deletion."""
        return self.options.get("fieldSelector", "")

    @property
    def field_manager(self) -> str:
        """Who writes, if the call said so."""
        return self.options.get("fieldManager", "")

    @property
    def dry_run(self) -> bool:
        """Whether the call was a rehearsal."""
        return "dryRun" in self.options

    @property
    def is_write(self) -> bool:
        """Whether the verb changes something."""
        return self.verb not in READS

    @property
    def patch_value(self) -> Any:
        """The patch read as JSON; None without a patch."""
        return msgspec.json.decode(self.patch) if self.patch else None

    def matches(self, verb: str, resource: str) -> bool:
        """Whether a reactor for `verb` and `resource` is meant.

        "*" means any. `pods` covers the resource and its subresources, `pods/status` that subresource alone; the verb
        `patch` covers server-side apply too, which is a patch to the server.
        """
        return _verb_covers(verb, self.verb) and _resource_covers(resource, self)

    def __str__(self) -> str:
        what = f"{self.resource.resource}/{self.subresource}" if self.subresource else self.resource.resource
        return f"{self.verb} {what} {ObjectName(self.namespace, self.name)}".rstrip()


def _verb_covers(pattern: str, verb: str) -> bool:
    return pattern in ("*", verb) or (pattern == "patch" and verb in _PATCHES)


def _resource_covers(pattern: str, action: Action) -> bool:
    resource = action.resource.resource
    if pattern in ("*", resource):
        return True
    return bool(action.subresource) and pattern == f"{resource}/{action.subresource}"


def action_of(request: Request, scheme: Scheme) -> Action:
    """The action a request stands for; its object is decoded with the scheme's classes."""
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
        patch=body if patches else b"",
        patch_type=request.content_type if patches else "",
        options=request.query,
        delete_options=msgspec.json.decode(body, type=dict[str, Any]) if deletes and body else EMPTY_MAP,
    )


def _decoded(body: bytes, scheme: Scheme) -> Any:
    plain: dict[str, Any] = msgspec.json.decode(body)
    group, _, version = str(plain.get("apiVersion", "")).rpartition("/")
    cls = scheme.class_of(GroupVersionKind(group, version, str(plain.get("kind", ""))))
    if cls is None:
        return plain
    try:
        return decode(cls, body)
    except Undecodable:
        # A test may submit what the class can't hold on purpose; it is recorded as it was sent.
        return plain


def _own_name(submitted: Any) -> str:
    if submitted is None:
        return ""
    if isinstance(submitted, dict):
        return str((submitted.get("metadata") or {}).get("name", ""))
    return str(submitted.metadata.name)
