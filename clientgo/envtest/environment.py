"""Test environment: an existing cluster, a control plane of real programs, or the bundled server.

`USE_EXISTING_CLUSTER=true` uses the cluster of the current kubeconfig. `KUBEBUILDER_ASSETS` is a directory with etcd
and kube-apiserver, which are started. Otherwise the bundled server is started, which needs neither programs nor a
container engine. A test that must not touch a real cluster uses `bundled=True`.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.envtest.crds import CRDS, Object, install, read_crds, read_objects, restore_objects
from clientgo.envtest.webhooks import WebhookInstall
from clientgo.rest import Config, RESTClient, load_config
from clientgo.rest.config import Impersonation
from clientgo.rest.kubeconfigwriter import write_kubeconfig
from clientgo.servers import ApiServer, server_factory

if TYPE_CHECKING:
    from clientgo.envtest.controlplane import ControlPlane

EnvironmentKind = Literal["existing cluster", "control plane", "bundled server"]


class Environment:
    """API server with CRDs installed; a context manager that returns its `Config`."""

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
        """Configure an environment; nothing is started before `start`.

        `crd_paths` and `webhook_paths` are YAML files or directories. Webhook configurations are installed so that the
        server calls `webhook_host` at `webhook_port` (0: a free port); `webhooks` has the address and certificate of
        the webhook server once the environment runs. `kubeconfig` is the file to which the kubeconfig of a started
        server is written. `owner_references_permissions` enables the admission plugin
        OwnerReferencesPermissionEnforcement. `audit_log` is a file of audit.k8s.io/v1 events of writes, with
        `audit_reads` of all requests; the bundled server's events have the resourceVersion of the write. An existing
        cluster has neither the log nor the plugin. `apiserver_flags` are added to those of the kube-apiserver of a
        control plane.

        The other options are for the bundled server, `server`, of `clientgo-apiserver`. `data_dir` stores its objects,
        CA and administrator's token, otherwise in memory. `simulate` makes workloads available `ready_seconds` after a
        change; 0 is before the response to the write, unlike on a real cluster. `replica_sets` creates ReplicaSets for
        Deployments, as `kubectl rollout history` needs. `bookmark_interval` is the seconds between the bookmarks of a
        watch. `secure` serves TLS with a token for the administrator and RBAC; a `host` other than loopback requires
        it. `enable_faults` lets clients inject faults; `server.faults` always can.

        Raises:
            NotInstalled: the bundled server is needed, and `clientgo[embedded]` is not installed.
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
        self._config: Config | None = None
        self._kubeconfig = _path(kubeconfig)
        self._simulate = simulate
        self._new_server: Callable[[], ApiServer] | None = None
        if not (self._existing or self._plane):
            self._new_server = partial(
                server_factory(), port=port, host=host, secure=secure, simulate=simulate, ready_seconds=ready_seconds,
                replica_sets=replica_sets, bookmark_interval=bookmark_interval, data_dir=_path(data_dir),
                enable_faults=enable_faults, owner_references_permissions=owner_references_permissions,
                audit_log=audit, audit_reads=audit_reads,
            )  # fmt: skip
        self._clock = clock
        self._written: Path | None = None
        self._restored: list[Object] = []
        self.server: ApiServer | None = None

    def __repr__(self) -> str:
        return f"<Environment {self.kind}{' at ' + self.server.url if self.server else ''}>"

    def __enter__(self) -> Config:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def kind(self) -> EnvironmentKind:
        """Kind of server; `server`, faults and counters exist for the bundled server only."""
        return "existing cluster" if self._existing else "control plane" if self._plane else "bundled server"

    @property
    def config(self) -> Config:
        """Configuration of the administrator; the environment must have been started."""
        assert self._config is not None, "the environment has been started"
        return self._config

    @property
    def control_plane(self) -> "ControlPlane | None":
        """The etcd and kube-apiserver of this environment, which a test may restart."""
        return self._plane

    @property
    def runs_controllers(self) -> bool:
        """True if workloads become available, and garbage collection and namespace deletion run.

        An API server alone does none of it: on a control plane a test sets such statuses itself.
        """
        return self._existing or (self._plane is None and self._simulate)

    def start(self) -> Config:
        """Start the server, install the CRDs, and return the configuration of a client.

        Raises:
            ConfigError: the existing cluster is not found, `host` requires `secure`, a CRD is not served, or the
                kubeconfig file contains another configuration.
            ApiError: the server rejects a CRD.
            OSError: the port is in use, or the kubeconfig cannot be written.
            Exception: the data directory cannot be used, or is in use (`DataUnusable` of the bundled server).
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
        """Return the configuration of another user, a member of these groups.

        The bundled server identifies the user by a token, a control plane by a certificate, an existing cluster by
        impersonation.
        """
        config = self.config
        if self._plane is not None:
            return self._plane.user(name, *groups)
        if self.server is None:
            return replace(config, impersonate=Impersonation(name, groups=groups))
        return replace(config, token=self.server.new_token(name, *groups))

    def stop(self) -> None:
        """Stop the server and remove its kubeconfig. Idempotent.

        An existing cluster keeps the CRDs, because other objects would be deleted with them: existing ones are
        restored, new ones are as in their files, without URLs of this machine.
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
        if self._new_server is not None:
            config = self._start(self._new_server())
        elif self._plane is not None:
            config = self._plane.start()
        else:
            return load_config()
        if self._kubeconfig is not None:
            self._written = write_kubeconfig(
                self._kubeconfig,
                config.host,
                token=config.token,
                ca=config.ca_data.encode() or None,
                client=(config.client_certificate_data.encode(), config.client_key_data.encode()),
            )
        return config

    def _start(self, server: ApiServer) -> Config:
        server.start()
        self.server = server
        return Config(host=server.url, token=server.token, ca_data=(server.ca or b"").decode())

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
        """Restore an existing cluster: it must not call this machine any longer."""
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


def _path(path: Path | str | None) -> Path | None:
    return None if path is None else Path(path)


def _control_plane(
    environ: Mapping[str, str], flags: Sequence[str], audit_log: Path | None, clock: Clock, *, audit_reads: bool
) -> "ControlPlane | None":
    assets = environ.get("KUBEBUILDER_ASSETS", "")
    if not assets:
        return None
    # Imported here: its certificates need a library that costs a tenth of a second.
    from clientgo.envtest.controlplane import ControlPlane  # noqa: PLC0415

    return ControlPlane(Path(assets), environ, flags=flags, audit_log=audit_log, audit_reads=audit_reads, clock=clock)
