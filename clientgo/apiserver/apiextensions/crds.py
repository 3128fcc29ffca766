"""Controller of CustomResourceDefinitions: accepts names, serves the kinds, and deletes their objects with them.

A definition becomes Established right after the response to its creation, so a client that waits for the condition, as
it must on a real cluster, waits one turn of the loop.
"""

from clientgo.apiserver.apiextensions.conversion import converter_of
from clientgo.apiserver.apiextensions.crdschema import served_resources
from clientgo.apiserver.controllers.base import InternalController, conditions_of
from clientgo.apiserver.internal import Internal
from clientgo.apiserver.registry.registry import Object, Resource
from clientgo.apiserver.storage.stored import Key

KEY: Key = ("apiextensions.k8s.io", "customresourcedefinitions")
FINALIZER = "customresourcecleanup.apiextensions.k8s.io"


class DefinitionController(InternalController):
    """Keeps the registry in sync with the stored definitions."""

    def __init__(self, internal: Internal) -> None:
        super().__init__(internal)
        self._served: dict[str, list[Resource]] = {}

    def start(self) -> None:
        """Serve the stored definitions, and react to every change from now on."""
        super().start()
        for definition in self._store.list(KEY):
            self._sync(definition["metadata"]["name"])

    def _sync(self, *names: str) -> None:
        (name,) = names
        definition = self._store.get(KEY, "", name)
        if definition is None:
            self._serve(name, [])
        elif "deletionTimestamp" in definition["metadata"]:
            self._finalize(definition)
        else:
            self._accept(definition)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key == KEY:
            self._schedule((new or old or {})["metadata"]["name"])
        elif new is None and old is not None and key in self._terminating():
            self._schedule(f"{key[1]}.{key[0]}")

    def _terminating(self) -> list[Key]:
        """Return the keys of definitions that wait for their last object to be deleted."""
        return [
            (definition["spec"]["group"], definition["spec"]["names"]["plural"])
            for definition in self._store.list(KEY)
            if "deletionTimestamp" in definition["metadata"]
        ]

    def _accept(self, definition: Object) -> None:
        taken = self._taken_name(definition)
        names = definition["spec"]["names"]
        converter = converter_of(definition, self._state.options.webhook_services)
        self._serve(definition["metadata"]["name"], [] if taken else served_resources(definition, converter))
        if taken:
            conditions = [
                ("NamesAccepted", "False", f"{taken[0]}Conflict", f'"{taken[1]}" is already in use'),
                ("Established", "False", "NotAccepted", "not all names are accepted"),
            ]
        else:
            conditions = [
                ("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
                ("Established", "True", "InitialNamesAccepted", "the initial names have been accepted"),
            ]
        status = definition.get("status") or {}
        status = {
            **status,
            "acceptedNames": {"plural": "", "kind": ""} if taken else names,
            "conditions": _merged_conditions(conditions_of(definition), conditions, self._now()),
            "storedVersions": _stored_versions(definition),
        }
        finalizers = definition["metadata"].get("finalizers", [])
        self._put(definition, finalizers if FINALIZER in finalizers else [*finalizers, FINALIZER], status)

    def _taken_name(self, definition: Object) -> tuple[str, str] | None:
        """Return the name conflict with another definition of the group, as (kind of name, name), or None."""
        spec = definition["spec"]
        for other in self._state.registry.resources():
            if other.definition == definition["metadata"]["name"] or other.group != spec["group"]:
                continue
            if other.kind in (spec["names"]["kind"], spec["names"]["listKind"]):
                return ("Kind", other.kind)
            if other.plural == spec["names"]["plural"]:
                return ("Plural", other.plural)
            for short in spec["names"].get("shortNames") or ():
                if short in (*other.short_names, other.plural, other.singular):
                    return ("ShortNames", short)
        return None

    def _finalize(self, definition: Object) -> None:
        spec, status = definition["spec"], definition.get("status") or {}
        empty = self._delete_all((spec["group"], spec["names"]["plural"]))
        kept = [one for one in definition["metadata"].get("finalizers", []) if one != FINALIZER or not empty]
        if not kept:
            self._store.remove(KEY, "", definition["metadata"]["name"])
            return
        condition = ("Terminating", "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
        conditions = _merged_conditions(conditions_of(definition), [condition], self._now())
        self._put(definition, kept, {**status, "conditions": conditions})

    def _put(self, definition: Object, finalizers: list[str], status: Object) -> None:
        wanted = {**definition, "metadata": {**definition["metadata"], "finalizers": finalizers}, "status": status}
        if wanted != definition:
            self._store.put(KEY, wanted)

    def _serve(self, name: str, resources: list[Resource]) -> None:
        known = self._served.get(name, [])
        if known == resources:
            return
        for resource in known:
            if not any(resource.version == kept.version for kept in resources):
                self._state.registry.remove(resource)
                self._end_watches(resource)
        for resource in resources:
            self._state.registry.add(resource)
        if resources:
            self._served[name] = resources
        else:
            self._served.pop(name, None)

    def _end_watches(self, resource: Resource) -> None:
        """End the open watches of a resource that is no longer served, after its last events."""
        store = self._store

        def end(_: object = None) -> None:
            for watcher in store.watchers(resource.storage):
                watcher.unserved(resource)

        # Uncommitted deletions still have to be delivered.
        if store.committed:
            end()
        else:
            store.when_committed(end)


def _stored_versions(definition: Object) -> list[str]:
    stored = list((definition.get("status") or {}).get("storedVersions") or ())
    current = next((version["name"] for version in definition["spec"]["versions"] if version.get("storage")), "")
    return stored if current in stored else [*stored, current]


def _merged_conditions(present: list[Object], wanted: list[tuple[str, str, str, str]], now: str) -> list[Object]:
    merged = {condition["type"]: condition for condition in present}
    for kind, status, reason, message in wanted:
        known = merged.get(kind)
        if known is None or (known["status"], known["reason"], known["message"]) != (status, reason, message):
            since = known["lastTransitionTime"] if known is not None and known["status"] == status else now
            told = {"type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message}
            merged[kind] = told
    return list(merged.values())
