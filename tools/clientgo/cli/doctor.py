"""`clientgo doctor`: checks of what a program needs on this machine and in the cluster, one line each with the fix.

    ok       Python       3.13.1, clientgo 0.1.0
    problem  CRD          foos.samples.example.com is not installed: run make install

Each check is a function of what it examines that yields its findings. Without a project only the general checks run,
and without a reachable server those of this machine.
"""

import argparse
import errno
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from clientgo.cli.creating import say
from clientgo.cli.names import CERT_MANAGER, SELF_SIGNED
from clientgo.cli.project import FILE, Project
from clientgo.clock import SYSTEM_CLOCK, Clock, utc
from clientgo.dynamic.client import dynamic_client, metadata_client
from clientgo.envtest.crds import CRDS, Object, read_crds, read_documents
from clientgo.errors import ClientGoError, ConfigError, Forbidden, NotFound, Unauthorized
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.types.authentication_v1 import SelfSubjectReview
from clientgo.kubernetes.types.authorization_v1 import (
    NonResourceAttributes,
    ResourceAttributes,
    SelfSubjectAccessReview,
    SelfSubjectAccessReviewSpec,
)
from clientgo.log.config import has_colors
from clientgo.log.facts import paint
from clientgo.meta.conditions import conditions_of
from clientgo.meta.jsonvalues import same
from clientgo.meta.names import object_name
from clientgo.meta.objects import GroupVersionResource
from clientgo.meta.schema.since import lacking
from clientgo.pki import expiry
from clientgo.program.commandline import FlagParser
from clientgo.rest import Config, load_config
from clientgo.rest.config import Impersonation
from clientgo.rest.request import Requester
from clientgo.serving.certificates import CertificateDirectory
from clientgo.version import KUBERNETES, KUBERNETES_VERSIONS, VERSION, minor_of
from clientgo.webhook.server import WebhookFlags, default_cert_dir, webhooks_enabled

OK, WARNING, PROBLEM = "ok", "warning", "problem"
_COLORS = {OK: "32", WARNING: "33", PROBLEM: "31"}

REQUEST_SECONDS = 5.0
"""Time limit of each request, including its retries."""

PYTHONS = ((3, 11), (3, 14))
"""Oldest and newest tested version."""

PORTS = {8081: "probes", 8080: "metrics over HTTP", 8443: "metrics over HTTPS"}
"""Default ports of scaffolded managers, besides that of webhooks; only the first is in use without flags."""

_NOT_OURS = frozenset(("tests", "generated", "node_modules"))
"""Folders of a project without code that writes to a cluster, besides hidden ones."""

RENEWAL = timedelta(days=1)
"""Remaining lifetime of a certificate below which it is reported."""

_ACCEPTED = ("NamesAccepted", "Established")
"""Conditions of a CRD that is served."""

_RUN = re.compile(r"clientgo(?:\.cli)? run .+")
_WEBHOOK_HOST = " --webhook-host"
_PORT_FLAGS = {
    "probes": "health-probe-bind-address", "metrics": "metrics-bind-address", "webhooks": "webhook-port",
}  # fmt: skip
"""Flags of the manager that set ports, by purpose."""

_ROLES = ("role.yaml", "leader_election_role.yaml")
"""Roles of the manager in config/rbac; others are for users of its kinds and for Prometheus."""

_PLACEHOLDER = "system"
"""Namespace in scaffolded manifests, which config/default replaces."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Result of a check: its state, its subject, and a message that ends with the fix."""

    state: str
    subject: str
    message: str

    def line(self, *, colors: bool) -> str:
        """Return the line to print."""
        return f"{paint(f'{self.state:8}', _COLORS[self.state], on=colors)} {self.subject:12} {self.message}"


Check = Callable[[], Iterable[Diagnosis]]


def doctor(options: argparse.Namespace, root: Path) -> int:
    """Print a line for each finding; return 1 if one is a problem, else 0."""
    colors, code = has_colors(sys.stdout, os.environ), 0
    for finding in guarded("project", lambda: examine(options, root, os.environ)):
        say(finding.line(colors=colors))
        code = code or int(finding.state == PROBLEM)
    return code


def examine(options: argparse.Namespace, root: Path, environ: Mapping[str, str]) -> Iterator[Diagnosis]:
    """Run the checks of this machine and the cluster, with the flags `kubeconfig`, `context` and `as_user`."""
    project = Project.read(root) if (root / FILE).exists() else None
    yield from check_python(sys.version_info[:3])
    hint = "give --kubeconfig FILE; in a project: make cluster"
    try:
        config = load_config(kubeconfig=options.kubeconfig, context=options.context, hint=hint, environ=environ)
    except ConfigError as error:
        yield Diagnosis(PROBLEM, "kubeconfig", str(error))
    else:
        yield Diagnosis(OK, "kubeconfig", f"{config.source}: {config.host}")
        user = replace(config, impersonate=Impersonation(options.as_user)) if options.as_user else config
        yield from guarded("server", lambda: examine_cluster(config, user, root, project))
    hooks = FlagParser(WebhookFlags, prog="clientgo doctor", description="").parse(())
    served = (
        project is not None and any(resource.webhooks for resource in project.resources) and webhooks_enabled(environ)
    )
    ports = {**PORTS, hooks.webhook_port: "webhooks"}
    needed = () if project is None else (8081, hooks.webhook_port) if served else (8081,)
    running = manager_command(root)
    yield from guarded("ports", lambda: check_ports(ports, needed, running=running))
    if served and _WEBHOOK_HOST in running:
        yield Diagnosis(OK, "certificate", "the project's manager has one of its own (make run WEBHOOK_HOST=...)")
    elif served:
        folder = Path(hooks.webhook_cert_path or default_cert_dir())
        names = hooks.webhook_cert_name, hooks.webhook_cert_key
        yield from guarded("certificate", lambda: check_certificate(folder, *names))


def examine_cluster(config: Config, user: Config, root: Path, project: Project | None) -> Iterator[Diagnosis]:
    """Check the server and, if it responds, what the project needs there and what `user` may do."""
    with ExitStack() as stack:
        client, other = (
            stack.enter_context(closing(Clientset(replace(identity, timeout=REQUEST_SECONDS))))
            for identity in (config, user)
        )
        yield from (diagnoses := list(guarded("server", lambda: check_server(client))))
        if any(finding.state == PROBLEM for finding in diagnoses):
            return
        yield from guarded("user", lambda: check_user(other))
        if project is not None:
            yield from guarded("fields", lambda: check_fields(client.discovery.version().minor_number, root))
        folder = root / "config"
        paths = [path for name in ("bases", "patches") if (path := folder / "crd" / name).exists()]
        external = [folder / "crd" / "external"] if (folder / "crd" / "external").exists() else []
        yield from guarded("CRDs", lambda: check_crds(client.requester, read_crds(paths), read_crds(external)))
        if project is not None:
            namespace = f"{project.name}-system"
            roles = [path for name in _ROLES if (path := folder / "rbac" / name).exists()]
            yield from guarded("permissions", lambda: check_permissions(other, roles, namespace))
            yield from guarded("cert-manager", lambda: check_cert_manager(client, project))


def guarded(subject: str, check: Check) -> Iterator[Diagnosis]:
    """Yield the findings of a check; its failure is a problem."""
    try:
        yield from check()
    except ClientGoError as error:
        yield Diagnosis(PROBLEM, subject, str(error))
    except Exception as error:  # noqa: BLE001  # one broken check must not hide the others
        yield Diagnosis(PROBLEM, subject, f"the check failed, please report it: {type(error).__name__}: {error}")


def check_python(version: Sequence[int]) -> Iterator[Diagnosis]:
    """Check the version of Python."""
    (oldest, newest), text = PYTHONS, ".".join(map(str, version))
    if oldest <= tuple(version[:2]) <= newest:
        yield Diagnosis(OK, "Python", f"{text}, clientgo {VERSION}")
    else:
        tested = f"{'.'.join(map(str, oldest))} to {'.'.join(map(str, newest))}"
        yield Diagnosis(WARNING, "Python", f"{text}: clientgo {VERSION} is tested with {tested}: use one of them")


def check_server(client: Clientset) -> Iterator[Diagnosis]:
    """Check that the server responds, and its version."""
    try:
        version = client.discovery.version()
    except Unauthorized as error:
        fix = "check the user of the kubeconfig's context, or log in again"
        yield Diagnosis(PROBLEM, "server", f"it does not accept the credentials ({error}): {fix}")
        return
    oldest, newest = map(minor_of, (KUBERNETES_VERSIONS[0], KUBERNETES))
    about = f"{version.git_version}, clientgo is tested with {KUBERNETES_VERSIONS[0]} to {KUBERNETES}"
    if oldest <= version.minor_number <= newest + 1:
        yield Diagnosis(OK, "server", about)
    elif version.minor_number > newest:
        yield Diagnosis(WARNING, "server", f"{about}, which lack its new fields: upgrade clientgo")
    else:
        yield Diagnosis(WARNING, "server", f"{about}: do not use fields that the server lacks (kubectl explain)")


def check_fields(minor: int, root: Path) -> Iterator[Diagnosis]:
    """Compare the built-in types and fields that a project's code uses with those of the server's minor version."""
    if dropped := lacking(minor, dict(_sources(root))):
        fix = "set them only on newer servers, or require a newer server"
        yield Diagnosis(WARNING, "fields", f"the server would drop {dropped}: {fix}")


def _sources(root: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(root.rglob("*.py")):
        relative = path.relative_to(root)
        if not any(part.startswith(".") or part in _NOT_OURS for part in relative.parts):
            yield relative.as_posix(), path.read_text(encoding="utf-8")


def check_cert_manager(client: Clientset, project: Project) -> Iterator[Diagnosis]:
    """Check that the cluster has cert-manager, if the manifests of the project need it."""
    needs = project.certificates == CERT_MANAGER and any(resource.webhooks for resource in project.resources)
    if needs and not client.discovery.serves("cert-manager.io/v1", "Certificate"):
        fix = f"install it, or clientgo upgrade --certificates={SELF_SIGNED}"
        yield Diagnosis(WARNING, "cert-manager", f"not installed here, which make deploy needs for the webhooks: {fix}")


def check_user(client: Clientset) -> Iterator[Diagnosis]:
    """Tell as whom the server identifies the user."""
    try:
        user = client.authentication_v1.self_subject_reviews().create(SelfSubjectReview()).status.user_info
    except NotFound:  # before Kubernetes 1.28
        return
    if user is not None:
        yield Diagnosis(OK, "user", f"{user.username} ({', '.join(user.groups)})")


def check_crds(
    requester: Requester, expected: Sequence[Object], external: Sequence[Object] = ()
) -> Iterator[Diagnosis]:
    """Compare the CRDs on the server with these; those of other projects need only be there, in any version."""
    good = 0
    for crd in (*expected, *external):
        name = crd["metadata"]["name"]
        try:
            installed = dynamic_client(CRDS, namespaced=False)(requester).get(name).to_dict()
        except NotFound:
            yield Diagnosis(PROBLEM, "CRD", f"{name} is not installed: run make install")
            continue
        except Forbidden as error:
            yield Diagnosis(WARNING, "CRD", f"{name} cannot be compared: {error}")
            continue
        differing_path = "" if crd in external else difference(_comparable(crd["spec"]), _comparable(installed["spec"]))
        refused = [
            str(condition.get("message"))
            for condition in conditions_of(installed)
            if condition.get("type") in _ACCEPTED and condition.get("status") != "True"
        ]
        if "deletionTimestamp" in installed["metadata"]:
            yield Diagnosis(PROBLEM, "CRD", f"{name} is being deleted; {_holders(requester, installed)}")
        elif differing_path:
            yield Diagnosis(PROBLEM, "CRD", f"{name} differs from config/crd in spec{differing_path}: run make install")
        elif refused:
            yield Diagnosis(PROBLEM, "CRD", f"{name} is not served: {'; '.join(refused)}")
        else:
            good += 1
    if good:
        yield Diagnosis(OK, "CRDs", f"{good} installed, equal to config/crd")


def _holders(requester: Requester, crd: Object) -> str:
    """Return what a CRD that is being deleted waits for: the finalizers of its objects."""
    spec = crd["spec"]
    version = next(version["name"] for version in spec["versions"] if version["served"])
    resource = GroupVersionResource(spec["group"], version, spec["names"]["plural"])
    try:
        objects = metadata_client(resource, namespaced=spec["scope"] == "Namespaced")(requester).list().items
    except ClientGoError as error:
        return f"its objects cannot be listed: {error}"
    finalizers = sorted({finalizer for obj in objects for finalizer in obj.metadata.finalizers})
    if not finalizers:
        return "wait until its objects are deleted"
    example = next(object_name(obj) for obj in objects if obj.metadata.finalizers)
    fix = "start their controller, which removes them, then run make install"
    return f"it waits for objects with finalizers ({', '.join(finalizers)}), such as {example}: {fix}"


def _comparable(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a CRD's spec without what the server or kustomize sets."""
    conversion = (spec.get("conversion") or {}).get("strategy", "None")
    return {key: value for key, value in spec.items() if value is not False} | {"conversion": conversion}


def difference(expected: Any, actual: Any) -> str:
    """Return the path of the first difference, such as `.versions[0].served`; empty if both are equal."""
    if same(expected, actual):
        return ""
    if isinstance(expected, dict) and isinstance(actual, dict):
        key = next(
            key
            for key in {**expected, **actual}
            if key not in expected or key not in actual or not same(expected[key], actual[key])
        )
        return f".{key}{difference(expected.get(key), actual.get(key))}"
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        index = next(index for index, value in enumerate(expected) if not same(value, actual[index]))
        return f"[{index}]{difference(expected[index], actual[index])}"
    return ""


def check_permissions(client: Clientset, roles: Sequence[Path], namespace: str) -> Iterator[Diagnosis]:
    """Check that the user has the permissions in files of roles; `namespace` replaces the placeholder in them."""
    reviews = client.authorization_v1.self_subject_access_reviews()
    count, denied = 0, dict[str, list[str]]()
    for verb, what, spec in _accesses(read_documents(roles), namespace):
        count += 1
        if not reviews.create(SelfSubjectAccessReview(spec=spec)).status.allowed:
            denied.setdefault(what, []).append(verb)
    fix = "bind the roles of config/rbac to the user, as make deploy does for the manager's service account"
    for what, verbs in denied.items():
        yield Diagnosis(PROBLEM, "permission", f"the user may not {', '.join(verbs)} {what}: {fix}")
    if not denied:
        yield Diagnosis(OK, "permissions", f"all {count} of the roles of the manager in config/rbac")


def _accesses(roles: Iterable[Object], placeholder: str) -> Iterator[tuple[str, str, SelfSubjectAccessReviewSpec]]:
    for role in roles:
        namespace = role["metadata"].get("namespace", "")
        namespace = placeholder if namespace == _PLACEHOLDER else namespace
        suffix = f" in the namespace {namespace}" if namespace else ""
        for rule in role["rules"]:
            names = rule.get("resourceNames", [""])
            for verb, url in product(rule["verbs"], rule.get("nonResourceURLs", ())):
                path = NonResourceAttributes(path=url, verb=verb)
                yield verb, url, SelfSubjectAccessReviewSpec(non_resource_attributes=path)
            for group, resource, name, verb in product(
                rule.get("apiGroups", ()), rule.get("resources", ()), names, rule["verbs"]
            ):
                plural, _, subresource = resource.partition("/")
                what = f"{resource}{group and f' of {group}'}{name and f' named {name}'}{suffix}"
                attributes = ResourceAttributes(
                    group=group, resource=plural, subresource=subresource, name=name, namespace=namespace, verb=verb
                )
                yield verb, what, SelfSubjectAccessReviewSpec(resource_attributes=attributes)


def manager_command(root: Path) -> str:
    """Return the command line of a project's running `make run`, by the process ids that it records; empty if none."""
    record = root / ".local" / "run.pid"
    pids = [word for word in record.read_text().split() if word.isdecimal()] if record.is_file() else []
    if not pids:
        return ""
    command = ["ps", "-ww", "-o", "args=", "-p", ",".join(pids)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # nosec B603  # numbers only
    match = _RUN.search(done.stdout)  # the system may have given the id to another program
    return match[0] if match else ""


def _flag_ports(command: str) -> dict[str, str]:
    """Return the ports of the flags of a command line, by flag."""
    results = {}
    for word, following in pairwise([*command.split(), ""]):
        name, is_joined, value = word.partition("=")
        results[name.removeprefix("--")] = (value if is_joined else following).rpartition(":")[2]
    return results


def check_ports(ports: Mapping[int, str], needed: Container[int], *, running: str = "") -> Iterator[Diagnosis]:
    """Check that ports are free, by their purposes; only those that are needed are a problem.

    While the project's manager is `running`, with this command line, it has the ports of its flags, else those needed.
    """
    flags = _flag_ports(running)
    free, fix = [], "stop the program that has it, or set another port by flag"
    for port, purpose in ports.items():
        try:
            socket.create_server(("", port)).close()
            free.append(str(port))
        except OSError as error:
            state = PROBLEM if port in needed else WARNING
            by_flag = flags.get(_PORT_FLAGS.get(purpose.partition(" ")[0], ""))
            served = by_flag == str(port) if by_flag else running and port in needed
            if served and error.errno == errno.EADDRINUSE:
                yield Diagnosis(OK, "port", f"{port} ({purpose}) is in use; the project's manager runs (make run)")
                continue
            yield Diagnosis(state, "port", f"{port} ({purpose}) cannot be used: {os.strerror(error.errno or 0)}: {fix}")
    if free:
        yield Diagnosis(OK, "ports", f"free: {', '.join(free)}")


def check_certificate(folder: Path, certificate: str, key: str, clock: Clock = SYSTEM_CLOCK) -> Iterator[Diagnosis]:
    """Check that the certificate of the webhook server is there, matches its key, and is valid for a while."""
    fix = "run make cluster, which writes one, make run WEBHOOK_HOST=ADDRESS, or set ENABLE_WEBHOOKS=false"
    try:
        CertificateDirectory(folder, certificate=certificate, key=key)
    except ConfigError as error:
        yield Diagnosis(PROBLEM, "certificate", f"{error}: {fix}")
        return
    end = expiry((folder / certificate).read_bytes())
    state = PROBLEM if end <= utc(clock) else WARNING if end - utc(clock) < RENEWAL else OK
    text = f"{folder}: valid until {end:%Y-%m-%d %H:%M} UTC"
    yield Diagnosis(state, "certificate", text if state == OK else f"{text}: {fix}")
