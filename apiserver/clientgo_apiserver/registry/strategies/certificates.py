"""Strategies of certificate requests: the spec never changes, and conditions are set by the approver and the signer."""

from clientgo.meta.apply.mergerules import FieldPath
from clientgo_apiserver.api.conditions import conditions_of
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.registry.strategies.strategy import StatusStrategy, Strategy, with_field
from clientgo_apiserver.registry.write import Write


class RequestStrategy(Strategy):
    """Strategy of certificate requests."""

    def ignored_fields(self, _: Resource) -> tuple[FieldPath, ...]:
        """Return the paths of the spec and the status."""
        return (("spec",), ("status",))

    def reset_fields(self, context: Write, new: Object, old: Object) -> Object:
        """Return the new object with the old spec and status."""
        return super().reset_fields(context, with_field(new, old, "spec"), old)

    def prepare_for_create(self, context: Write, new: Object) -> Object:
        """Return the request with its author, who cannot be chosen."""
        return {**new, "spec": {**(new.get("spec") or {}), **context.request.user.info}}


class RequestStatusStrategy(StatusStrategy):
    """Strategy of the status of certificate requests."""

    def ignored_fields(self, _: Resource) -> tuple[FieldPath, ...]:
        """Return the paths of the spec, and of the conditions, which the approval sets."""
        return (("spec",), ("status", "conditions"))

    def prepare_for_update(self, context: Write, new: Object, old: Object) -> Object:
        """Return the request whose conditions have their times."""
        times = {
            (condition.get("type"), condition.get("status")): condition.get("lastTransitionTime")
            for condition in conditions_of(old)
        }
        conditions = [
            {
                **condition,
                "lastUpdateTime": condition.get("lastUpdateTime") or context.now,
                "lastTransitionTime": condition.get("lastTransitionTime")
                or times.get((condition.get("type"), condition.get("status")))
                or context.now,
            }
            for condition in conditions_of(new)
        ]
        return {**new, "status": {**new["status"], "conditions": conditions}} if conditions else new


class ApprovalStrategy(RequestStatusStrategy):
    """Strategy of the approval of certificate requests."""

    def ignored_fields(self, _: Resource) -> tuple[FieldPath, ...]:
        """Return the paths of the spec, and of the certificate, which the signer sets."""
        return (("spec",), ("status", "certificate"))

    def reset_fields(self, _: Write, new: Object, old: Object) -> Object:
        """Return the old request with the new metadata and conditions."""
        status = {**(old.get("status") or {}), "conditions": conditions_of(new)}
        return {**old, "metadata": new["metadata"], "status": status}
