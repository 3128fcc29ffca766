"""The Pod Security Standards: checks of the levels baseline and restricted, in Kubernetes' words.

Each check returns a violation as (reason, detail), or None. `violations` runs the checks of a level in the order of the
real server; a stricter check replaces the one it contains.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from clientgo_apiserver.api.resources import Object

CheckResult = tuple[str, str]
Check = Callable[[Object, Object], CheckResult | None]
"""Takes a pod's metadata and spec."""

_CAPABILITIES = frozenset((
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP",
    "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
))  # fmt: skip
_SYSCTLS = {
    0: (
        "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range", "net.ipv4.tcp_syncookies",
    ),
    27: ("net.ipv4.ip_local_reserved_ports",),
    29: (
        "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_keepalive_time",
    ),
    32: ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"),
    37: ("net.ipv4.tcp_notsent_lowat", "net.ipv4.tcp_slow_start_after_idle"),
}  # fmt: skip
"""Allowed settings of the kernel, by the minor release that added them."""
_SELINUX_TYPES = frozenset(("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"))
_VOLUMES = frozenset((
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected",
    "secret",
))  # fmt: skip
_CONTEXT = "securityContext"
_PROFILES = ("RuntimeDefault", "Localhost")
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def violations(level: str, minor: int, meta: Object, spec: Object) -> list[CheckResult]:
    """Return the violations of the level, as release 1.`minor` defines it."""
    if level == "privileged":
        return []
    rules = [rule for rule in (_RESTRICTED if level == "restricted" else _BASELINE) if rule[0] <= minor]
    contained = [weaker for _, _, weaker in rules]
    results = (check(meta, spec) for _, check, _ in rules if check not in contained)
    return [result for result in results if result is not None]


def described(results: Iterable[CheckResult]) -> str:
    """Join violations in one line: `privileged (container "a" must not ...), host namespaces (hostPID=true)`."""
    return ", ".join(f"{reason} ({detail})" if detail else reason for reason, detail in results)


def _containers(spec: Object) -> Iterator[tuple[str, Object, Object]]:
    """Yield each container's name, security context and the container itself."""
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(field) or ():
            yield container.get("name", ""), container.get("securityContext") or {}, container


def _contexts(spec: Object) -> list[Object]:
    """Return the security contexts of the pod itself and of its containers."""
    return [spec.get("securityContext") or {}, *(context for _, context, _ in _containers(spec))]


def _where(spec: Object, bad: Callable[[Object], object]) -> list[str]:
    return [name for name, context, _ in _containers(spec) if bad(context)]


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"


def _named(names: list[str], noun: str = "container") -> str:
    return f"{_plural(noun, len(names))} {_quoted(names)}"


def _setters(spec: Object, bad: Callable[[Object], object]) -> str:
    """Return who set a field: the pod, some containers, or both; empty if none."""
    names = _where(spec, bad)
    return " and ".join([*(["pod"] if bad(_contexts(spec)[0]) else []), *([_named(names)] if names else [])])


def _is_windows(spec: Object) -> bool:
    return bool((spec.get("os") or {}).get("name") == "windows")


def _has_user_namespace(spec: Object) -> bool:
    return spec.get("hostUsers") is False


def _unless(exempt: Callable[[Object], bool], check: Check) -> Check:
    return lambda meta, spec: None if exempt(spec) else check(meta, spec)


def _forbidden(reason: str, bad: Callable[[Object], object], wrong: str, *, pod: bool = False) -> Check:
    """Return a check of the security contexts, of the pod itself only with `pod`."""

    def check(_: Object, spec: Object) -> CheckResult | None:
        names = _where(spec, bad)
        setters = _setters(spec, bad) if pod else _named(names) if names else ""
        return (reason, f"{setters} must {wrong}") if setters else None

    return check


def _forbidden_values(field: str, value: Callable[[Object], str], *, pod: bool = False) -> Check:
    """Return a check that also shows the forbidden values of a field; `value` is "" for an allowed one."""

    def check(meta: Object, spec: Object) -> CheckResult | None:
        values = _quoted(sorted({value(context) for context in _contexts(spec)} - {""}))
        path = f"securityContext.{field}{'.type' if pod else ''}"
        return _forbidden(field, value, f"not set {path} to {values}", pod=pod)(meta, spec)

    return check


def _used(reason: str, of: Callable[[Object], list[str]], describe: Callable[[list[str]], str]) -> Check:
    """Return a check of something that containers use."""

    def check(_: Object, spec: Object) -> CheckResult | None:
        used = {name: of(container) for name, _, container in _containers(spec)}
        names = [name for name, items in used.items() if items]
        values = sorted({item for items in used.values() for item in items})
        usage = f"{'uses' if len(names) == 1 else 'use'} {_plural(reason, len(values))} {describe(values)}"
        return (reason, f"{_named(names)} {usage}") if names else None

    return check


def _app_armor(meta: Object, spec: Object) -> CheckResult | None:
    def bad(context: Object) -> str:
        kind = (context.get("appArmorProfile") or {}).get("type")
        return kind if kind is not None and kind not in _PROFILES else ""

    values = sorted({bad(context) for context in _contexts(spec)} - {""})
    marks = sorted(
        f"{key}={msgspec.json.encode(value).decode()}"
        for key, value in (meta.get("annotations") or {}).items()
        if key.startswith(_APPARMOR) and not (value in ("", "runtime/default") or value.startswith("localhost/"))
    )
    setters = [who for who in (_setters(spec, bad), _plural("annotation", len(marks)) if marks else "") if who]
    if not setters:
        return None
    reason = _plural("forbidden AppArmor profile", len(values + marks))
    return reason, f"{' and '.join(setters)} must not set AppArmor profile type to {_quoted([*values, *marks])}"


def _capabilities(context: Object, field: str) -> list[str]:
    return (context.get("capabilities") or {}).get(field) or []


def _added_capabilities(allowed: frozenset[str]) -> Check:
    def added(context: Object) -> set[str]:
        return {*_capabilities(context, "add")} - allowed

    def check(meta: Object, spec: Object) -> CheckResult | None:
        wrong = _quoted(sorted({capability for _, context, _ in _containers(spec) for capability in added(context)}))
        requirement = f"not include {wrong} in {_CONTEXT}.capabilities.add"
        return _forbidden("non-default capabilities", added, requirement)(meta, spec)

    return check


def _restricted_capabilities(meta: Object, spec: Object) -> CheckResult | None:
    not_dropping = _where(spec, lambda context: "ALL" not in _capabilities(context, "drop"))
    details = [f'{_named(not_dropping)} must set securityContext.capabilities.drop=["ALL"]'] if not_dropping else []
    added = _added_capabilities(frozenset(("NET_BIND_SERVICE",)))(meta, spec)
    details += [added[1]] if added else []
    return ("unrestricted capabilities", "; ".join(details)) if details else None


def _host_namespaces(_: Object, spec: Object) -> CheckResult | None:
    shared = [f"{field}=true" for field in ("hostNetwork", "hostPID", "hostIPC") if spec.get(field)]
    return ("host namespaces", ", ".join(shared)) if shared else None


def _host_paths(_: Object, spec: Object) -> CheckResult | None:
    names = [volume.get("name", "") for volume in spec.get("volumes") or () if volume.get("hostPath") is not None]
    return ("hostPath volumes", _named(names, "volume")) if names else None


def _hosts(container: Object) -> list[str]:
    lifecycle = container.get("lifecycle") or {}
    handlers = [container.get(probe) for probe in _PROBES] + [lifecycle.get("postStart"), lifecycle.get("preStop")]
    targets = [(handler or {}).get(kind) or {} for handler in handlers for kind in ("httpGet", "tcpSocket")]
    return [target["host"] for target in targets if target.get("host")]


def _selinux(_: Object, spec: Object) -> CheckResult | None:
    def bad(context: Object) -> bool:
        options = context.get("seLinuxOptions") or {}
        return options.get("type", "") not in _SELINUX_TYPES or bool(options.get("user") or options.get("role"))

    setters = _setters(spec, bad)
    if not setters:
        return None
    options = [context.get("seLinuxOptions") or {} for context in _contexts(spec)]
    types = sorted({option.get("type", "") for option in options} - _SELINUX_TYPES)
    data = [f"{_plural('type', len(types))} {_quoted(types)}"] if types else []
    data += [f"{field} may not be set" for field in ("user", "role") if any(option.get(field) for option in options)]
    return "seLinuxOptions", f"{setters} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}"


def _seccomp(context: Object) -> Any:
    profile = context.get("seccompProfile")
    return None if profile is None else profile.get("type", "")


_baseline_seccomp = _forbidden_values(
    "seccompProfile",
    lambda context: "" if _seccomp(context) in (None, *_PROFILES) else str(_seccomp(context)),
    pod=True,
)


def _restricted_seccomp(meta: Object, spec: Object) -> CheckResult | None:
    result = _baseline_seccomp(meta, spec)
    if result is not None or _seccomp(_contexts(spec)[0]) is not None:
        return result
    names = _where(spec, lambda context: _seccomp(context) is None)
    requirement = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return ("seccompProfile", f"pod or {_named(names)} {requirement}") if names else None


def _sysctls(minor: int) -> Check:
    allowed = frozenset(name for since, names in _SYSCTLS.items() if since <= minor for name in names)

    def check(_: Object, spec: Object) -> CheckResult | None:
        listed = [sysctl.get("name", "") for sysctl in _contexts(spec)[0].get("sysctls") or ()]
        names = [name for name in listed if name not in allowed]
        return ("forbidden sysctls", ", ".join(names)) if names else None

    return check


def _volumes(_: Object, spec: Object) -> CheckResult | None:
    bad = [volume for volume in spec.get("volumes") or () if not _VOLUMES & set(volume)]
    if not bad:
        return None
    kinds = sorted({next((field for field in volume if field != "name"), "unknown") for volume in bad})
    verb = "uses" if len(bad) == 1 else "use"
    names = _named([volume.get("name", "") for volume in bad], "volume")
    what = _plural("restricted volume type", len(kinds))
    return "restricted volume types", f"{names} {verb} {what} {_quoted(kinds)}"


def _non_root(_: Object, spec: Object) -> CheckResult | None:
    setters = _setters(spec, lambda context: context.get("runAsNonRoot") is False)
    names = _where(spec, lambda context: context.get("runAsNonRoot") is None)
    if setters:
        return "runAsNonRoot != true", f"{setters} must not set securityContext.runAsNonRoot=false"
    if _contexts(spec)[0].get("runAsNonRoot") or not names:
        return None
    return "runAsNonRoot != true", f"pod or {_named(names)} must set securityContext.runAsNonRoot=true"


_privileged = _forbidden("privileged", lambda context: context.get("privileged"), f"not set {_CONTEXT}.privileged=true")
_root_user = _forbidden("runAsUser=0", lambda context: context.get("runAsUser") == 0, "not set runAsUser=0", pod=True)
_escalation = _forbidden(
    "allowPrivilegeEscalation != false",
    lambda context: context.get("allowPrivilegeEscalation") is not False,
    f"set {_CONTEXT}.allowPrivilegeEscalation=false",
)
_host_process = _forbidden(
    "hostProcess",
    lambda context: (context.get("windowsOptions") or {}).get("hostProcess"),
    f"not set {_CONTEXT}.windowsOptions.hostProcess=true",
    pod=True,
)
_host_ports = _used(
    "hostPort",
    lambda container: [str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")],
    ", ".join,
)
_mounts = _forbidden_values(
    "procMount", lambda context: str(context.get("procMount") or "Default").replace("Default", "")
)
_private_mounts = _unless(_has_user_namespace, _mounts)
_default_capabilities = _added_capabilities(_CAPABILITIES)

_sysctl_checks = [_sysctls(minor) for minor in _SYSCTLS]

# Minor release, check, and the weaker check it contains; in the order of the real server, by names that it gives them.
_BASELINE: tuple[tuple[int, Check, Check | None], ...] = (
    (0, _app_armor, None),
    (0, _default_capabilities, None),
    (0, _host_namespaces, None),
    (0, _host_paths, None),
    (0, _host_ports, None),
    (34, _used("probe or lifecycle host", _hosts, _quoted), None),
    (0, _privileged, None),
    (0, _private_mounts, None),
    (0, _selinux, None),
    (0, _baseline_seccomp, None),
    *zip(_SYSCTLS, _sysctl_checks, (None, *_sysctl_checks), strict=False),
    (0, _host_process, None),
)
_RESTRICTED = (
    *_BASELINE,
    (8, _unless(_is_windows, _escalation), None),
    (22, _unless(_is_windows, _restricted_capabilities), _default_capabilities),
    (35, _mounts, _private_mounts),
    (0, _volumes, _host_paths),
    (0, _unless(_has_user_namespace, _non_root), None),
    (23, _unless(_has_user_namespace, _root_user), None),
    (19, _unless(_is_windows, _restricted_seccomp), _baseline_seccomp),
)
