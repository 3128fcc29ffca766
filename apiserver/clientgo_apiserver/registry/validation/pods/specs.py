"""Rules of pods that relate several fields; `podupdates.py` has those of updates."""

import re
from collections.abc import Iterator

from clientgo.meta.quantities import total
from clientgo_apiserver.api.names import label_value_errors, qualified_errors, search_domain_errors
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import Cause, duplicate, forbidden_field, invalid_value, required, too_long
from clientgo_apiserver.gotypes.gostructs import go_struct
from clientgo_apiserver.registry.validation.pods.resources import amount, resources
from clientgo_apiserver.registry.validation.pods.volumes import descending_path
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule, within

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_MIRROR = "kubernetes.io/config.mirror"
_SECCOMP = ("seccomp.security.alpha.kubernetes.io/pod", "container.seccomp.security.alpha.kubernetes.io/")
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_SYSCTL_SPACES = {"hostNetwork": ("net.",), "hostIPC": ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")}
_NOT_ON_WINDOWS = (
    "securityContext.appArmorProfile", "securityContext.seLinuxOptions", "hostUsers", "hostPID", "hostIPC",
    "securityContext.seccompProfile", "securityContext.fsGroup", "securityContext.fsGroupChangePolicy",
    "securityContext.sysctls", "shareProcessNamespace", "securityContext.runAsUser", "securityContext.runAsGroup",
    "securityContext.supplementalGroups", "securityContext.supplementalGroupsPolicy",
    "securityContext.seLinuxChangePolicy",
)  # fmt: skip
_CONTAINERS_NOT_ON_WINDOWS = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged",
    "allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup",
)  # fmt: skip


def containers_of(spec: Object) -> Iterator[tuple[str, Object]]:
    """Yield the path and value of every container of a pod."""
    for field in _CONTAINERS:
        for index, container in enumerate(spec.get(field) or ()):
            yield f"{field}[{index}]", container


@rule()
def pod_annotations(value: Object, scope: FieldScope) -> Iterator[Cause]:
    """Check the annotations of a pod that Kubernetes reads."""
    if _MIRROR in value and not (scope.value.get("spec") or {}).get("nodeName"):
        reason = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid_value(f"[{_MIRROR}]", value[_MIRROR], reason)
    names = {container_spec.get("name") for _, container_spec in containers_of(scope.value.get("spec") or {})}
    for key, text in sorted(value.items()):
        if key.startswith(_SECCOMP):
            yield from _seccomp_errors(key, text)
        if key.startswith(_APP_ARMOR):
            container = key.removeprefix(_APP_ARMOR)
            if container not in names:
                yield invalid_value(f"[{key}]", container, "container not found")
            if text not in ("", "runtime/default", "unconfined") and not text.startswith("localhost/"):
                yield invalid_value(f"[{key}]", text, f'invalid AppArmor profile name: "{text}"')
    cost = value.get(_DELETION_COST)
    if cost is not None and (not re.fullmatch(r"0|-?[1-9]\d{0,9}", cost) or not -(2**31) <= int(cost) < 2**31):
        yield invalid_value(f"[{_DELETION_COST}]", cost, "must be a 32bit integer")


def _seccomp_errors(key: str, profile: str) -> Iterator[Cause]:
    if profile.startswith("localhost/"):
        yield from within(key, descending_path(profile.removeprefix("localhost/")))
    elif profile not in ("runtime/default", "docker/default", "unconfined"):
        yield invalid_value(key, profile, "must be a valid seccomp profile")


@rule()
def unique_among(value: list[Object], scope: FieldScope, fields: str) -> Iterator[Cause]:
    """Reject names that occur twice, in these fields of the pod or in the list."""
    seen = {item.get("name") for field in fields.split(",") for item in scope.value.get(field) or ()}
    for index, item in enumerate(value):
        if item.get("name") and item["name"] in seen:
            yield duplicate(f"[{index}].name", item["name"])
        seen.add(item.get("name"))


@rule()
def pod_resources(value: Object, scope: FieldScope) -> Iterator[Cause]:
    """Check the resources of a whole pod, which its containers' must fit into."""
    spec = scope.value
    if (spec.get("os") or {}).get("name") == "windows":
        yield forbidden_field("", "may not be set for a windows pod")
        return
    if value.get("claims") is not None:
        yield forbidden_field("claims", "claims may not be set for Resources at pod-level")
    yield from resources(value, scope, "pod")
    for name, quantity in sorted((value.get("requests") or {}).items()):
        requests = [amount(((container.get("resources") or {}).get("requests") or {}).get(name, "0"))
                 for container in spec.get("containers") or ()]  # fmt: skip
        together, of_pod = total(request for request in requests if request is not None), amount(quantity)
        if of_pod is not None and together.value > of_pod.value:
            reason = f"must be greater than or equal to aggregate container requests of {together}"
            yield invalid_value(f"requests[{name}]", str(of_pod), reason)
    for index, container in enumerate(spec.get("containers") or ()):
        for name, quantity in sorted(((container.get("resources") or {}).get("limits") or {}).items()):
            limit, of_pod = amount(quantity), amount((value.get("limits") or {}).get(name, quantity))
            if limit is not None and of_pod is not None and limit.value > of_pod.value:
                reason = f"must be less than or equal to pod limits of {of_pod}"
                yield invalid_value(f"containers[{index}][{name}].limits", str(limit), reason)


@rule()
def scheduling_gates(value: list[Object], _: FieldScope) -> Iterator[Cause]:
    """Check the names of scheduling gates."""
    seen: set[str] = set()
    for index, gate in enumerate(value):
        name = gate.get("name") or ""
        for reason in qualified_errors(name):
            yield invalid_value(f"[{index}]", name, reason)
        if name in seen:
            yield duplicate(f"[{index}]", name)
        seen.add(name)


@rule()
def spread_constraints_differ(value: list[Object], _: FieldScope) -> Iterator[Cause]:
    """Reject two topology spread constraints with one key and action."""
    keys = [(constraint.get("topologyKey") or "", constraint.get("whenUnsatisfiable") or "") for constraint in value]
    for index, key in enumerate(keys):
        if key in keys[index + 1 :]:
            yield duplicate(f"[{index}].{{topologyKey, whenUnsatisfiable}}", f"{{{key[0]}, {key[1]}}}")


@rule()
def windows_fields(spec: Object, _: FieldScope) -> Iterator[Cause]:
    """Reject fields that Windows does not have."""
    flat = {**spec, **{f"securityContext.{key}": member for key, member in (spec.get("securityContext") or {}).items()}}
    for path in _NOT_ON_WINDOWS:
        if flat.get(path) not in (None, [], {}) and not (path in ("hostPID", "hostIPC") and not flat[path]):
            yield forbidden_field(path, "cannot be set for a windows pod")
    for path, container in containers_of(spec):
        for field in _CONTAINERS_NOT_ON_WINDOWS:
            if (container.get("securityContext") or {}).get(field) is not None:
                yield forbidden_field(f"{path}.securityContext.{field}", "cannot be set for a windows pod")


@rule()
def search_list(value: list[str], _: FieldScope) -> Iterator[Cause]:
    """Check the search paths of a pod's DNS configuration."""
    if len(" ".join(value)) > 2048:
        reason = "must not have more than 2048 characters (including spaces) in the search list"
        yield invalid_value("", value, reason)
    for index, path in enumerate(value):
        for reason in search_domain_errors(path.removesuffix(".")) if path != "." else ():
            yield invalid_value(f"[{index}]", path.removesuffix("."), reason)


@rule()
def toleration_value(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check the value of a toleration, which depends on the operator."""
    operator, text = value.get("operator") or "", value.get("value") or ""
    errors = label_value_errors(text)
    if operator in ("", "Equal") and errors:
        yield invalid_value("operator", text, ";".join(errors))
    if operator == "Exists" and text:
        yield invalid_value("operator", text, "value must be empty when `operator` is 'Exists'")


@rule()
def min_domains(value: int, scope: FieldScope) -> Iterator[Cause]:
    """Reject minDomains of a constraint that does not prevent scheduling."""
    action = scope.value.get("whenUnsatisfiable") or ""
    yield invalid_value("", value, f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}")


@rule()
def match_label_keys(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check matchLabelKeys and mismatchLabelKeys of a pod affinity term or topology spread constraint."""
    selector = value.get("labelSelector")
    keys, mismatched = value.get("matchLabelKeys") or [], value.get("mismatchLabelKeys") or []
    for field, listed in (("matchLabelKeys", keys), ("mismatchLabelKeys", mismatched)):
        if listed and selector is None:
            yield forbidden_field(field, "must not be specified when labelSelector is not set")
            continue
        for index, key in enumerate(listed):
            yield from (invalid_value(f"{field}[{index}]", key, reason) for reason in qualified_errors(key))
    seen = set((selector or {}).get("matchLabels") or ())
    for expression in (selector or {}).get("matchExpressions") or ():
        key = expression.get("key")
        if key in keys and key in seen:
            yield invalid_value(f"[{keys.index(key)}]", key, "exists in both matchLabelKeys and labelSelector")
        seen.add(key)
    for index, key in enumerate(keys):
        if key in mismatched:
            yield invalid_value(f"matchLabelKeys[{index}]", key, "exists in both matchLabelKeys and mismatchLabelKeys")


@rule()
def host_sysctl(value: str, scope: FieldScope) -> Iterator[Cause]:
    """Reject kernel parameters of a namespace that the pod shares with the host."""
    spec, name = scope.enclosing("PodSpec") or {}, value.replace("/", ".")
    for field, prefixes in _SYSCTL_SPACES.items():
        if spec.get(field) and name.startswith(prefixes):
            yield invalid_value("", value, f"may not be specified when '{field}' is true")


@rule()
def app_armor_profile(value: str, _: FieldScope) -> Iterator[Cause]:
    """Check the name of a local AppArmor profile."""
    if value.strip() != value:
        yield invalid_value("", value, "must not be padded with whitespace")
    elif not value:
        yield required("", "must be set when AppArmor type is Localhost")
    if len(value) > 4095:
        yield too_long("", 4095)


@rule()
def privilege_escalation(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Reject privileges of a container that may not escalate them."""
    added = (value.get("capabilities") or {}).get("add") or ()
    context = go_struct("SecurityContext", value)
    start = "cannot set `allowPrivilegeEscalation` to false and"
    if value.get("privileged"):
        yield invalid_value("", context, f"{start} `privileged` to true")
    if "CAP_SYS_ADMIN" in added:
        yield invalid_value("", context, f"{start} `capabilities.Add` CAP_SYS_ADMIN")


@rule()
def windows_user(value: str, _: FieldScope) -> Iterator[Cause]:
    """Check the user of a Windows container."""
    user = value.split("\\")[-1]
    reason = "runAsUserName"
    if not value:
        yield invalid_value("", value, f"{reason} cannot be an empty string")
    elif re.search(r"[\x00-\x1f\x7f]", value):
        yield invalid_value("", value, f"{reason} cannot contain control characters")
    elif value.count("\\") > 1:
        yield invalid_value("", value, f"{reason} cannot contain more than one backslash")
    elif not user:
        yield invalid_value("", value, f"{reason}'s User cannot be empty")
    elif re.search(r'["/:;|=,+*?<>@\[\]]', user):
        listed = 'following characters: "/\\:;|=,+*?<>@[]'
        yield invalid_value("", value, f"{reason}'s User cannot contain the {listed}")
