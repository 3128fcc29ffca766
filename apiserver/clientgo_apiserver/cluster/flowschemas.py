"""Controller that says in the status of a flow schema whether its priority level exists."""

from typing import ClassVar

from clientgo_apiserver.api.conditions import condition_of
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.auth.flows import FLOW_SCHEMAS, PRIORITY_LEVELS
from clientgo_apiserver.cluster.base import InternalController
from clientgo_apiserver.storage.stored import Key

MANAGER = "api-priority-and-fairness-config-consumer-v1"
"""Field manager of the status."""
_DANGLING = "Dangling"


class FlowSchemaController(InternalController):
    """Writes the condition Dangling of each flow schema."""

    _sources: ClassVar[tuple[Key, ...]] = (FLOW_SCHEMAS, PRIORITY_LEVELS)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key == FLOW_SCHEMAS:
            if new is not None:
                self._schedule(new["metadata"]["name"])
        elif old is None or new is None:
            for schema in self._store.list(FLOW_SCHEMAS):
                self._schedule(schema["metadata"]["name"])

    def _sync(self, *names: str) -> None:
        (name,) = names
        schema = self._store.get(FLOW_SCHEMAS, "", name)
        if schema is None:
            return
        level = schema["spec"]["priorityLevelConfiguration"]["name"]
        exists = self._store.entry(PRIORITY_LEVELS, "", level) is not None
        status, condition = "False" if exists else "True", condition_of(schema, _DANGLING)
        if condition.get("status") == status:
            return
        reference = f'This FlowSchema references the PriorityLevelConfiguration object named "{level}"'
        condition = {
            "type": _DANGLING,
            "status": status,
            "lastTransitionTime": self._now(),
            "reason": "Found" if exists else "NotFound",
            "message": f"{reference} and it exists" if exists else f"{reference} but there is no such object",
        }
        self._write_status(FLOW_SCHEMAS, schema, {"conditions": [condition]}, kind="apply")
