"""The Pod Security Standards: checks of the levels baseline and restricted, in Kubernetes' words.

Each check returns a violation as (reason, detail), or None. `violations` runs the checks of a level in the order of the
real server; a stricter check replaces the one it contains.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import msgspec

from clientgo.apiserver.registry.registry import Object

CheckResult = tuple[str, str]
Check = Callable[[Object, Object], CheckResult | None]
"""Takes a pod's metadata and spec."""

_CAPABILITIES = frozenset((
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP",
    "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
))  # fmt: skip
_SYSCTLS = frozenset((
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start", "net.ipv4.ping_group_range", "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem", "net.ipv4.tcp_syncookies", "net.ipv4.tcp_wmem",
))  # fmt: skip
_SELINUX_TYPES = frozenset(("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"))
_VOLUMES = frozenset((
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected",
    "secret",
))  # fmt: skip
_PROFILES = ("RuntimeDefault", "Localhost")
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_encode = msgspec.json.Encoder().encode


def violations(level: str, minor: int, meta: Object, spec: Object) -> list[CheckResult]:
    """Return the violations of the level, as release 1.`minor` defines it."""
    if level == "privileged":
        return []
    rules = [rule for rule in _RULES if rule.since <= minor and (rule.level == "baseline" or level == "restricted")]
    contained = {name for rule in rules for name in rule.contains}
    found = (rule.check(meta, spec) for rule in rules if rule.name not in contained)
    return [one for one in found if one is not None]


def described(found: Iterable[CheckResult]) -> str:
    """Join violations in one line: `privileged (container "a" must not ...), host namespaces (hostPID=true)`."""
    return ", ".join(f"{reason} ({detail})" if detail else reason for reason, detail in found)


def _containers(spec: Object) -> Iterator[tuple[str, Object, Object]]:
    """Yield each container's name, security context and the container itself."""
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for one in spec.get(field) or ():
            yield one.get("name", ""), one.get("securityContext") or {}, one


def _where(spec: Object, bad: Callable[[Object], object]) -> list[str]:
    return [name for name, context, _ in _containers(spec) if bad(context)]


def _context(spec: Object) -> Object:
    """Return the security context of the pod itself."""
    return spec.get("securityContext") or {}


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


def _named(names: list[str], noun: str = "container") -> str:
    return f"{_plural(noun, len(names))} {_quoted(names)}"


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"


def _setters(pod: object, names: list[str]) -> str:
    """Return who set a field: the pod, some containers, or both; empty if none."""
    return " and ".join([*(["pod"] if pod else []), *([_named(names)] if names else [])])


def _app_armor(meta: Object, spec: Object) -> CheckResult | None:
    def bad(context: Object) -> str:
        kind = (context.get("appArmorProfile") or {}).get("type")
        return kind if kind is not None and kind not in _PROFILES else ""

    names = _where(spec, bad)
    values = sorted({kind for kind in (bad(_context(spec)), *(bad(one) for _, one, _ in _containers(spec))) if kind})
    marks = sorted(
        f"{key}={_encode(value).decode()}"
        for key, value in (meta.get("annotations") or {}).items()
        if key.startswith(_APPARMOR) and not (value in ("", "runtime/default") or value.startswith("localhost/"))
    )
    setters = [who for who in (_setters(bad(_context(spec)), names),) if who]
    setters += [_plural("annotation", len(marks))] if marks else []
    if not setters:
        return None
    reason = _plural("forbidden AppArmor profile", len(values + marks))
    return reason, f"{' and '.join(setters)} must not set AppArmor profile type to {_quoted([*values, *marks])}"


def _added(context: Object, allowed: frozenset[str]) -> list[str]:
    return [one for one in (context.get("capabilities") or {}).get("add") or () if one not in allowed]


def _must_not_include(spec: Object, allowed: frozenset[str]) -> str:
    names = _where(spec, lambda context: _added(context, allowed))
    wrong = sorted({one for _, context, _ in _containers(spec) for one in _added(context, allowed)})
    return f"{_named(names)} must not include {_quoted(wrong)} in securityContext.capabilities.add" if names else ""


def _capabilities_baseline(_: Object, spec: Object) -> CheckResult | None:
    detail = _must_not_include(spec, _CAPABILITIES)
    return ("non-default capabilities", detail) if detail else None


def _capabilities_restricted(_: Object, spec: Object) -> CheckResult | None:
    if _windows(spec):
        return None
    kept = _where(spec, lambda context: "ALL" not in ((context.get("capabilities") or {}).get("drop") or ()))
    details = [f'{_named(kept)} must set securityContext.capabilities.drop=["ALL"]'] if kept else []
    added = _must_not_include(spec, frozenset(("NET_BIND_SERVICE",)))
    details += [added] if added else []
    return ("unrestricted capabilities", "; ".join(details)) if details else None


def _host_namespaces(_: Object, spec: Object) -> CheckResult | None:
    shared = [f"{field}=true" for field in ("hostNetwork", "hostPID", "hostIPC") if spec.get(field)]
    return ("host namespaces", ", ".join(shared)) if shared else None


def _host_paths(_: Object, spec: Object) -> CheckResult | None:
    names = [volume.get("name", "") for volume in spec.get("volumes") or () if volume.get("hostPath") is not None]
    return ("hostPath volumes", _named(names, "volume")) if names else None


def _host_ports(_: Object, spec: Object) -> CheckResult | None:
    used = {name: _ports(container) for name, _, container in _containers(spec)}
    names = [name for name, ports in used.items() if ports]
    if not names:
        return None
    ports = sorted({port for found in used.values() for port in found})
    verb = "uses" if len(names) == 1 else "use"
    return "hostPort", f"{_named(names)} {verb} {_plural('hostPort', len(ports))} {', '.join(ports)}"


def _ports(container: Object) -> list[str]:
    return [str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")]


def _host_probes(_: Object, spec: Object) -> CheckResult | None:
    used = {name: _hosts(container) for name, _, container in _containers(spec)}
    names = sorted(name for name, hosts in used.items() if hosts)
    if not names:
        return None
    hosts = sorted({host for found in used.values() for host in found})
    verb, what = "uses" if len(names) == 1 else "use", _plural("probe or lifecycle host", len(hosts))
    return "probe or lifecycle host", f"{_named(names)} {verb} {what} {_quoted(hosts)}"


def _hosts(container: Object) -> list[str]:
    lifecycle = container.get("lifecycle") or {}
    handlers = [container.get(probe) for probe in _PROBES] + [lifecycle.get("postStart"), lifecycle.get("preStop")]
    targets = [(handler or {}).get(kind) or {} for handler in handlers for kind in ("httpGet", "tcpSocket")]
    return [target["host"] for target in targets if target.get("host")]


def _privileged(_: Object, spec: Object) -> CheckResult | None:
    names = _where(spec, lambda context: context.get("privileged"))
    return ("privileged", f"{_named(names)} must not set securityContext.privileged=true") if names else None


def _proc_mount_baseline(meta: Object, spec: Object) -> CheckResult | None:
    return None if spec.get("hostUsers") is False else _proc_mount(meta, spec)


def _proc_mount(_: Object, spec: Object) -> CheckResult | None:
    names = _where(spec, lambda context: context.get("procMount") not in (None, "Default"))
    if not names:
        return None
    kinds = {context.get("procMount") or "Default" for _, context, _ in _containers(spec)} - {"Default"}
    return "procMount", f"{_named(names)} must not set securityContext.procMount to {_quoted(sorted(kinds))}"


def _selinux(_: Object, spec: Object) -> CheckResult | None:
    def bad(context: Object) -> bool:
        options = context.get("seLinuxOptions") or {}
        return options.get("type", "") not in _SELINUX_TYPES or bool(options.get("user") or options.get("role"))

    setters = _setters(bad(_context(spec)), _where(spec, bad))
    if not setters:
        return None
    contexts = (_context(spec), *(context for _, context, _ in _containers(spec)))
    options = [context.get("seLinuxOptions") or {} for context in contexts]
    types = sorted({one.get("type", "") for one in options} - _SELINUX_TYPES)
    data = [f"{_plural('type', len(types))} {_quoted(types)}"] if types else []
    data += [f"{field} may not be set" for field in ("user", "role") if any(one.get(field) for one in options)]
    return "seLinuxOptions", f"{setters} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}"


def _seccomp(context: Object) -> str | None:
    profile = context.get("seccompProfile")
    return None if profile is None else str(profile.get("type", ""))


def _seccomp_baseline(_: Object, spec: Object) -> CheckResult | None:
    def bad(context: Object) -> bool:
        return _seccomp(context) not in (None, *_PROFILES)

    setters = _setters(bad(_context(spec)), _where(spec, bad))
    if not setters:
        return None
    kinds = {_seccomp(one) for one in (_context(spec), *(context for _, context, _ in _containers(spec))) if bad(one)}
    values = _quoted(sorted(str(kind) for kind in kinds))
    return "seccompProfile", f"{setters} must not set securityContext.seccompProfile.type to {values}"


def _seccomp_restricted(meta: Object, spec: Object) -> CheckResult | None:
    if _windows(spec):
        return None
    found = _seccomp_baseline(meta, spec)
    if found is not None or _seccomp(_context(spec)) is not None:
        return found
    names = _where(spec, lambda context: _seccomp(context) is None)
    wanted = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return ("seccompProfile", f"pod or {_named(names)} {wanted}") if names else None


def _sysctls(_: Object, spec: Object) -> CheckResult | None:
    names = [one.get("name", "") for one in _context(spec).get("sysctls") or () if one.get("name") not in _SYSCTLS]
    return ("forbidden sysctls", ", ".join(names)) if names else None


def _host_process(_: Object, spec: Object) -> CheckResult | None:
    def bad(context: Object) -> bool:
        return bool((context.get("windowsOptions") or {}).get("hostProcess"))

    setters = _setters(bad(_context(spec)), _where(spec, bad))
    wrong = "must not set securityContext.windowsOptions.hostProcess=true"
    return ("hostProcess", f"{setters} {wrong}") if setters else None


def _escalation(_: Object, spec: Object) -> CheckResult | None:
    if _windows(spec):
        return None
    names = _where(spec, lambda context: context.get("allowPrivilegeEscalation") is not False)
    wanted = "must set securityContext.allowPrivilegeEscalation=false"
    return ("allowPrivilegeEscalation != false", f"{_named(names)} {wanted}") if names else None


def _volumes(_: Object, spec: Object) -> CheckResult | None:
    bad = [one for one in spec.get("volumes") or () if not _VOLUMES & set(one)]
    if not bad:
        return None
    kinds = sorted({next((field for field in one if field != "name"), "unknown") for one in bad})
    verb = "uses" if len(bad) == 1 else "use"
    names = _named([one.get("name", "") for one in bad], "volume")
    what = _plural("restricted volume type", len(kinds))
    return "restricted volume types", f"{names} {verb} {what} {_quoted(kinds)}"


def _non_root(_: Object, spec: Object) -> CheckResult | None:
    if spec.get("hostUsers") is False:
        return None
    setters = _setters(
        _context(spec).get("runAsNonRoot") is False, _where(spec, lambda one: one.get("runAsNonRoot") is False)
    )
    if setters:
        return "runAsNonRoot != true", f"{setters} must not set securityContext.runAsNonRoot=false"
    if _context(spec).get("runAsNonRoot"):
        return None
    names = _where(spec, lambda one: one.get("runAsNonRoot") is None)
    wanted = "must set securityContext.runAsNonRoot=true"
    return ("runAsNonRoot != true", f"pod or {_named(names)} {wanted}") if names else None


def _root_user(_: Object, spec: Object) -> CheckResult | None:
    if spec.get("hostUsers") is False:
        return None
    setters = _setters(_context(spec).get("runAsUser") == 0, _where(spec, lambda one: one.get("runAsUser") == 0))
    return ("runAsUser=0", f"{setters} must not set runAsUser=0") if setters else None


def _windows(spec: Object) -> bool:
    return bool((spec.get("os") or {}).get("name") == "windows")


@dataclass(frozen=True, slots=True)
class _Rule:
    """A check, its level and minor release, and the weaker checks it contains."""

    name: str
    level: str
    since: int
    check: Check
    contains: tuple[str, ...] = ()


# In the order of the real server: by name, the baseline's first.
_RULES = (
    _Rule("appArmorProfile", "baseline", 0, _app_armor),
    _Rule("capabilities_baseline", "baseline", 0, _capabilities_baseline),
    _Rule("hostNamespaces", "baseline", 0, _host_namespaces),
    _Rule("hostPathVolumes", "baseline", 0, _host_paths),
    _Rule("hostPorts", "baseline", 0, _host_ports),
    _Rule("hostProbesAndHostLifecycle", "baseline", 34, _host_probes),
    _Rule("privileged", "baseline", 0, _privileged),
    _Rule("procMount", "baseline", 0, _proc_mount_baseline),
    _Rule("seLinuxOptions", "baseline", 0, _selinux),
    _Rule("seccompProfile_baseline", "baseline", 0, _seccomp_baseline),
    _Rule("sysctls", "baseline", 0, _sysctls),
    _Rule("windowsHostProcess", "baseline", 0, _host_process),
    _Rule("allowPrivilegeEscalation", "restricted", 8, _escalation),
    _Rule("capabilities_restricted", "restricted", 22, _capabilities_restricted, ("capabilities_baseline",)),
    _Rule("procMount_restricted", "restricted", 35, _proc_mount, ("procMount",)),
    _Rule("restrictedVolumes", "restricted", 0, _volumes, ("hostPathVolumes",)),
    _Rule("runAsNonRoot", "restricted", 0, _non_root),
    _Rule("runAsUser", "restricted", 23, _root_user),
    _Rule("seccompProfile_restricted", "restricted", 19, _seccomp_restricted, ("seccompProfile_baseline",)),
)
