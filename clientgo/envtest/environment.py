"""An API server to test against: a cluster that is there, or the bundled server.

`USE_EXISTING_CLUSTER=true` takes the cluster kubectl would talk to. Otherwise the bundled server is started, which
needs neither binaries nor a container engine. A test that must not touch a real cluster asks for `bundled=True`.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.envtest.apiserver.kubeconfig import NotOurKubeconfig, write_kubeconfig
from clientgo.envtest.apiserver.server import BundledServer
from clientgo.envtest.apiserver.state import Options
from clientgo.envtest.crds import install, read_crds
from clientgo.errors import ConfigError
from clientgo.rest import Config, RESTClient, load_config


class Environment:
    """Starts an API server with some CRDs installed; a context manager that gives its `Config`."""

    def __init__(
        self,
        *,
        crd_paths: Sequence[Path] = (),
        port: int = 0,
        kubeconfig: Path | None = None,
        bundled: bool = False,
        simulate: bool = True,
        ready_seconds: float = 0.0,
        environ: Mapping[str, str] = os.environ,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`kubeconfig` is where the bundled server's is written.

        `simulate` lets its Deployments become available `ready_seconds` after a change; 0 is at once, before the write
        is answered. A real cluster always takes its time, so a test of that order gives it some.
        """
        self._crds = read_crds(crd_paths)
        self._existing = not bundled and environ.get("USE_EXISTING_CLUSTER", "").lower() == "true"
        self._port = port
        self._kubeconfig = kubeconfig
        self._simulate = simulate
        self._options = Options(ready_seconds=ready_seconds)
        self._clock = clock
        self._written: Path | None = None
        self.server: BundledServer | None = None

    def __repr__(self) -> str:
        kind = "existing cluster" if self._existing else "bundled server"
        return f"<Environment {kind}{' at ' + self.server.url if self.server else ''}>"

    def __enter__(self) -> Config:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> Config:
        """Start, install the CRDs, and say how to connect.

        Raises:
            ConfigError: the existing cluster can't be found, a CRD is not served, or the kubeconfig's place is taken by
                a configuration that was not written here.
            ApiError: the server refuses a CRD.
            OSError: the port is taken, or the kubeconfig can't be written.
        """
        try:
            config = load_config() if self._existing else self._start_bundled()
            self._install(config)
        except BaseException:
            self.stop()
            raise
        return config

    def stop(self) -> None:
        """Stop the server, unless it was there before, and remove its kubeconfig. May be called again."""
        server, self.server = self.server, None
        written, self._written = self._written, None
        if server is not None:
            server.stop()
        if written is not None:
            written.unlink(missing_ok=True)

    def _start_bundled(self) -> Config:
        self.server = BundledServer(port=self._port, options=self._options, simulate=self._simulate)
        self.server.start()
        if self._kubeconfig is not None:
            try:
                self._written = write_kubeconfig(self._kubeconfig, self.server.url)
            except NotOurKubeconfig as error:
                raise ConfigError(str(error)) from error
        return Config(host=self.server.url)

    def _install(self, config: Config) -> None:
        client = RESTClient(config)
        try:
            install(client, self._crds, clock=self._clock)
        finally:
            client.close()
