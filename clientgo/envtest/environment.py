"""An API server to test against: a cluster that is there, a real control plane of its own, or the bundled server.

`USE_EXISTING_CLUSTER=true` takes the cluster kubectl would talk to. `KUBEBUILDER_ASSETS` names a folder with etcd and
kube-apiserver, which are started. Otherwise the bundled server is, which needs neither programs nor a container engine.
A test that must not touch a real cluster asks for `bundled=True`.
"""

import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from clientgo.apiserver.auth.keptkeys import kept
from clientgo.apiserver.auth.users import ADMIN, authenticated
from clientgo.apiserver.kubeconfig import NotOurKubeconfig, write_kubeconfig
from clientgo.apiserver.server import BundledServer
from clientgo.apiserver.state import Options
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.envtest.crds import CRDS, Object, install, read_crds, read_objects, restore_objects
from clientgo.envtest.webhooks import WebhookInstall
from clientgo.errors import ConfigError
from clientgo.rest import Config, RESTClient, load_config
from clientgo.rest.config import Impersonation

if TYPE_CHECKING:
    from clientgo.envtest.controlplane import ControlPlane

Kind = Literal["existing cluster", "control plane", "bundled server"]

_TOKEN = "admin.token"  # nosec B105  # a file's name


class Environment:
    """Starts an API server with some CRDs installed; a context manager that gives its `Config`."""

    def __init__(
        self,
        *,
        crd_paths: Sequence[Path | str] = (),
        webhook_paths: Sequence[Path | str] = (),
        webhook_host: str = "127.0.0.1",
        webhook_port: int = 0,
        port: int = 0,
        host: str = "127.0.0.1",
        secure: bool = False,
        kubeconfig: Path | str | None = None,
        bundled: bool = False,
        simulate: bool = True,
        ready_seconds: float = 0.0,
        replica_sets: bool = False,
        bookmark_interval: float = 60.0,
        data_dir: Path | str | None = None,
        enable_faults: bool = False,
        owner_references_permissions: bool = False,
        audit_log: Path | str | None = None,
        audit_reads: bool = False,
        apiserver_flags: Sequence[str] = (),
        environ: Mapping[str, str] = os.environ,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Configure an environment; `start` starts it.

        `webhook_paths` are YAML files or folders of webhook configurations: they are installed so that the server calls
        `webhook_host` at `webhook_port`, any free one if it is 0. While it runs, `webhooks` has the address and the
        certificate for the webhook server.

        `kubeconfig` is where that of a server started here is written.

        With `owner_references_permissions` an owner that blocks its deletion is set only by those who may update its
        `finalizers`: the admission plugin OwnerReferencesPermissionEnforcement.

        `audit_log` is a file to which each write is appended as an event of audit.k8s.io/v1; with `audit_reads` every
        request is. The bundled server's events have the resourceVersion that was written. An existing cluster has
        neither this log nor the plugin.

        `apiserver_flags` are further flags for the kube-apiserver of a control plane.

        What follows is for the bundled server.

        It keeps its objects in `data_dir`, and there its authority and the administrator's token, else in memory.

        `simulate` lets its Deployments become available `ready_seconds` after a change; 0 is at once, before the write
        is answered. A real cluster always takes its time, so a test of that order gives it some. With `replica_sets`
        they have ReplicaSets too, as `kubectl rollout history` wants.

        `bookmark_interval` is the seconds between the bookmarks of a watch.

        `secure` is as clusters are: TLS, a token for the administrator, and roles (RBAC) that decide what others may
        do. Without it everybody may do everything, so that a `host` other than loopback needs it.

        `server.faults` lets things go wrong; with `enable_faults` clients of the server may do so too.
        """
        self._crds = read_crds(map(Path, crd_paths))
        self._webhook_paths = [Path(path) for path in webhook_paths]
        self._webhook_host = webhook_host
        self._webhook_port = webhook_port
        self.webhooks: WebhookInstall | None = None
        self._plane: ControlPlane | None = None
        self._existing = not bundled and environ.get("USE_EXISTING_CLUSTER", "").lower() == "true"
        plugin = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement"
        flags = [*([plugin] if owner_references_permissions else ()), *apiserver_flags]
        audit = _path(audit_log)
        if not (bundled or self._existing):
            self._plane = _control_plane(environ, flags, audit, clock, audit_reads=audit_reads)
        self._port = port
        self._host = host
        self._secure = secure
        self._config: Config | None = None
        self._kubeconfig = _path(kubeconfig)
        self._simulate = simulate
        self._data_dir = _path(data_dir)
        self._enable_faults = enable_faults
        self._options = Options(
            ready_seconds=ready_seconds,
            replica_sets=replica_sets,
            bookmark_interval=bookmark_interval,
            audit_reads=audit_reads,
            owner_references_permissions=owner_references_permissions,
        )
        self._audit_log = audit
        self._clock = clock
        self._written: Path | None = None
        self._restored: list[Object] = []
        self.server: BundledServer | None = None

    def __repr__(self) -> str:
        return f"<Environment {self.kind}{' at ' + self.server.url if self.server else ''}>"

    def __enter__(self) -> Config:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def kind(self) -> Kind:
        """What there is to test against: `server`, faults and counters are the bundled server's alone."""
        return "existing cluster" if self._existing else "control plane" if self._plane else "bundled server"

    @property
    def control_plane(self) -> "ControlPlane | None":
        """The etcd and kube-apiserver started here, which a test may restart."""
        return self._plane

    @property
    def runs_controllers(self) -> bool:
        """Whether Deployments become available, and owned objects and the contents of namespaces go with their owners.

        An API server alone does none of it: in a control plane, a test sets such statuses itself or leaves them out.
        """
        return self._existing or (self._plane is None and self._simulate)

    def start(self) -> Config:
        """Start, install the CRDs, and say how to connect.

        Raises:
            ConfigError: the existing cluster can't be found, `host` needs protection, a CRD is not served, or the
                kubeconfig's place is taken by a configuration that was not written here.
            ApiError: the server refuses a CRD.
            OSError: the port is taken, or the kubeconfig can't be written.
            DataUnusable: the data directory can't be used, or another server has it.
        """
        try:
            config = self._connect()
            self._config = config
            self._install(config)
        except BaseException:
            self.stop()
            raise
        return config

    def add_user(self, name: str, *groups: str) -> Config:
        """How to connect as another user, a member of these groups.

        The bundled server knows the user by a token, a control plane by a certificate; a cluster that was there before
        is asked to let us act as it.
        """
        assert self._config is not None, "the environment has been started"
        if self._plane is not None:
            return self._plane.user(name, *groups)
        if self.server is None:
            return replace(self._config, impersonate=Impersonation(name, groups=groups))
        token = _new_token().decode()
        self.server.add_user(token, authenticated(name, *groups))
        return replace(self._config, token=token)

    def stop(self) -> None:
        """Stop the server and remove its kubeconfig. Idempotent.

        An existing cluster keeps the CRDs, because objects of others would go with them: those that it had before as
        they were, and the others as their files have them, without the URLs of this machine.
        """
        server, self.server = self.server, None
        written, self._written = self._written, None
        try:
            self._restore()
        finally:
            if server is not None:
                server.stop()
            if self._plane is not None:
                self._plane.stop()
            if written is not None:
                written.unlink(missing_ok=True)

    def _connect(self) -> Config:
        if self._existing:
            return load_config()
        config = self._plane.start() if self._plane is not None else self._start_bundled()
        if self._kubeconfig is not None:
            try:
                self._written = write_kubeconfig(
                    self._kubeconfig,
                    config.host,
                    token=config.token,
                    ca=config.ca_data.encode() or None,
                    client=(config.client_certificate_data.encode(), config.client_key_data.encode()),
                )
            except NotOurKubeconfig as error:
                raise ConfigError(str(error)) from error
        return config

    def _start_bundled(self) -> Config:
        token = kept(self._data_dir, _TOKEN, _new_token).decode() if self._secure else ""
        if self._secure:
            self._options = replace(self._options, tokens={token: ADMIN}, authorization="RBAC")
        server = BundledServer(
            port=self._port,
            host=self._host,
            tls=self._secure,
            options=self._options,
            simulate=self._simulate,
            data_dir=self._data_dir,
            enable_faults=self._enable_faults,
            audit=self._audit_log,
        )
        server.start()
        self.server = server
        return Config(host=server.url, token=token, ca_data=server.ca.decode() if server.ca is not None else "")

    def _install(self, config: Config) -> None:
        crds = self._crds
        if self._webhook_paths:
            self.webhooks = WebhookInstall(self._webhook_paths, host=self._webhook_host, port=self._webhook_port)
            crds = [self.webhooks.local_crd(crd) for crd in crds]
        with closing(RESTClient(config)) as client:
            if self._existing:
                before = {crd["metadata"]["name"]: crd for crd in read_objects(client, CRDS, crds)}
                written = ((crd, before.get(crd["metadata"]["name"])) for crd in self._crds)
                self._restored = [was or crd for crd, was in written if was or crd not in crds]
            install(client, crds, clock=self._clock)
            if self.webhooks is not None:
                self.webhooks.install(client)

    def _restore(self) -> None:
        """Undo in an existing cluster what would outlive this environment: it must not call this machine."""
        webhooks, self.webhooks = self.webhooks, None
        crds, self._restored = self._restored, []
        try:
            if self._existing and self._config is not None:
                with closing(RESTClient(self._config)) as client:
                    if webhooks is not None:
                        webhooks.uninstall(client)
                    restore_objects(client, CRDS, crds)
        finally:
            if webhooks is not None:
                webhooks.close()


def _path(given: Path | str | None) -> Path | None:
    return None if given is None else Path(given)


def _new_token() -> bytes:
    # Of digits and letters: programs take an argument that begins with a dash for an option.
    return secrets.token_hex(32).encode()


def _control_plane(
    environ: Mapping[str, str], flags: Sequence[str], audit_log: Path | None, clock: Clock, *, audit_reads: bool
) -> "ControlPlane | None":
    assets = environ.get("KUBEBUILDER_ASSETS", "")
    if not assets:
        return None
    # Loaded here: its certificates need a library that costs a tenth of a second, and hardly anybody names programs.
    from clientgo.envtest.controlplane import ControlPlane  # noqa: PLC0415

    return ControlPlane(Path(assets), environ, flags=flags, audit_log=audit_log, audit_reads=audit_reads, clock=clock)
