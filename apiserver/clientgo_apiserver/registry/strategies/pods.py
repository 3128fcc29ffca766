"""Strategies of pods and of the subresources through which a part of their spec is changed."""

from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import Cause, forbidden_field, invalid_value
from clientgo_apiserver.registry.defaults.pods import quality_of_service
from clientgo_apiserver.registry.strategies.matchlabelkeys import with_selected_labels
from clientgo_apiserver.registry.strategies.strategy import Strategy, with_versions
from clientgo_apiserver.registry.write import Write
from clientgo_apiserver.releases.release import current

_RESIZED = ("resources", "resizePolicy")
_RESIZABLE = ("containers", "initContainers")
_AMOUNTS = ("requests", "limits")
_RESIZABLE_AMOUNTS = ("cpu", "memory")
_MIRROR = "kubernetes.io/config.mirror"


class PodStrategy(Strategy):
    """Strategy of pods."""

    graceful = True

    def prepare_for_create(self, _: Write, new: Object) -> Object:
        """Return the pod with its own labels in the selectors whose keys name them."""
        return with_selected_labels(new)


class _PartStrategy(PodStrategy):
    """Strategy of a subresource that changes a part of the spec."""

    def _with_spec(self, new: Object, old: Object, changed: Object) -> Object:
        spec = {field: value for field, value in {**old["spec"], **changed}.items() if value != []}
        return {**old, "spec": spec, "metadata": with_versions(old["metadata"], new["metadata"])}


class EphemeralContainersStrategy(_PartStrategy):
    """Strategy of the ephemeral containers of pods: they may only be added."""

    def reset_fields(self, _: Write, new: Object, old: Object) -> Object:
        """Return the old pod with the new ephemeral containers."""
        field = "ephemeralContainers"
        return self._with_spec(new, old, {field: (new.get("spec") or {}).get(field) or []})

    def validate_update(self, context: Write, new: Object, old: Object) -> list[Cause]:
        """Return the errors of the pod, and of ephemeral containers that were changed or removed."""
        causes = super().validate_update(context, new, old)
        if _is_static(old):
            return [*causes, forbidden_field("", "static pods do not support ephemeral containers")]
        after = {container.get("name"): container for container in new["spec"].get("ephemeralContainers") or ()}
        for container in old["spec"].get("ephemeralContainers") or ():
            change = (
                ""
                if after.get(container["name"]) == container
                else "changed"
                if container["name"] in after
                else "removed"
            )
            if change:
                reason = f'existing ephemeral containers "{container["name"]}" may not be {change}\n'
                causes.append(forbidden_field("spec.ephemeralContainers", reason))
        return causes


class ResizeStrategy(_PartStrategy):
    """Strategy of the resources of the containers of pods."""

    def reset_fields(self, _: Write, new: Object, old: Object) -> Object:
        """Return the old pod with the new resources; one with more or fewer containers is returned, to be rejected."""
        old_spec, new_spec = old["spec"], new.get("spec") or {}
        if any(len(new_spec.get(kind) or ()) != len(old_spec.get(kind) or ()) for kind in _RESIZABLE):
            return new
        kinds = [kind for kind in _RESIZABLE if old_spec.get(kind)]
        return self._with_spec(new, old, {kind: _resized(new_spec[kind], old_spec[kind]) for kind in kinds})

    def validate_update(self, context: Write, new: Object, old: Object) -> list[Cause]:
        """Return the errors of the pod, and of what cannot be resized."""
        causes = super().validate_update(context, new, old)
        if _is_static(old):
            return [*causes, forbidden_field("", "static pods cannot be resized")]
        return causes + _resize_errors(new, old)


def _is_static(pod: Object) -> bool:
    return _MIRROR in (pod["metadata"].get("annotations") or {})


def _resized(new: list[Object], old: list[Object]) -> list[Object]:
    if [container.get("name") for container in new] != [container["name"] for container in old]:
        return new
    return [
        {
            **{field: value for field, value in before.items() if field not in _RESIZED},
            **{field: after[field] for field in _RESIZED if field in after},
        }
        for before, after in zip(old, new, strict=True)
    ]


def _resize_errors(new: Object, old: Object) -> list[Cause]:
    causes = []
    quality = quality_of_service(old["spec"])
    if quality != quality_of_service(new["spec"]):
        causes.append(invalid_value("spec", quality, "Pod QOS Class may not change as a result of resizing"))
    for kind in _RESIZABLE:
        before, after = old["spec"].get(kind) or [], new["spec"].get(kind) or []
        if len(before) != len(after):
            causes.append(forbidden_field(f"spec.{kind}", f"{kind} may not be added or removed on resize"))
            continue
        for index, (container, other) in enumerate(zip(before, after, strict=True)):
            path = f"spec.{kind}[{index}]"
            if container["name"] != other.get("name"):
                reason = f"{kind} may not be renamed or reordered on resize"
                causes.append(forbidden_field(f"{path}.name", reason))
            elif kind == "initContainers" and container.get("restartPolicy") != "Always":
                causes += _init_container_errors(container, other, path)
            else:
                causes += _container_errors(container, other, path, kind)
    return causes


def _init_container_errors(before: Object, after: Object, path: str) -> list[Cause]:
    old, new = before.get("resources") or {}, after.get("resources") or {}
    if not current().enabled("InPlacePodVerticalScalingInitContainers"):
        reason = "resources for non-sidecar init containers are immutable"
        return [forbidden_field("spec", reason)] if old != new else []
    restarts = any(policy.get("restartPolicy") == "RestartContainer" for policy in after.get("resizePolicy") or ())
    if restarts and old != new:
        reason = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
        return [forbidden_field(path, reason)]
    return _container_errors(before, after, path, "initContainers")


def _container_errors(before: Object, after: Object, path: str, kind: str) -> list[Cause]:
    causes = []
    for field in _AMOUNTS:
        old, new = ((container.get("resources") or {}).get(field) or {} for container in (before, after))
        if not set(old) <= set(new):
            causes.append(forbidden_field(f"{path}.resources.{field}", f"resource {field} cannot be removed"))
    if _fixed(before) != _fixed(after):
        target, field_path = ("", "spec") if kind == "containers" else (" for init or sidecar containers", path)
        causes.append(forbidden_field(field_path, f"only cpu and memory resources{target} are mutable"))
    return causes


def _fixed(container: Object) -> Object:
    """Return a container without the amounts that a resize changes."""
    resources = container.get("resources") or {}
    amounts = {
        field: {name: amount for name, amount in (resources.get(field) or {}).items() if name not in _RESIZABLE_AMOUNTS}
        for field in _AMOUNTS
    }
    return {**container, "resources": {**resources, **amounts}}
