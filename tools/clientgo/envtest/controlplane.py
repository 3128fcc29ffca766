"""A control plane of real etcd and kube-apiserver programs for a test, like the one of controller-runtime's envtest.

The programs are in the folder that `KUBEBUILDER_ASSETS` names. Both listen on loopback. The API server accepts client
certificates of an authority made for it and authorizes by RBAC. All files are in a temporary folder, which `stop`
removes.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.envtest.options import ControlPlane
from clientgo.envtest.webhooks import free_port
from clientgo.errors import ApiError, ConfigError, ConnectionFailed
from clientgo.pki import CertificateAuthority
from clientgo.program.flags import seconds
from clientgo.rest import Config, RESTClient

ASSETS = "KUBEBUILDER_ASSETS"
START_TIMEOUT = "KUBEBUILDER_CONTROLPLANE_START_TIMEOUT"
STOP_TIMEOUT = "KUBEBUILDER_CONTROLPLANE_STOP_TIMEOUT"
ATTACH_OUTPUT = "KUBEBUILDER_ATTACH_CONTROL_PLANE_OUTPUT"

_SECONDS = 20.0  # controller-runtime's limit for starting and for stopping
_POLL_SECONDS = 0.1
_LAST = 300  # characters of a program's output that an error repeats


class ControlPlaneProcesses:
    """One etcd and one kube-apiserver between `start` and `stop`."""

    def __init__(self, options: ControlPlane, *, clock: Clock = SYSTEM_CLOCK) -> None:
        """Find the programs; the last value of a flag counts.

        Raises:
            ConfigError: a program is missing, or a time limit is invalid.
        """
        assets, environ = Path(options.assets), options.environ
        self._programs = {name: assets / name for name in ("etcd", "kube-apiserver")}
        for path in self._programs.values():
            if not os.access(path, os.X_OK):
                raise ConfigError(f"no program {path.name} in {assets}, the folder that {ASSETS} names")
        plugin = ["--enable-admission-plugins=OwnerReferencesPermissionEnforcement"]
        self._flags = [*(plugin if options.owner_references_permissions else ()), *options.flags]
        self._options = options
        self._start_seconds = _duration(environ, START_TIMEOUT)
        self._stop_seconds = _duration(environ, STOP_TIMEOUT)
        self._attach = environ.get(ATTACH_OUTPUT, "").lower() == "true"
        self._clock = clock
        self._commands: dict[str, list[str]] = {}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._authority = CertificateAuthority.create("clientgo-envtest-ca")
        self._admin: Config | None = None

    def __repr__(self) -> str:
        return f"<ControlPlaneProcesses {self._admin.host if self._admin is not None else 'not started'}>"

    def start(self) -> Config:
        """Start both programs, wait until the API server is ready, and return its administrator's configuration.

        Raises:
            ConfigError: a program ended, or was not ready in time.
        """
        self._folder = tempfile.TemporaryDirectory(prefix="clientgo-envtest-")
        try:
            store = f"http://127.0.0.1:{free_port()}"
            self._commands["etcd"] = _etcd(Path(self._folder.name), store)
            self._run("etcd", lambda: _is_healthy(Config(store), "/health"))
            port = free_port()
            self._admin = admin = self._user(f"https://127.0.0.1:{port}", "kubernetes-admin", "system:masters")
            self._commands["kube-apiserver"] = self._apiserver(Path(self._folder.name), store, port)
            self._run("kube-apiserver", self._ready)
        except BaseException:
            self.stop()
            raise
        return admin

    def restart(self, *, kill: bool = False) -> None:
        """Restart kube-apiserver at the same address; with `kill` it gets no time to close connections.

        Raises:
            ConfigError: it ended, or was not ready in time.
        """
        self._end("kube-apiserver", kill=kill)
        self._run("kube-apiserver", self._ready)

    def user(self, name: str, *groups: str) -> Config:
        """Return the configuration of this user, a member of these groups, who has a client certificate."""
        assert self._admin is not None, "the control plane has been started"
        return self._user(self._admin.host, name, *groups)

    def stop(self) -> None:
        """Stop both programs, the API server first; kill one that does not end in time. Idempotent."""
        for name in ("kube-apiserver", "etcd"):
            self._end(name)
        folder, self._folder = self._folder, None
        if folder is not None:
            folder.cleanup()

    def _user(self, host: str, name: str, *groups: str) -> Config:
        certificate, key = self._authority.client(name, groups)
        return Config(
            host,
            ca_data=self._authority.certificate.decode(),
            client_certificate_data=certificate.decode(),
            client_key_data=key.decode(),
        )

    def _ready(self) -> bool:
        assert self._admin is not None, "made before"
        return _is_healthy(self._admin, "/readyz")

    def _apiserver(self, folder: Path, store: str, port: int) -> list[str]:
        names = ["localhost", "127.0.0.1", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
        certificate, key = self._authority.server(names)
        authority = self._authority.certificate
        files = {"ca.crt": authority, "tls.crt": certificate, "tls.key": key, "sa.key": _signing_key()}
        for name, text in files.items():
            (folder / name).touch(mode=0o600)
            (folder / name).write_bytes(text)
        return [
            f"--etcd-servers={store}",
            f"--cert-dir={folder}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--client-ca-file={folder / 'ca.crt'}",
            f"--tls-cert-file={folder / 'tls.crt'}",
            f"--tls-private-key-file={folder / 'tls.key'}",
            f"--service-account-key-file={folder / 'sa.key'}",
            f"--service-account-signing-key-file={folder / 'sa.key'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--authorization-mode=RBAC",
            "--allow-privileged=true",
            "--disable-admission-plugins=ServiceAccount",  # pods would wait for accounts that no controller creates
            *self._audit(folder),
            *self._flags,
        ]

    def _audit(self, folder: Path) -> list[str]:
        if self._options.audit_log is None:
            return []
        reads = {"level": "None", "verbs": ["get", "list", "watch"]}
        policy = {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived", "ResponseStarted"],
            "rules": [*(() if self._options.audit_reads else (reads,)), {"level": "Metadata"}],
        }
        (folder / "audit.json").write_text(json.dumps(policy), encoding="utf-8")
        return [f"--audit-log-path={self._options.audit_log}", f"--audit-policy-file={folder / 'audit.json'}"]

    def _run(self, name: str, ready: Callable[[], bool]) -> None:
        command = [str(self._programs[name]), *self._commands[name]]
        if self._attach:
            self._running[name] = subprocess.Popen(command, stdout=sys.stderr, stderr=sys.stderr)
        else:
            with self._log(name).open("wb") as out:
                self._running[name] = subprocess.Popen(command, stdout=out, stderr=out)
        self._wait(name, ready)

    def _end(self, name: str, *, kill: bool = False) -> None:
        process = self._running.pop(name, None)
        if process is None:
            return
        if not kill:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(self._stop_seconds)
        process.kill()
        process.wait(_SECONDS)  # a killed process ends unless the kernel holds it: then this raises

    def _wait(self, name: str, ready: Callable[[], bool]) -> None:
        deadline = self._clock.now() + self._start_seconds
        while not ready():
            code = self._running[name].poll()
            if code is not None:
                raise ConfigError(f"{name} ended with status {code}{self._output_tail(name)}")
            if self._clock.now() >= deadline:
                raise ConfigError(f"{name} was not ready after {self._start_seconds:g} s{self._output_tail(name)}")
            self._clock.poll(threading.Event(), _POLL_SECONDS)

    def _log(self, name: str) -> Path:
        assert self._folder is not None, "made before"
        return Path(self._folder.name) / f"{name}.log"

    def _output_tail(self, name: str) -> str:
        if self._attach:
            return ""
        text = self._log(name).read_text(encoding="utf-8", errors="replace").strip()
        return f": {text[-_LAST:]}" if text else ""


def _etcd(folder: Path, url: str) -> list[str]:
    return [
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        "--listen-peer-urls=http://127.0.0.1:0",
        "--unsafe-no-fsync",
    ]


def _signing_key() -> bytes:
    """Return a new EC key as SEC1, the one form from which kube-apiserver also reads the public key."""
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())


def _is_healthy(config: Config, path: str) -> bool:
    client = RESTClient(config, max_retries=0)
    try:
        client.raw("GET", path)
    except (ApiError, ConnectionFailed):
        return False
    finally:
        client.close()
    return True


def _duration(environ: Mapping[str, str], name: str) -> float:
    """Return the seconds of a variable that holds a Go duration (`1m30s`)."""
    text = environ.get(name, "")
    if not text:
        return _SECONDS
    try:
        return seconds(text)
    except ArgumentTypeError:
        message = f"invalid duration {name}={text}: expected a number with a unit, such as 20s or 1m30s"
        raise ConfigError(message) from None
