"""Strategies by kind, and those of kinds that need only a step of their own."""

from collections.abc import Callable, Mapping

from clientgo.meta.apply.mergerules import FieldPath
from clientgo.meta.jsonvalues import same
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.api.status import Cause
from clientgo_apiserver.crds import crdstatus
from clientgo_apiserver.crds.crdschema import with_stored_version
from clientgo_apiserver.crds.definitions import definition_warnings
from clientgo_apiserver.registry.autoscalers import autoscaler_v1_to_v2
from clientgo_apiserver.registry.defaults.kinds import (
    is_written_with_status,
    template_generation,
    with_template_generation,
)
from clientgo_apiserver.registry.strategies.addresswarnings import ip_warnings
from clientgo_apiserver.registry.strategies.certificates import ApprovalStrategy, RequestStatusStrategy, RequestStrategy
from clientgo_apiserver.registry.strategies.pods import EphemeralContainersStrategy, PodStrategy, ResizeStrategy
from clientgo_apiserver.registry.strategies.services import ServiceStrategy
from clientgo_apiserver.registry.strategies.strategy import (
    BareStatusStrategy,
    CustomStatusStrategy,
    CustomStrategy,
    StatusStrategy,
    Strategy,
    with_field,
)
from clientgo_apiserver.registry.write import Write

_KUBERNETES = "kubernetes"  # finalizer of the namespace controller
_LOCAL: Object = {
    "type": "Available",
    "status": "True",
    "reason": "Local",
    "message": "Local APIServices are always available",
}
_CLAIM_SOURCES = frozenset({("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")})


class _NamespaceStrategy(Strategy):
    """Strategy of namespaces, which have finalizers in their spec."""

    def reset_fields(self, context: Write, new: Object, old: Object) -> Object:
        """Return the new namespace with the old finalizers and status."""
        spec = with_field(new.get("spec") or {}, old.get("spec") or {}, "finalizers")
        return super().reset_fields(context, {**new, "spec": spec}, old)

    def prepare_for_create(self, _: Write, new: Object) -> Object:
        """Return the namespace with the finalizer of its controller."""
        spec = new.get("spec") or {}
        finalizers = spec.get("finalizers") or []
        if _KUBERNETES in finalizers:
            return new
        return {**new, "spec": {**spec, "finalizers": [*finalizers, _KUBERNETES]}}

    def should_delete_during_update(self, new: Object) -> bool:
        """Return whether an update ends a deletion: no finalizers of either list are left."""
        return super().should_delete_during_update(new) and not (new.get("spec") or {}).get("finalizers")

    def terminating(self, now: str, obj: Object) -> Object | None:
        """Return the namespace as it waits for the deletion of its objects."""
        if "deletionTimestamp" in obj["metadata"]:
            return obj
        meta = {**obj["metadata"], "deletionTimestamp": now}
        return {**obj, "metadata": meta, "status": {**obj.get("status", {}), "phase": "Terminating"}}


class _FinalizeStrategy(_NamespaceStrategy):
    """Strategy of the finalizers of namespaces."""

    def reset_fields(self, context: Write, new: Object, old: Object) -> Object:
        """Return the new namespace with the old status."""
        return Strategy.reset_fields(self, context, new, old)


class _DefinitionStrategy(Strategy):
    """Strategy of CustomResourceDefinitions."""

    def prepare_for_create(self, _: Write, new: Object) -> Object:
        """Return the definition with its stored version in the status."""
        return with_stored_version(new)

    def prepare_for_update(self, context: Write, new: Object, old: Object) -> Object:
        """Return the definition with its stored version in the status, and its generation."""
        return super().prepare_for_update(context, with_stored_version(new), old)

    def warnings_on_create(self, _: Write, new: Object) -> list[str]:
        """Return the warnings about formats that are not checked."""
        return definition_warnings(new)

    def warnings_on_update(self, _: Write, new: Object, old: Object) -> list[str]:
        """Return the warnings about new formats that are not checked."""
        return definition_warnings(new, old)

    def terminating(self, now: str, obj: Object) -> Object | None:
        """Return the definition as it waits for the deletion of its objects; None if it waits already."""
        return None if "deletionTimestamp" in obj["metadata"] else crdstatus.terminating(obj, now)


class _DeploymentStrategy(Strategy):
    """Strategy of Deployments, the one kind whose annotations are counted by its generation."""

    def _counted(self, _: Write, obj: Object) -> object:
        return obj["spec"], obj["metadata"].get("annotations")


class _DaemonSetStrategy(Strategy):
    """Strategy of DaemonSets, whose annotation counts the changes of the template, after managed fields are set."""

    def prepare_for_create(self, _: Write, new: Object) -> Object:
        """Return the DaemonSet with its first number."""
        return with_template_generation(new, max(1, template_generation(new)))

    def prepare_for_update(self, context: Write, new: Object, old: Object) -> Object:
        """Return the DaemonSet with the old number, or the next one, and its generation."""
        number = template_generation(old) + (not same(new["spec"]["template"], old["spec"]["template"]))
        return super().prepare_for_update(context, with_template_generation(new, number), old)


class _DaemonSetStatusStrategy(StatusStrategy):
    """Strategy of the status of DaemonSets."""

    def prepare_for_update(self, _: Write, new: Object, old: Object) -> Object:
        """Return the DaemonSet with the old number of changes."""
        return with_template_generation(new, template_generation(old))


class _AutoscalerStrategy(Strategy):
    """Autoscalers: those of version 1 are validated with all that their annotations hold."""

    def validate(self, context: Write, new: Object) -> list[Cause]:
        """Return the errors of a new autoscaler."""
        return super().validate(context, _current_autoscaler(new))

    def validate_update(self, context: Write, new: Object, old: Object) -> list[Cause]:
        """Return the errors of an autoscaler that replaces `old`."""
        return super().validate_update(context, _current_autoscaler(new), _current_autoscaler(old))


def _current_autoscaler(obj: Object) -> Object:
    return autoscaler_v1_to_v2(obj) if obj["apiVersion"] == "autoscaling/v1" else obj


class _JobStrategy(Strategy):
    """Strategy of Jobs."""

    def prepare_for_create(self, _: Write, new: Object) -> Object:
        """Return a new Job that selects its pods by its own uid, unless it has `manualSelector`."""
        spec, meta = new["spec"], new["metadata"]
        if spec.get("manualSelector"):
            return new
        uid, name = meta["uid"], meta.get("name", "")
        prefix = "batch.kubernetes.io/"
        labels = {f"{prefix}controller-uid": uid, f"{prefix}job-name": name, "controller-uid": uid, "job-name": name}
        pods, selector = spec["template"], spec.get("selector") or {}
        pod_meta = {**pods["metadata"], "labels": {**labels, **pods["metadata"].get("labels", {})}}
        # A Job without labels shares those of its pods since its defaults were set, as Go's do: also these.
        shares = meta.get("labels") is None or meta["labels"] is pods["metadata"].get("labels")
        meta = {**meta, "labels": pod_meta["labels"]} if shares else meta
        matched = dict(sorted({f"{prefix}controller-uid": uid, **(selector.get("matchLabels") or {})}.items()))
        spec = {**spec, "selector": {**selector, "matchLabels": matched}, "template": {**pods, "metadata": pod_meta}}
        return {**new, "metadata": meta, "spec": spec}


class _JobStatusStrategy(StatusStrategy):
    """Strategy of the status of Jobs: one without labels has those of its pods, when it is read from the storage."""

    def prepare_for_update(self, _: Write, new: Object, __: Object) -> Object:
        """Return the Job with the labels of its pods, unless it has others."""
        labels = (new["spec"]["template"].get("metadata") or {}).get("labels")
        if new["metadata"].get("labels") or not labels:
            return new
        return {**new, "metadata": {**new["metadata"], "labels": labels}}


class _VolumeStatusStrategy(StatusStrategy):
    """Strategy of the status of PersistentVolumes, which has the time of its last change of phase."""

    def prepare_for_update(self, context: Write, new: Object, old: Object) -> Object:
        """Return the volume with the time of its phase: that of the write, unless the client sets another."""
        status: Object = new.get("status") or {}
        before: Object = old.get("status") or {}
        time, earlier = (each.get("lastPhaseTransitionTime") for each in (status, before))
        if status.get("phase") == before.get("phase"):
            time = time or earlier
        elif time is None or time == earlier:
            time = context.now
        return {**new, "status": {**status, "lastPhaseTransitionTime": time}} if time else new


class _BalancedStatusStrategy(StatusStrategy):
    """Strategy of statuses with the addresses of a load balancer."""

    def warnings_on_update(self, _: Write, new: Object, __: Object) -> list[str]:
        """Return the warnings about the forms of the addresses."""
        ingress = ((new.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
        path = "status.loadBalancer.ingress"
        return [
            text for index, each in enumerate(ingress) for text in ip_warnings(each.get("ip") or "", f"{path}[{index}]")
        ]


class _APIServiceStrategy(Strategy):
    """Strategy of APIServices: local ones are available from the start."""

    def prepare_for_create(self, context: Write, new: Object) -> Object:
        """Return the service with the condition of a local one."""
        if new["spec"].get("service"):
            return new
        return {**new, "status": {"conditions": [{**_LOCAL, "lastTransitionTime": context.now}]}}


class _ServiceCIDRStrategy(Strategy):
    """Strategy of ServiceCIDRs, whose status could be written with their spec until 1.35."""

    def ignored_fields(self, resource: Resource) -> tuple[FieldPath, ...]:
        """Return the path of the status, if it is reset."""
        return () if is_written_with_status(resource) else super().ignored_fields(resource)

    def reset_fields(self, context: Write, new: Object, old: Object) -> Object:
        """Return the new object, with the old status if it is reset."""
        return new if is_written_with_status(context.resource) else super().reset_fields(context, new, old)


class _EndpointSliceStrategy(Strategy):
    """Strategy of EndpointSlices: version 1 cannot write the topology of endpoints."""

    def prepare_for_create(self, _: Write, new: Object) -> Object:
        """Return the slice without the topology of its endpoints."""
        endpoints = new.get("endpoints") or ()
        if not any("deprecatedTopology" in endpoint for endpoint in endpoints):
            return new
        return {
            **new,
            "endpoints": [
                {field: value for field, value in endpoint.items() if field != "deprecatedTopology"}
                for endpoint in endpoints
            ],
        }

    def prepare_for_update(self, context: Write, new: Object, old: Object) -> Object:
        """Return the slice without the topology of its endpoints; its generation counts the topology sent."""
        return self.prepare_for_create(context, super().prepare_for_update(context, new, old))


class _CompletingStrategy(Strategy):
    """Strategy of kinds whose objects every write completes, by a function of the object and the time of the write."""

    def __init__(self, complete: Callable[[Object, str], Object]) -> None:
        super().__init__()
        self._complete = complete

    def prepare_for_create(self, context: Write, new: Object) -> Object:
        """Return the completed object."""
        return self._complete(new, context.now)

    def prepare_for_update(self, context: Write, new: Object, old: Object) -> Object:
        """Return the completed object with its generation."""
        return super().prepare_for_update(context, self._complete(new, context.now), old)


def _with_dated_taints(obj: Object, now: str) -> Object:
    """Return an object whose taints of devices have a time: that of the write unless the client sets it."""
    spec: Object = obj.get("spec") or {}
    changes: Object = {}
    if "taint" in spec:
        changes["taint"] = _dated(spec["taint"], now)
    if any(device.get("taints") for device in spec.get("devices") or ()):
        changes["devices"] = [
            {**device, "taints": [_dated(taint, now) for taint in device["taints"]]} if device.get("taints") else device
            for device in spec["devices"]
        ]
    return {**obj, "spec": {**spec, **changes}} if changes else obj


def _dated(taint: Object, now: str) -> Object:
    return {**taint, "timeAdded": taint.get("timeAdded") or now}


class _PriorityClassStrategy(Strategy):
    """Strategy of PriorityClasses, whose generation stays 1."""

    def prepare_for_update(self, _: Write, new: Object, __: Object) -> Object:
        """Return the class as it is."""
        return new


class _DriverStrategy(Strategy):
    """Strategy of CSIDrivers, which have no generation until their first change."""

    def prepare_for_update(self, context: Write, new: Object, old: Object) -> Object:
        """Return the driver with its generation."""
        return self.counted_update(context, new, old)


def _with_secret_names(account: Object, _: str) -> Object:
    """Return a ServiceAccount that refers to secrets of its namespace by name alone."""
    if not account.get("secrets"):
        return account
    return {**account, "secrets": [{"name": item["name"]} if "name" in item else {} for item in account["secrets"]]}


def _with_sources(claim: Object, _: str) -> Object:
    """Return a PersistentVolumeClaim with both fields that name its source."""
    spec = dict(claim.get("spec") or {})
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and not reference and not _is_source(source):
        del spec["dataSource"]
    elif source and not reference:
        spec["dataSourceRef"] = source
    elif reference and not source and not reference.get("namespace"):
        spec["dataSource"] = {field: reference[field] for field in ("apiGroup", "kind", "name") if field in reference}
    return {**claim, "spec": spec}


def _is_source(reference: Object) -> bool:
    return (reference.get("apiGroup") or "", reference.get("kind")) in _CLAIM_SOURCES


_CUSTOM, _CUSTOM_STATUS, _BUILT_IN, _STATUS = CustomStrategy(), CustomStatusStrategy(), Strategy(), StatusStrategy()
_REQUESTS = ("certificates.k8s.io", "certificatesigningrequests")
STRATEGIES: Mapping[tuple[str, str, str], Strategy] = {
    ("", "namespaces", ""): _NamespaceStrategy(),
    ("", "namespaces", "finalize"): _FinalizeStrategy(),
    ("", "persistentvolumeclaims", ""): _CompletingStrategy(_with_sources),
    ("", "pods", ""): PodStrategy(),
    ("", "pods", "status"): StatusStrategy("ownerReferences"),
    ("", "pods", "ephemeralcontainers"): EphemeralContainersStrategy(),
    ("", "pods", "resize"): ResizeStrategy(),
    ("", "persistentvolumes", "status"): _VolumeStatusStrategy(),
    ("", "serviceaccounts", ""): _CompletingStrategy(_with_secret_names),
    ("", "services", ""): ServiceStrategy(),
    ("", "services", "status"): _BalancedStatusStrategy(),
    ("", "replicationcontrollers", ""): Strategy(propagation="Orphan"),
    ("", "events", ""): Strategy(propagation=""),
    ("apiextensions.k8s.io", "customresourcedefinitions", ""): _DefinitionStrategy(),
    ("apiregistration.k8s.io", "apiservices", ""): _APIServiceStrategy(),
    ("apps", "daemonsets", ""): _DaemonSetStrategy(),
    ("apps", "daemonsets", "status"): _DaemonSetStatusStrategy(),
    ("apps", "deployments", ""): _DeploymentStrategy(),
    ("apps", "deployments", "status"): StatusStrategy("labels"),
    ("apps", "deployments", "scale"): _DeploymentStrategy(),
    ("autoscaling", "horizontalpodautoscalers", ""): _AutoscalerStrategy(),
    ("batch", "jobs", ""): _JobStrategy(propagation="Orphan"),
    ("batch", "jobs", "status"): _JobStatusStrategy(),
    ("discovery.k8s.io", "endpointslices", ""): _EndpointSliceStrategy(),
    ("networking.k8s.io", "ingresses", "status"): _BalancedStatusStrategy(),
    ("networking.k8s.io", "servicecidrs", ""): _ServiceCIDRStrategy(),
    ("resource.k8s.io", "devicetaintrules", ""): _CompletingStrategy(_with_dated_taints),
    ("resource.k8s.io", "resourceslices", ""): _CompletingStrategy(_with_dated_taints),
    ("scheduling.k8s.io", "priorityclasses", ""): _PriorityClassStrategy(),
    ("storage.k8s.io", "csidrivers", ""): _DriverStrategy(),
    (*_REQUESTS, ""): RequestStrategy(),
    (*_REQUESTS, "approval"): ApprovalStrategy(),
    (*_REQUESTS, "status"): RequestStatusStrategy(),
    **{
        (group, plural, "status"): BareStatusStrategy()
        for group, plural in (
            ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
            ("apiregistration.k8s.io", "apiservices"),
            ("flowcontrol.apiserver.k8s.io", "flowschemas"),
            ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"),
            ("networking.k8s.io", "servicecidrs"),
            ("certificates.k8s.io", "podcertificaterequests"),
            ("resource.k8s.io", "devicetaintrules"),
            ("resource.k8s.io", "resourceclaims"),
            ("storage.k8s.io", "volumeattachments"),
            ("storagemigration.k8s.io", "storageversionmigrations"),
        )
    },
}
"""Strategies by group, plural and subresource."""


def strategy_of(resource: Resource, subresource: str) -> Strategy:
    """Return the strategy for writes to a resource or subresource."""
    if resource.custom:
        return _CUSTOM_STATUS if subresource == "status" else _CUSTOM
    strategy = STRATEGIES.get((*resource.storage, subresource))
    return strategy or (_STATUS if subresource == "status" else _BUILT_IN)
