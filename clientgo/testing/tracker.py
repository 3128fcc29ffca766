"""Object tracker: objects in memory that answer like an API server, as far as tests of clients need it.

Names are unique, absent objects are NotFound, and lists have a version from which a watch continues without a gap. As
in client-go's tracker there is no defaulting, validation or garbage collection; a status update is a full update, and
objects keep the resourceVersion they were given. A tracker with `versioned=True` sets resourceVersions and uids, and
rejects stale updates with a Conflict. With `lifecycle=True` the status is written only through its subresource, the
generation counts the other changes, and finalizers delay deletion.

Every change is kept in order. A watch is a cursor into that order, not a buffer, so an unread watch costs nothing and
no watch can overflow or lose an event.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import AlreadyExists, BadRequest, Conflict, InternalError, Invalid, NotFound, StatusDetails
from clientgo.meta.codec import ObjectList, encode_value, to_dict
from clientgo.meta.jsonvalues import same
from clientgo.meta.objects import GroupVersionKind, GroupVersionResource
from clientgo.meta.readonly import read_only
from clientgo.meta.scheme import Scheme, api_of, check_namespace, plural_of
from clientgo.testing.changes import EVERYTHING, Change, ChangeLog, Selection, TrackerWatch
from clientgo.testing.lifecycle import created, has_finalizers, is_deleting, mark_deleted, updated

Object = dict[str, Any]
Name = tuple[str, str]


class Tracker:
    """Objects of any kind by resource, namespace and name; thread-safe.

    Returned objects are the stored ones and read-only; objects that are passed in are copied.
    """

    def __init__(
        self,
        *objects: object,
        scheme: Scheme | None = None,
        clock: Clock = SYSTEM_CLOCK,
        versioned: bool = False,
        lifecycle: bool = False,
    ) -> None:
        self._scheme = scheme if scheme is not None else Scheme()
        self.clock = clock
        self.lifecycle = lifecycle
        """Whether the status is a separate subresource and finalizers delay deletion."""
        self.versioned = versioned
        """Whether it sets resourceVersions and uids, and rejects stale updates."""
        self._changed = threading.Condition()
        self._version = 1
        self._generated = 0
        self._uids = 0
        self._objects: dict[GroupVersionResource, dict[Name, Object]] = {}
        self._logs: dict[GroupVersionResource, ChangeLog] = {}
        for obj in objects:
            self.add(obj)

    def __repr__(self) -> str:
        with self._changed:
            return f"<Tracker {sum(map(len, self._objects.values()))} objects, version {self._version}>"

    @property
    def version(self) -> int:
        """Version that lists report: 1 at first, incremented by every change."""
        with self._changed:
            return self._version

    def add(self, obj: object) -> None:
        """Store `obj`, or every item if it is a list; an object of the same name is replaced.

        The resource is that of its class; for a dict of an unknown kind it is the English plural.

        Raises:
            ValueError: a dict without apiVersion and kind, or with a value that has no JSON form; a namespace of a
                cluster-scoped object.
        """
        items = _items(obj)
        if items is not None:
            for item in items:
                self.add(item)
            return
        plain: Object = msgspec.json.decode(encode_value(obj)) if isinstance(obj, Mapping) else to_dict(obj)
        gvr = self._resource_of(obj, plain)
        namespace = str((plain.get("metadata") or {}).get("namespace", ""))
        cls = self.class_for(gvr)
        if cls is not None:
            check_namespace(api_of(cls), namespace)
        named = _named(plain, namespace)
        if self.lifecycle and not named["metadata"].get("generation") and self.has_status(named):
            named = _with_meta(named, generation=1)
        with self._changed:
            self._put(gvr, named)

    def get(self, gvr: GroupVersionResource, namespace: str, name: str) -> Object:
        """Return the object of that namespace and name.

        Raises:
            NotFound: it does not exist.
        """
        with self._changed:
            return self._present(gvr, (namespace, name))

    def list(
        self, gvr: GroupVersionResource, selection: Selection = EVERYTHING, *, version: int | None = None
    ) -> tuple[list[Object], str]:
        """Return the selected objects, sorted by namespace and name, and the version: the current or a past one."""
        with self._changed:
            version = self._version if version is None else version
            present = dict(self._objects.get(gvr, {}))
            for change in self._log(gvr).since(version):
                present.update({_name_of(obj): obj for obj in (change.old,) if obj is not None})
                if change.old is None and change.new is not None:
                    present.pop(_name_of(change.new), None)
            return [obj for _, obj in sorted(present.items()) if selection.matches(obj)], str(version)

    def create(self, gvr: GroupVersionResource, obj: Object, namespace: str, *, dry_run: bool = False) -> Object:
        """Store a new object and return it; a `generateName` is completed.

        Raises:
            AlreadyExists: an object of that name exists.
            BadRequest: its namespace differs.
            InternalError: the tracker is versioned, and it has a resourceVersion.
            Invalid: it has neither a name nor a generateName.
        """
        obj = _named(obj, namespace)
        if self.versioned and obj["metadata"].get("resourceVersion"):
            raise InternalError("resourceVersion should not be set on objects to be created")
        if self.versioned:
            obj = _without_meta(obj, "uid")
        with self._changed:
            if not obj["metadata"].get("name") and obj["metadata"].get("generateName"):
                self._generated += 1
                obj = _with_meta(obj, name=f"{obj['metadata']['generateName']}{self._generated:05d}")
            name = _name_of(obj)
            if not name[1]:
                rule = "metadata.name: Required value: name or generateName is required"
                raise Invalid(f'{obj.get("kind") or gvr.resource} "" is invalid: {rule}')
            if name in self._objects.get(gvr, {}):
                raise AlreadyExists(f'{gvr.group_resource} "{name[1]}" already exists', details=_details(gvr, name[1]))
            if self.lifecycle:
                obj = created(obj, self.clock.time(), has_status=self.has_status(obj))
            if dry_run:
                return _without_meta(self._stamped(None, obj), "resourceVersion") if self.versioned else obj
            return self._put(gvr, obj)

    def update(self, gvr: GroupVersionResource, obj: Object, namespace: str, *, dry_run: bool = False) -> Object:
        """Replace the object of that name and return it as stored.

        Raises:
            NotFound: it does not exist.
            Conflict: the tracker is versioned, and `obj` has another resourceVersion.
            BadRequest: its namespace differs.
        """
        obj = _named(obj, namespace)
        _, name = _name_of(obj)
        return self.change(gvr, namespace, name, lambda _: obj, dry_run=dry_run)

    def change(
        self,
        gvr: GroupVersionResource,
        namespace: str,
        name: str,
        change: Callable[[Object], Object],
        *,
        dry_run: bool = False,
    ) -> Object:
        """Replace the object by the result of the pure function `change`, atomically.

        Raises:
            NotFound, Conflict, BadRequest: as for `update`.
            Exception: raised by `change`.
        """
        with self._changed:
            old = self._present(gvr, (namespace, name))
            obj = _named(change(old), namespace)
            if _name_of(obj)[1] != name:
                raise BadRequest(
                    f"the name of the object ({_name_of(obj)[1]}) does not match the name on the URL ({name})"
                )
            if self.lifecycle:
                obj = updated(old, obj, has_status=self.has_status(old))
            if self.versioned:
                _check_version(gvr, old, obj)
                _check_preconditions(gvr, old, {"uid": obj["metadata"].get("uid")})
                if _same(old, obj):
                    return old
            if self.versioned:
                identity = {key: old["metadata"][key] for key in ("resourceVersion", "uid") if key in old["metadata"]}
                obj = _with_meta(obj, **identity)
            if dry_run:
                return obj
            if self.lifecycle and is_deleting(obj) and not has_finalizers(obj):
                self._drop(gvr, old)
                return obj
            return self._put(gvr, obj)

    def delete(
        self,
        gvr: GroupVersionResource,
        namespace: str,
        name: str,
        *,
        preconditions: Mapping[str, Any] | None = None,
        dry_run: bool = False,
    ) -> Object:
        """Delete the object and return its last state; with `lifecycle`, one with finalizers is only marked.

        Raises:
            NotFound: it does not exist.
            Conflict: the `preconditions` (uid, resourceVersion) do not hold.
        """
        with self._changed:
            old = self._present(gvr, (namespace, name))
            _check_preconditions(gvr, old, preconditions or {})
            if self.lifecycle and has_finalizers(old):
                marked = old if is_deleting(old) else mark_deleted(old, self.clock.time())
                return marked if dry_run or marked is old else self._put(gvr, marked)
            return old if dry_run else self._drop(gvr, old)

    def watch(
        self,
        gvr: GroupVersionResource,
        selection: Selection = EVERYTHING,
        *,
        resource_version: str = "",
        timeout: float = 0.0,
        bookmarks: bool = False,
    ) -> TrackerWatch:
        """Watch the changes after `resource_version`; without one ("" or "0"), send the existing objects first.

        It ends after `timeout` seconds of the clock, if not 0, with a bookmark if requested.

        Raises:
            BadRequest: `resource_version` is not a number.
        """
        if resource_version and not resource_version.isdigit():
            raise BadRequest(f"invalid resource version {resource_version!r}: expected a number")
        first, now = self.list(gvr, selection)
        live = resource_version in ("", "0")
        with self._changed:
            return TrackerWatch(
                self._log(gvr),
                selection,
                first if live else [],
                after=int(now if live else resource_version),
                timeout=timeout,
                bookmarks=bookmarks,
            )

    def class_of(self, obj: Object) -> type | None:
        """Return the class that the scheme has for an object's kind, or None."""
        group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
        return self._scheme.class_of(GroupVersionKind(group, version, str(obj.get("kind", ""))))

    def class_for(self, gvr: GroupVersionResource) -> type | None:
        """Return the class that the scheme has for a resource, or None."""
        classes = map(self._scheme.class_of, self._scheme.kinds())
        return next((cls for cls in classes if cls is not None and api_of(cls).gvr == gvr), None)

    def has_status(self, obj: Object, *, unknown: bool = False) -> bool:
        """Return whether the object's kind has a status subresource; `unknown` if its class is not known."""
        cls = self.class_of(obj)
        return unknown if cls is None else api_of(cls).status

    def _resource_of(self, obj: object, plain: Object) -> GroupVersionResource:
        if not isinstance(obj, Mapping):
            return api_of(type(obj)).gvr
        kind, api_version = str(plain.get("kind", "")), str(plain.get("apiVersion", ""))
        if not kind or not api_version:
            raise ValueError("an object given as a dict must have apiVersion and kind")
        group, _, version = api_version.rpartition("/")
        cls = self.class_of(plain)
        return api_of(cls).gvr if cls is not None else GroupVersionResource(group, version, plural_of(kind.lower()))

    def _present(self, gvr: GroupVersionResource, name: Name) -> Object:
        obj = self._objects.get(gvr, {}).get(name)
        if obj is None:
            raise NotFound(f'{gvr.group_resource} "{name[1]}" not found', details=_details(gvr, name[1]))
        return obj

    def _put(self, gvr: GroupVersionResource, obj: Object) -> Object:
        name = _name_of(obj)
        objects = self._objects.setdefault(gvr, {})
        old = objects.get(name)
        if self.versioned:
            obj = self._stamped(old, obj)
        obj = read_only(obj)
        objects[name] = obj
        self._record(gvr, Change(self._version + 1, old, obj))
        return obj

    def _drop(self, gvr: GroupVersionResource, old: Object) -> Object:
        del self._objects[gvr][_name_of(old)]
        last, version = old, self._version + 1
        if self.versioned:  # the deletion is a change with a version of its own
            last = read_only(_with_meta(old, resourceVersion=str(version)))
        self._record(gvr, Change(version, old, None, last))
        return last

    def _stamped(self, old: Object | None, obj: Object) -> Object:
        existing_uid = old["metadata"].get("uid", "") if old is not None else ""
        self._uids += 1
        uid = existing_uid or obj["metadata"].get("uid") or f"00000000-0000-4000-8000-{self._uids:012d}"
        return _with_meta(obj, resourceVersion=str(self._version + 1), uid=uid)

    def _record(self, gvr: GroupVersionResource, change: Change) -> None:
        self._version = change.version
        self._log(gvr).append(change)
        self._changed.notify_all()

    def _log(self, gvr: GroupVersionResource) -> ChangeLog:
        return self._logs.setdefault(gvr, ChangeLog(self._changed, self.clock))


def _items(obj: object) -> Iterable[object] | None:
    if isinstance(obj, ObjectList):
        return list(obj.items)
    if isinstance(obj, Mapping) and str(obj.get("kind", "")).endswith("List") and isinstance(obj.get("items"), list):
        return list(obj["items"])
    return None


def _named(obj: Object, namespace: str) -> Object:
    meta = dict(obj.get("metadata") or {})
    own_namespace = meta.get("namespace", "")
    if own_namespace and own_namespace != namespace:
        raise BadRequest(
            f'request namespace does not match object namespace, request: "{namespace}" object: "{own_namespace}"'
        )
    if namespace:
        meta["namespace"] = namespace
    # Empty metadata is absent metadata, of every kind.
    return {**obj, "metadata": {key: value for key, value in meta.items() if value or value == 0}}


def _name_of(obj: Object) -> Name:
    return obj["metadata"].get("namespace", ""), obj["metadata"].get("name", "")


def _with_meta(obj: Object, **changes: object) -> Object:
    return {**obj, "metadata": {**obj["metadata"], **changes}}


def _without_meta(obj: Object, name: str) -> Object:
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key != name}}


def _same(old: Object, new: Object) -> bool:
    # As on a server, a write that changes nothing keeps version and uid.
    identity = {key: old["metadata"][key] for key in ("resourceVersion", "uid") if key in old["metadata"]}
    return same(_with_meta(new, **identity), old)


def _details(gvr: GroupVersionResource, name: str) -> StatusDetails:
    # A Status has the resource in its field `kind`.
    return StatusDetails(name=name, group=gvr.group, kind=gvr.resource)


def _check_version(gvr: GroupVersionResource, old: Object, new: Object) -> None:
    requested = new["metadata"].get("resourceVersion", "")
    if requested and requested != old["metadata"].get("resourceVersion"):
        raise _conflict(
            gvr, old, "the object has been modified; please apply your changes to the latest version and try again"
        )


def _check_preconditions(gvr: GroupVersionResource, old: Object, preconditions: Mapping[str, Any]) -> None:
    for field, label in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        current = old["metadata"].get(field, "")
        if preconditions.get(field) and preconditions[field] != current:
            what = f"{label} in precondition: {preconditions[field]}, {label} in object meta: {current}"
            raise _conflict(gvr, old, f"Precondition failed: {what}")


def _conflict(gvr: GroupVersionResource, old: Object, reason: str) -> Conflict:
    name = old["metadata"].get("name", "")
    return Conflict(
        f'Operation cannot be fulfilled on {gvr.group_resource} "{name}": {reason}', details=_details(gvr, name)
    )
