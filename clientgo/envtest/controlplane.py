"""Real etcd and kube-apiserver programs, started for a test and stopped after it, as controller-runtime's envtest does.

They are found in the folder `KUBEBUILDER_ASSETS` names. Both listen on loopback; the API server takes certificates of
an authority made for it, and decides by roles (RBAC). Everything they write is in a folder that goes with them.
"""

import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.envtest.apiserver.tls import Authority
from clientgo.errors import ApiError, ConfigError, ConnectionFailed
from clientgo.rest import Config, RESTClient

ASSETS = "KUBEBUILDER_ASSETS"
START_TIMEOUT = "KUBEBUILDER_CONTROLPLANE_START_TIMEOUT"
STOP_TIMEOUT = "KUBEBUILDER_CONTROLPLANE_STOP_TIMEOUT"
ATTACH_OUTPUT = "KUBEBUILDER_ATTACH_CONTROL_PLANE_OUTPUT"

_SECONDS = 20.0  # controller-runtime's limit for starting and for stopping
_POLL_SECONDS = 0.1
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_TERM = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_LAST = 300  # characters of a program's output that an error repeats


class ControlPlane:
    """One etcd and one kube-apiserver between `start` and `stop`."""

    def __init__(self, assets: Path, environ: Mapping[str, str] = os.environ, *, clock: Clock = SYSTEM_CLOCK) -> None:
        """Find the programs.

        Raises:
            ConfigError: one of them is missing, or a time limit is none.
        """
        self._programs = {name: assets / name for name in ("etcd", "kube-apiserver")}
        for path in self._programs.values():
            if not os.access(path, os.X_OK):
                raise ConfigError(f"{ASSETS} names {assets}, but there is no program {path.name} in it")
        self._start_seconds = _duration(environ, START_TIMEOUT)
        self._stop_seconds = _duration(environ, STOP_TIMEOUT)
        self._attach = environ.get(ATTACH_OUTPUT, "").lower() == "true"
        self._clock = clock
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._authority: Authority | None = None
        self._host = ""

    def __repr__(self) -> str:
        return f"<ControlPlane {self._host or 'not started'}>"

    def start(self) -> Config:
        """Start both programs; returns when the API server is ready, with its administrator's credentials.

        Raises:
            ConfigError: one of them ended, or was not ready in time.
        """
        self._folder = tempfile.TemporaryDirectory(prefix="clientgo-envtest-")
        self._authority = Authority("clientgo-envtest-ca")
        try:
            store = f"http://127.0.0.1:{_free_port()}"
            self._run("etcd", _etcd(Path(self._folder.name), store))
            self._wait("etcd", lambda: _asked(Config(store), "/health"))
            port = _free_port()
            self._host = f"https://127.0.0.1:{port}"
            self._run("kube-apiserver", self._apiserver(Path(self._folder.name), store, port))
            admin = self.user("kubernetes-admin", "system:masters")
            self._wait("kube-apiserver", lambda: _asked(admin, "/readyz"))
        except BaseException:
            self.stop()
            raise
        return admin

    def user(self, name: str, *groups: str) -> Config:
        """How to connect as this user, a member of these groups: by a certificate."""
        assert self._authority is not None, "the control plane has been started"
        certificate, key = self._authority.client(name, groups)
        return Config(
            self._host,
            ca_data=self._authority.certificate.decode(),
            client_certificate_data=certificate.decode(),
            client_key_data=key.decode(),
        )

    def stop(self) -> None:
        """Ask both programs to end, the API server first, and make them where they don't. May be called again."""
        for name in ("kube-apiserver", "etcd"):
            process = self._running.pop(name, None)
            if process is None:
                continue
            process.terminate()
            try:
                process.wait(self._stop_seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        folder, self._folder = self._folder, None
        if folder is not None:
            folder.cleanup()

    def _apiserver(self, folder: Path, store: str, port: int) -> list[str]:
        assert self._authority is not None, "made before"
        names = ["localhost", "127.0.0.1", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
        certificate, key = self._authority.server(names)
        _, signing_key = self._authority.client("service-accounts")
        files = {"ca.crt": self._authority.certificate, "tls.crt": certificate, "tls.key": key, "sa.key": signing_key}
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
            "--disable-admission-plugins=ServiceAccount",  # pods would wait for accounts nobody makes
        ]

    def _run(self, name: str, arguments: list[str]) -> None:
        command = [str(self._programs[name]), *arguments]
        if self._attach:
            self._running[name] = subprocess.Popen(command, stdout=sys.stderr, stderr=sys.stderr)
            return
        with self._log(name).open("wb") as out:
            self._running[name] = subprocess.Popen(command, stdout=out, stderr=out)

    def _wait(self, name: str, ready: Callable[[], bool]) -> None:
        deadline = self._clock.now() + self._start_seconds
        while not ready():
            code = self._running[name].poll()
            if code is not None:
                raise ConfigError(f"{name} ended with status {code}{self._last_words(name)}")
            if self._clock.now() >= deadline:
                raise ConfigError(f"{name} was not ready after {self._start_seconds:g} s{self._last_words(name)}")
            self._clock.sleep(threading.Event(), _POLL_SECONDS)

    def _log(self, name: str) -> Path:
        assert self._folder is not None, "made before"
        return Path(self._folder.name) / f"{name}.log"

    def _last_words(self, name: str) -> str:
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


def _asked(config: Config, path: str) -> bool:
    client = RESTClient(config, max_retries=0)
    try:
        client.raw("GET", path)
    except (ApiError, ConnectionFailed):
        return False
    finally:
        client.close()
    return True


def _free_port() -> int:
    """A port that was free a moment ago: the programs cannot say which one they took."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _duration(environ: Mapping[str, str], name: str) -> float:
    """Seconds from a variable that holds a duration as Go writes it (`1m30s`)."""
    text = environ.get(name, "")
    if not text:
        return _SECONDS
    terms = _TERM.findall(text)
    if "".join(number + unit for number, unit in terms) != text:
        raise ConfigError(f"{name}={text} is no duration: 20s or 1m30s is wanted")
    return sum(float(number) * _UNITS[unit] for number, unit in terms)
