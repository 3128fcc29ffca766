"""Answers of the tracker to each verb: the last reactor of every fake."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import msgspec

from clientgo.errors import BadRequest, InternalError, Invalid, MethodNotAllowed, NotFound, UnsupportedMediaType
from clientgo.meta.apply.fieldsets import MergeRules
from clientgo.meta.apply.typerules import rules_of
from clientgo.meta.codec import decode, encode_value, to_dict
from clientgo.meta.jsonvalues import same
from clientgo.meta.patches import InvalidDirective, PatchError, UnmergeablePatch, jsonpatch, mergepatch, strategic
from clientgo.meta.patches.overlay import changed
from clientgo.meta.scheme import api_of
from clientgo.meta.typemeta import type_meta
from clientgo.rest.request import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from clientgo.testing.actions import Action
from clientgo.testing.apply import Writer, applied, updated
from clientgo.testing.changes import select
from clientgo.testing.lifecycle import apply_subresource_rules, has_finalizers
from clientgo.testing.pages import read_page
from clientgo.testing.tracker import Object, Tracker
from clientgo.testing.writechecks import WriteCheck, known_subresources

_UNSUPPORTED = frozenset(("binding", "exec", "log", "attach", "portforward", "proxy", "token"))
"""Subresources that are not a view of their object, so that a tracker cannot answer requests for them."""


def answer(tracker: Tracker, action: Action) -> Object:
    """Perform the action on the tracker and return the response.

    Raises:
        ApiError: a server would reject the request.
        MethodNotAllowed: the subresource needs a reactor.
    """
    if (action.verb, action.subresource) == ("create", "eviction"):
        return _evict(tracker, action)
    if action.subresource in _UNSUPPORTED or (action.subresource and action.verb in ("create", "delete", "list")):
        raise not_supported(action)
    if action.subresource == "scale":
        return _scale(tracker, action)
    return _ANSWERS[action.verb](tracker, action)


def not_supported(action: Action) -> MethodNotAllowed:
    """Return the error for a subresource that the tracker does not support."""
    what = f"{action.resource.resource}/{action.subresource}"
    return MethodNotAllowed(f"the fake does not support {what}: prepend a reactor that handles it")


def _get(tracker: Tracker, action: Action) -> Object:
    _check(tracker, action)
    obj = tracker.get(action.resource, action.namespace, action.name)
    _check_status(tracker, action, obj)
    return obj


def _list(tracker: Tracker, action: Action) -> Object:
    chosen = select(action.namespace, action.label_selector, action.field_selector)
    page = read_page(action.options.get("limit", ""), action.options.get("continue", ""))
    items, version = tracker.list(action.resource, chosen, version=page.version)
    items, metadata = page.of(items, version, counted=not (action.label_selector or action.field_selector))
    action = replace(action, kind=action.kind or _kind(tracker, action))
    return list_of(action, items, metadata)


def _kind(tracker: Tracker, action: Action) -> str:
    cls = tracker.class_for(action.resource)
    return "" if cls is None else api_of(cls).kind


def _check(tracker: Tracker, action: Action) -> WriteCheck:
    if action.options.get("dryRun", "All") != "All":
        raise Invalid(f'dryRun: Unsupported value: ["{action.options["dryRun"]}"]: supported values: "All"')
    cls = tracker.class_for(action.resource)
    if cls is not None and (
        action.subresource not in known_subresources(cls) or (action.namespace and not api_of(cls).namespaced)
    ):
        raise NotFound("the server could not find the requested resource")
    return WriteCheck(action.resource, cls, action.subresource, versioned=tracker.versioned)


def list_of(action: Action, items: Sequence[Any], metadata: object) -> Object:
    """Return the list with these items that answers the action."""
    # The items of a subresource may be of another kind.
    first = type_meta(encode_value(items[0])) if items else None
    return {
        "apiVersion": action.resource.api_version,
        "kind": f"{(first.kind if first is not None else '') or action.kind}List",
        "metadata": metadata,
        "items": items,
    }


def _create(tracker: Tracker, action: Action) -> Object:
    obj = _check(tracker, action).submitted(_submitted(action))
    return tracker.create(action.resource, obj, action.namespace, dry_run=action.dry_run)


def _update(tracker: Tracker, action: Action) -> Object:
    check = _check(tracker, action)
    obj = check.submitted(_submitted(action))
    check.has_version(obj)
    return _changed(tracker, action, lambda _: obj)


def _patch(tracker: Tracker, action: Action) -> Object:
    check = _check(tracker, action)
    check.patch_type(action.patch_type)

    def change(old: Object) -> Object:
        new = patched(old, action, _rules(tracker, old))
        if action.patch_type == STRATEGIC_PATCH and isinstance(new, dict):  # which merges fields of the kind only
            new = {**new, **{field: old[field] for field in ("kind", "apiVersion") if field in old}}
        return check.patched(old, new, action.name)

    return _changed(tracker, action, change)


def _changed(tracker: Tracker, action: Action, change: Callable[[Object], Object]) -> Object:
    def owned(old: Object) -> Object:
        new = change(old)
        _check_status(tracker, action, old)
        if tracker.lifecycle and tracker.has_status(old):
            new = apply_subresource_rules(old, new, action.subresource)
        return updated(old, new, _writer(tracker, action, old))

    return tracker.change(action.resource, action.namespace, action.name, owned, dry_run=action.dry_run)


def _apply(tracker: Tracker, action: Action) -> Object:
    check = _check(tracker, action)

    def merged(live: Object) -> Object:
        config = check.applied(live, _read(action), action.name)
        _check_status(tracker, action, config)
        if tracker.lifecycle and not action.subresource and tracker.has_status(config):
            config = {key: value for key, value in config.items() if key != "status"}
        return applied(live, config, _writer(tracker, action, config), force="force" in action.options)

    try:
        return tracker.change(action.resource, action.namespace, action.name, merged, dry_run=action.dry_run)
    except NotFound:
        if action.subresource:
            raise
        obj = merged({})
        meta = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
        return tracker.create(action.resource, {**obj, "metadata": meta}, action.namespace, dry_run=action.dry_run)


def _check_status(tracker: Tracker, action: Action, obj: Object) -> None:
    if tracker.lifecycle and action.subresource == "status" and not tracker.has_status(obj, unknown=True):
        raise NotFound(f"{obj.get('kind', '')} has no status subresource: its class is marked with status=False")


def _writer(tracker: Tracker, action: Action, obj: Object) -> Writer:
    at, rules = tracker.clock.time(), _rules(tracker, obj)
    return Writer(manager=action.field_manager, at=at, rules=rules, subresource=action.subresource)


def _rules(tracker: Tracker, obj: Object) -> MergeRules:
    return rules_of(tracker.class_of(obj), str(obj.get("kind", "")))


def _delete(tracker: Tracker, action: Action) -> Object:
    preconditions = action.delete_options.get("preconditions")
    last = tracker.delete(
        action.resource, action.namespace, action.name, preconditions=preconditions, dry_run=_is_dry_run(action)
    )
    if tracker.lifecycle and has_finalizers(last):
        return last
    gvr, uid = action.resource, last["metadata"].get("uid")
    details = {"name": action.name, "group": gvr.group, "kind": gvr.resource, "uid": uid}
    return {**SUCCESS, "details": {name: value for name, value in details.items() if value}}


def _evict(tracker: Tracker, action: Action) -> Object:
    """Delete the pod: there are no disruption budgets here, which would be asked first."""
    preconditions = (_submitted(action).get("deleteOptions") or {}).get("preconditions")
    tracker.delete(
        action.resource, action.namespace, action.name, preconditions=preconditions, dry_run=_is_dry_run(action)
    )
    return SUCCESS


def _delete_collection(tracker: Tracker, action: Action) -> Object:
    items, _ = tracker.list(action.resource, select(action.namespace, action.label_selector, action.field_selector))
    for item in items:
        meta = item["metadata"]
        # Another thread may have deleted it already.
        with suppress(NotFound):
            tracker.delete(action.resource, meta.get("namespace", ""), meta["name"], dry_run=_is_dry_run(action))
    return list_of(action, items, {})


def _is_dry_run(action: Action) -> bool:
    return action.dry_run or bool(action.delete_options.get("dryRun"))


def _scale(tracker: Tracker, action: Action) -> Object:
    if action.verb not in ("get", "update", "patch"):
        raise MethodNotAllowed(f"{action.resource.resource}/scale does not support {action.verb}")
    if action.verb == "get":
        return _scale_of(tracker.get(action.resource, action.namespace, action.name))

    def scaled(obj: Object) -> Object:
        rules = rules_of(None, "Scale")
        requested = dict(_submitted(action)) if action.verb == "update" else patched(_scale_of(obj), action, rules)
        meta, version = obj["metadata"], requested.get("metadata", {}).get("resourceVersion")
        replicas = requested.get("spec", {}).get("replicas", 0)
        return {
            **obj,
            "metadata": {**meta, "resourceVersion": version} if version else meta,
            "spec": {**obj.get("spec", {}), "replicas": replicas},
        }

    return _scale_of(_changed(tracker, action, scaled))


_SCALE_META = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def _scale_of(obj: Object) -> Object:
    meta = obj["metadata"]
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {k: meta[k] for k in _SCALE_META if k in meta},
        "spec": {"replicas": obj.get("spec", {}).get("replicas", 0)},
        "status": {"replicas": obj.get("status", {}).get("replicas", 0)},
    }


def _submitted(action: Action) -> Any:
    """Return the JSON that was sent: of an object, unless it was something else."""
    obj: Any = action.object
    if not hasattr(type(obj), "__api_type__"):
        return dict(obj) if isinstance(obj, Mapping) else obj
    sent = msgspec.json.decode(action.body) if action.body else {}
    if sent.get("kind") != api_of(type(obj)).kind:
        return to_dict(obj)
    before = decode(type(obj), action.body)
    # A reactor may have changed the object.
    return sent if same(before, obj) else changed(sent, before, obj)


def patched(old: Object, action: Action, rules: MergeRules) -> Object:
    """Return `old` with the action's patch applied; `rules` are the merge rules of its kind.

    Raises:
        BadRequest: the patch is not JSON, or has a malformed directive.
        Invalid: the patch cannot be applied to `old`.
        InternalError: a strategic patch contradicts the rules of the kind, or itself.
        UnsupportedMediaType: unknown patch type.
    """
    apply = _PATCHES.get(action.patch_type)
    if apply is None:
        raise UnsupportedMediaType(f"the body of the request was in an unknown format: {action.patch_type}")
    patch = _read(action)
    expected = list if action.patch_type == JSON_PATCH else dict
    if not isinstance(patch, expected) or (
        expected is list and not all(isinstance(operation, dict) for operation in patch)
    ):
        raise BadRequest(
            f"error decoding patch: expected {'a list of operations' if expected is list else 'an object'}"
        )
    try:
        new: Object = apply(old, patch, rules)
    except InvalidDirective as error:
        raise BadRequest(str(error)) from error
    except UnmergeablePatch as error:
        raise InternalError(str(error)) from error
    except PatchError as error:
        raise Invalid(f"the server rejected our request due to an error in our request: {error}") from error
    return new


def _read(action: Action) -> Any:
    try:
        return action.patch_value
    except msgspec.DecodeError as error:
        raise BadRequest(f"invalid patch: {error}") from error


_PATCHES: Mapping[str, Callable[[Any, Any, MergeRules], Any]] = {
    JSON_PATCH: lambda old, patch, _: jsonpatch.apply(old, patch),
    MERGE_PATCH: lambda old, patch, _: mergepatch.apply(old, patch),
    STRATEGIC_PATCH: strategic.apply,
}

SUCCESS: Object = {"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Success"}
"""Response to a deletion, without its details."""

_ANSWERS: Mapping[str, Callable[[Tracker, Action], Object]] = {
    "get": _get, "list": _list, "create": _create, "update": _update, "patch": _patch, "apply": _apply,
    "delete": _delete, "deletecollection": _delete_collection,
}  # fmt: skip
