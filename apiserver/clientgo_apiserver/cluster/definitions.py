"""Controller of CustomResourceDefinitions: accepts names, serves the kinds, and deletes their objects with them.

A definition becomes Established right after the response to its creation, so a client that waits for the condition, as
it must on a real cluster, waits one turn of the loop.
"""

from clientgo_apiserver.api.conditions import conditions_of, is_true
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.cluster.base import InternalController, is_deleting
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.crds.conversion import converter_of
from clientgo_apiserver.crds.crdschema import served_resources
from clientgo_apiserver.crds.crdstatus import FINALIZER, accepted_names, approval_condition, merged_conditions
from clientgo_apiserver.gotypes.structs import rules_of_kind
from clientgo_apiserver.merging.managedfields import FieldManager, ManagedType, after_update
from clientgo_apiserver.storage.keys import DEFINITIONS
from clientgo_apiserver.storage.stored import Key

_VERSION = "apiextensions.k8s.io/v1"
_MANAGER = FieldManager("kube-apiserver", "Update", _VERSION, "status")
_STATUS = ManagedType(rules_of_kind(_VERSION, "CustomResourceDefinition"), ignored=(("metadata",), ("spec",)))

_DELETING = ("Terminating", "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
_DELETED = ("Terminating", "False", "InstanceDeletionCompleted", "removed all instances")


class DefinitionController(InternalController):
    """Keeps the registry in sync with the stored definitions."""

    _further = None

    def __init__(self, internal: Internal) -> None:
        super().__init__(internal)
        self._served: dict[str, list[Resource]] = {}

    def start(self) -> None:
        """Serve the stored definitions, and react to every change from now on."""
        super().start()
        for definition in self._store.list(DEFINITIONS):
            self._sync(definition["metadata"]["name"])

    def _sync(self, *names: str) -> None:
        (name,) = names
        definition = self._store.get(DEFINITIONS, "", name)
        if definition is None:
            self._serve(name, [])
            for other in self._store.list(DEFINITIONS):
                if other["metadata"]["name"].partition(".")[2] == name.partition(".")[2]:
                    self._schedule(other["metadata"]["name"])  # it may have waited for a name
        elif "deletionTimestamp" in definition["metadata"]:
            self._finalize(definition)
        else:
            self._accept(definition)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key == DEFINITIONS:
            self._schedule((new or old or {})["metadata"]["name"])
        elif new is None:
            name = f"{key[1]}.{key[0]}"
            definition = self._store.get(DEFINITIONS, "", name)
            if definition is not None and is_deleting(definition):
                self._schedule(name)  # it waits for its last object to be deleted

    def _accept(self, definition: Object) -> None:
        accepted, conflict = accepted_names(definition, self._names_in_use(definition))
        conditions = conditions_of(definition)
        established = is_true(definition, "Established")
        changes = [("NamesAccepted", *(conflict or ("True", "NoConflicts", "no conflicts found")))]
        if not established and conflict is None:
            established = True
            changes.append(("Established", "True", "InitialNamesAccepted", "the initial names have been accepted"))
        elif not established:
            changes.append(("Established", "False", "NotAccepted", "not all names are accepted"))
        if approval := approval_condition(definition):
            changes.append(approval)
        merged = merged_conditions(conditions, changes, self._now())
        status = {**(definition.get("status") or {}), "acceptedNames": accepted, "conditions": merged}
        definition = {**definition, "status": status}
        converter = converter_of(definition, self._state.options.webhook_services, self._state.webhooks)
        name = definition["metadata"]["name"]
        served = self._served.get(name, [])
        self._serve(name, served_resources(definition, converter, served) if established else [])
        self._put(definition)

    def _names_in_use(self, definition: Object) -> tuple[set[str], set[str]]:
        """Return the accepted names and kinds of the definition's group, its own included."""
        names, kinds = set[str](), set[str]()
        for other in self._store.list(DEFINITIONS):
            if other["spec"]["group"] == definition["spec"]["group"]:
                accepted = (other.get("status") or {}).get("acceptedNames") or {}
                names |= {
                    accepted.get("plural") or "",
                    accepted.get("singular") or "",
                    *(accepted.get("shortNames") or ()),
                }
                kinds |= {accepted.get("kind") or "", accepted.get("listKind") or ""}
        return names, kinds

    def _finalize(self, definition: Object) -> None:
        spec, meta = definition["spec"], definition["metadata"]
        finalizers = meta.get("finalizers", [])
        empty = self._delete_all((spec["group"], spec["names"]["plural"]))
        remaining = [finalizer for finalizer in finalizers if finalizer != FINALIZER or not empty]
        if not remaining:
            self._store.remove(DEFINITIONS, "", meta["name"])
            return
        condition = _DELETED if empty else _DELETING
        conditions = merged_conditions(conditions_of(definition), [condition], self._now())
        status = {**(definition.get("status") or {}), "conditions": conditions}
        self._put({**definition, "metadata": {**meta, "finalizers": remaining}, "status": status})

    def _put(self, changed: Object) -> None:
        stored = self._store.get(DEFINITIONS, "", changed["metadata"]["name"])
        if stored is not None and changed != stored:
            meta, now = changed["metadata"], self._now()
            entries = after_update(meta.get("managedFields", []), stored, changed, _MANAGER, _STATUS, time=now)
            self._store.put(
                DEFINITIONS, {**changed, "metadata": {**meta, "managedFields": entries}} if entries else changed
            )

    def _serve(self, name: str, resources: list[Resource]) -> None:
        served = self._served.get(name, [])
        if served == resources:
            return
        for resource in served:
            if not any(resource.version == new.version for new in resources):
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
