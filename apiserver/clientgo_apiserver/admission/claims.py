"""Permissions of resource claims: to administer devices, to bind a claim, and to report on the devices of a driver.

The first is a label of the namespace. The others are verbs on subresources that no path has, `resourceclaims/binding`
and `resourceclaims/driver`, besides the permission to write the status. A driver may have the permission for its own
node alone, `associated-node:update`, or for any, `arbitrary-node:update`.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import Cause, forbidden_field, invalid
from clientgo_apiserver.auth.authorization import Attributes, decide, refusal
from clientgo_apiserver.registry.write import Write
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.keys import NAMESPACES

_ADMINISTERED = "resource.kubernetes.io/admin-access"
_NODE = "authentication.kubernetes.io/node-name"
_KEY = ("driver", "pool", "device", "shareID")


def check_admin_access(state: State, write: Write, new: Object, old: Object | None) -> None:
    """Check that a new claim, or template of claims, for administrators is in a namespace for them (422)."""
    if old is not None or write.request.internal:
        return
    spec = new["spec"].get("spec", new["spec"])
    for index, request in enumerate((spec.get("devices") or {}).get("requests") or ()):
        if (request.get("exactly") or {}).get("adminAccess"):
            _require_administrators(state, write, f"spec.devices.requests[{index}].adminAccess")


def _require_administrators(state: State, write: Write, field_path: str) -> None:
    namespace = state.store.get(NAMESPACES, "", write.namespace) or {"metadata": {}}
    if (namespace["metadata"].get("labels") or {}).get(_ADMINISTERED) != "true":
        reason = f"admin access to devices requires the `{_ADMINISTERED}: true` label on the containing namespace"
        raise invalid(write.resource.kind, write.resource.group, write.name, [forbidden_field(field_path, reason)])


def check_claim_status(state: State, write: Write, new: Object, old: Object | None) -> None:
    """Check that the user may change what changes in the status of a claim (422)."""
    if write.subresource != "status" or write.request.internal:
        return
    before, after = ((obj or {}).get("status") or {} for obj in (old, new))
    if _administered(after) and not _administered(before):
        _require_administrators(state, write, _administered(after))
    if not state.release.enabled(_GATE):
        return
    causes = [*_binding_errors(state, write, after, before)]
    if after.get("allocation"):
        causes += _device_errors(state, write, after, before)
    if causes:
        raise invalid(write.resource.kind, write.resource.group, write.name, causes)


def _administered(status: Object) -> str:
    """Return the path of the first result with access for administrators; empty if there is none."""
    results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()
    paths = (f"results[{index}]" for index, result in enumerate(results) if result.get("adminAccess"))
    return next((f"status.allocation.devices.{field_path}.adminAccess" for field_path in paths), "")


_GATE = "DRAResourceClaimGranularStatusAuthorization"


def _binding_errors(state: State, write: Write, new: Object, old: Object) -> Iterator[Cause]:
    if all((new.get(field) or None) == (old.get(field) or None) for field in ("allocation", "reservedFor")):
        return
    request = _attributes(write, "binding", _verb(write), "")
    error = _denied(state, replace(request, namespace=""))
    if error:
        needs = f'resource="resourceclaims/binding", verb="{request.verb}" permission: {error}'
        reason = f"changing status.allocation or status.reservedFor requires {needs}"
        yield forbidden_field("status.allocation", reason)


def _device_errors(state: State, write: Write, new: Object, old: Object) -> Iterator[Cause]:
    verbs = [f"arbitrary-node:{_verb(write)}"]
    if _is_of_node(write, new["allocation"]):
        verbs.insert(0, f"associated-node:{_verb(write)}")
    for driver in sorted(_changed_drivers(new.get("devices") or (), old.get("devices") or ())):
        errors = [_denied(state, _attributes(write, "driver", verb, driver)) for verb in verbs]
        if all(errors):
            needs = f'resource="resourceclaims/driver", verb="[{" ".join(verbs)}]" permission: {errors[0]}'
            yield forbidden_field("status.devices", f"changing status.devices requires {needs}")


def _changed_drivers(new: Sequence[Object], old: Sequence[Object]) -> set[str]:
    after, before = ({tuple(each.get(name) for name in _KEY): each for each in devices} for devices in (new, old))
    return {str(key[0]) for key in after.keys() | before.keys() if after.get(key) != before.get(key)}


def _verb(write: Write) -> str:
    return "patch" if write.request.method == "PATCH" else "update"


def _attributes(write: Write, subresource: str, verb: str, name: str) -> Attributes:
    resource = write.resource
    target = (resource.group, resource.version, resource.plural, subresource, write.namespace, name)
    return Attributes(write.request.user, verb, *target)


def _denied(state: State, attributes: Attributes) -> str:
    decision = decide(state, attributes)
    return "" if decision.allowed else refusal(attributes, decision.reason).message


def _is_of_node(write: Write, allocation: Object) -> bool:
    """Return whether the user is a service account on the only node of the allocation."""
    terms = (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms") or []
    fields = terms[0].get("matchFields") or [] if len(terms) == 1 and not terms[0].get("matchExpressions") else []
    if [(each.get("key"), each.get("operator")) for each in fields] != [("metadata.name", "In")]:
        return False
    user = write.request.user
    nodes = user.extra.get(_NODE) or ()
    is_account = user.name.startswith("system:serviceaccount:")
    return is_account and len(nodes) == 1 and list(fields[0].get("values") or ()) == list(nodes)
