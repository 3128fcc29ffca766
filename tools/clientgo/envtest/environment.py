"""Test environment: an existing cluster, a control plane of real programs, or the bundled server.

Without a choice, environment variables decide (`server_from`); the bundled server needs neither programs nor a
container engine. A test that must not touch a real cluster uses `server=BundledServer()`.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.envtest.crds import CRDS, Object, install, read_crds, read_objects, restore_objects
from clientgo.envtest.options import BundledServer, ControlPlane, ExistingCluster, ServerChoice, Webhooks
from clientgo.envtest.options import server_from as server_from
from clientgo.envtest.webhooks import WebhookInstall, is_leftover
from clientgo.rest import Config, RESTClient, load_config
from clientgo.rest.config import Impersonation
from clientgo.rest.kubeconfigwriter import remove_kubeconfig, write_kubeconfig
from clientgo_apiserver.embedded import EmbeddedServer

if TYPE_CHECKING:
    from clientgo.envtest.controlplane import ControlPlaneProcesses

EnvironmentKind = Literal["existing cluster", "control plane", "bundled server"]


class Environment:
    """API server with CRDs installed; a context manager that returns its `Config`."""

    def __init__(
        self,
        *,
        crd_paths: Sequence[Path | str] = (),
        webhooks: Webhooks | None = None,
        server: ServerChoice | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Configure an environment; nothing is started before `start`.

        `crd_paths` are YAML files or directories. `server` is chosen by the environment variables if it is None.
        The bundled server lives by `clock`: with a `clientgo.testing.FakeClock`, time passes in `advance` only.

        Raises:
            ConfigError: a program of the control plane is missing.
        """
        self._crds = read_crds(map(Path, crd_paths))
        self._webhook_options = webhooks
        self.webhooks: WebhookInstall | None = None
        self._options = server_from() if server is None else server
        self.control_plane = _processes(self._options, clock) if isinstance(self._options, ControlPlane) else None
        """The etcd and kube-apiserver of this environment, which a test may restart."""
        self._config: Config | None = None
        self._is_started = False
        self.clock = clock
        """Clock of the bundled server, for the managers of a test."""
        self._written: Path | None = None
        self._restored: list[Object] = []
        self.server: EmbeddedServer | None = None
        """The bundled server while it runs."""

    def __repr__(self) -> str:
        return f"<Environment {self.kind}{' at ' + self.server.url if self.server else ''}>"

    def __enter__(self) -> Config:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def kind(self) -> EnvironmentKind:
        """Kind of server; `server`, faults and counters exist for the bundled server only."""
        match self._options:
            case ExistingCluster():
                return "existing cluster"
            case ControlPlane():
                return "control plane"
        return "bundled server"

    @property
    def config(self) -> Config:
        """Configuration of the administrator; the environment must have been started."""
        assert self._config is not None, "the environment has been started"
        return self._config

    @property
    def runs_controllers(self) -> bool:
        """True if workloads become available, and garbage collection and namespace deletion run.

        An API server alone does none of it: on a control plane a test sets such statuses itself.
        """
        return not isinstance(self._options, ControlPlane) and getattr(self._options, "simulate", True)

    def start(self) -> Config:
        """Start the server, install the CRDs, and return the configuration of a client.

        Raises:
            ConfigError: the existing cluster is not found, `host` requires `secure`, a CRD is not served, or the
                kubeconfig file contains another configuration.
            ApiError: the server rejects a CRD.
            OSError: the port is in use, or the kubeconfig cannot be written.
            Exception: the data directory cannot be used, or is in use (`DataUnusable` of the bundled server).
            RuntimeError: it has been started.
        """
        if self._is_started:
            raise RuntimeError("the environment has been started: stop it before starting it again")
        self._is_started = True
        try:
            config = self._connect()
            self._config = config
            self._install(config)
        except BaseException:
            self.stop()
            raise
        return config

    def advance(self, seconds: float) -> None:
        """Step the clock of the bundled server by `seconds`, and have it do what is due meanwhile, in order.

        Clients with the same clock see the time pass; `advance` does not wait for what they do.
        """
        assert self.server is not None, "the bundled server has been started"
        self.server.advance(seconds)

    def add_user(self, name: str, *groups: str) -> Config:
        """Return the configuration of another user, a member of these groups.

        The bundled server identifies the user by a token, a control plane by a certificate, an existing cluster by
        impersonation.
        """
        config = self.config
        if self.control_plane is not None:
            return self.control_plane.user(name, *groups)
        if self.server is None:
            return replace(config, impersonate=Impersonation(name, groups=groups))
        return replace(config, token=self.server.new_token(name, *groups))

    def stop(self) -> None:
        """Stop the server and remove its kubeconfig. Idempotent.

        An existing cluster keeps the CRDs, because other objects would be deleted with them: existing ones are
        restored, new ones are as in their files, without URLs of this machine. So are those that a killed program left.
        """
        server, self.server = self.server, None
        written, self._written = self._written, None
        self._is_started = False
        try:
            self._restore()
        finally:
            if server is not None:
                server.stop()
            if self.control_plane is not None:
                self.control_plane.stop()
            if written is not None and self._config is not None:
                remove_kubeconfig(written, self._config.host)

    def _connect(self) -> Config:
        options = self._options
        if isinstance(options, ExistingCluster):
            return options.config or load_config()
        config = self.control_plane.start() if self.control_plane is not None else self._start_bundled()
        if options.kubeconfig is not None:
            self._written = write_kubeconfig(
                Path(options.kubeconfig),
                config.host,
                token=config.token,
                ca=config.ca_data.encode() or None,
                client=(config.client_certificate_data.encode(), config.client_key_data.encode()),
            )
        return config

    def _start_bundled(self) -> Config:
        assert isinstance(self._options, BundledServer), "neither an existing cluster nor a control plane"
        server = EmbeddedServer.on_port(self._options, self.clock)
        server.start()
        self.server = server
        return Config(host=server.url, token=server.token, ca_data=(server.ca or b"").decode())

    def _install(self, config: Config) -> None:
        crds = self._crds
        options = self._webhook_options
        if options is not None and options.paths:
            paths = [Path(path) for path in options.paths]
            self.webhooks = WebhookInstall(paths, host=options.host, port=options.port)
            crds = [self.webhooks.local_crd(crd) for crd in crds]
        with closing(RESTClient(config)) as client:
            if isinstance(self._options, ExistingCluster):
                existing = read_objects(client, CRDS, crds)
                before = {crd["metadata"]["name"]: crd for crd in existing if not is_leftover(crd)}
                written = ((crd, before.get(crd["metadata"]["name"])) for crd in self._crds)
                self._restored = [was or crd for crd, was in written if was or crd not in crds]
            install(client, crds)  # by real time: what it waits for does not depend on a stepped clock
            if self.webhooks is not None:
                self.webhooks.install(client)

    def _restore(self) -> None:
        """Restore an existing cluster: it must not call this machine any longer."""
        webhooks, self.webhooks = self.webhooks, None
        crds, self._restored = self._restored, []
        try:
            if isinstance(self._options, ExistingCluster) and self._config is not None:
                with closing(RESTClient(self._config)) as client:
                    if webhooks is not None:
                        webhooks.uninstall(client)
                    restore_objects(client, CRDS, crds)
        finally:
            if webhooks is not None:
                webhooks.close()


def _processes(options: ControlPlane, clock: Clock) -> "ControlPlaneProcesses":
    # Imported here: its certificates need a library that costs a tenth of a second.
    from clientgo.envtest.controlplane import ControlPlaneProcesses  # noqa: PLC0415

    return ControlPlaneProcesses(options, clock=clock)
