"""The bundled API server on a loopback port: its own event loop in its own thread, started and stopped from any other.

uvicorn carries the HTTP. The socket is bound before the thread starts, so that the address is known and a port that is
taken is an error of the caller's. Watches are ended before the server is asked to stop: it would wait for them.
"""

import asyncio
import contextlib
import ipaddress
import socket
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn

from clientgo.apiserver.admission.namespaces import create_initial
from clientgo.apiserver.api import Api
from clientgo.apiserver.apiextensions.crds import DefinitionController
from clientgo.apiserver.audit import AuditFile, Sink
from clientgo.apiserver.auth.keptkeys import kept
from clientgo.apiserver.auth.rbacbootstrap import AggregationController, create_initial_roles
from clientgo.apiserver.auth.users import User
from clientgo.apiserver.controllers.deployments import DeploymentSimulation
from clientgo.apiserver.controllers.disruptions import DisruptionSimulation
from clientgo.apiserver.controllers.garbagecollector import GarbageCollector
from clientgo.apiserver.controllers.jobs import JobSimulation
from clientgo.apiserver.controllers.namespaces import NamespaceController
from clientgo.apiserver.controllers.quotas import QuotaController
from clientgo.apiserver.controllers.replicasets import ReplicaSetSimulation
from clientgo.apiserver.faults import Faults, Reach
from clientgo.apiserver.faultsapi import NAME, FaultsApi
from clientgo.apiserver.http.app import App
from clientgo.apiserver.http.certificates import ServingCertificates
from clientgo.apiserver.http.connection import TlsConnection
from clientgo.apiserver.http.wire import Connection
from clientgo.apiserver.internal import Internal
from clientgo.apiserver.state import Options, Scheduler, State
from clientgo.apiserver.storage.journal import DataUnusable, SqliteJournal, write_backup
from clientgo.apiserver.storage.store import Store
from clientgo.apiserver.storage.stored import Journal
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ConfigError
from clientgo.lifecycle import Group

_BACKLOG = 2048
_STOP_SECONDS = 5
_ANSWER_SECONDS = 0.05
_TOKEN_KEY = "token.key"  # nosec B105  # a file's name


class BundledServer:
    """Serves Kubernetes' API on 127.0.0.1 between `start` and `stop`; port 0 takes any free one.

    Raises:
        ConfigError: another `host` is named, where others could reach a server that lets everybody in.
        OSError: the port is taken, or the audit file can't be written (from `start`).
        DataUnusable: the data directory is not usable (from `start`).
    """

    def __init__(
        self,
        *,
        port: int = 0,
        host: str = "127.0.0.1",
        tls: bool = False,
        options: Options | None = None,
        simulate: bool = True,
        data_dir: Path | None = None,
        enable_faults: bool = False,
        audit: Path | Sink | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`simulate` lets the Deployments of the cluster become available, as its controllers would.

        Everything is kept in `data_dir`, where one is named, and is there when a server is started on it again;
        otherwise it is kept in memory, and gone with the server. With `tls` it makes an authority of its own, whose
        certificate is `ca` once the server runs, and takes client certificates that `client_certificate` gives.

        `audit` is told of each write (see `audit`): a file that lines are appended to, or a function that is called
        with each event on the server's thread and must return at once.

        `faults` takes what shall go wrong; with `enable_faults` clients may ask for it too, below `/faults`.
        """
        self._options = options if options is not None else Options()
        self._audit = audit
        self._audit_file: AuditFile | None = None
        self._host = host
        self._tls = tls
        self._require_protection()
        self._certificates: ServingCertificates | None = None
        self._port = port
        self._simulate = simulate
        self._data_dir = data_dir
        self._journal: SqliteJournal | None = None
        self.faults = Faults(clock)
        self._enable_faults = enable_faults
        self._group = Group(clock=clock)
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: uvicorn.Server | None = None
        self._app: App | None = None
        self._address = ""

    def __repr__(self) -> str:
        return f"<BundledServer {self._address or 'not started'}>"

    def __enter__(self) -> "BundledServer":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Where it is reached: `http://127.0.0.1:port`, or https; empty before `start`."""
        return self._address

    @property
    def api(self) -> Api:
        """The front end, for use on the server's loop (see `run`)."""
        assert self._app is not None, "the server has not been started"
        return self._app.api

    def start(self) -> None:
        """Serve from now on; returns when requests are answered.

        Raises:
            OSError: the port is taken, or the audit file can't be written.
            DataUnusable: the data directory can't be read or written, or another server has it.
        """
        if self._tls and self._certificates is None:
            names = dict.fromkeys(("localhost", "127.0.0.1", "::1", socket.gethostname(), self._host))
            self._certificates = ServingCertificates(names, self._data_dir)
        listener = socket.socket(socket.AF_INET6 if ":" in self._host else socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((self._host, self._port))
            self._open_files()
        except (OSError, DataUnusable):
            listener.close()
            raise
        listener.listen(_BACKLOG)
        self._address = f"{'https' if self._tls else 'http'}://{_reached(self._host)}:{listener.getsockname()[1]}"
        self._group.start(self._run, listener, name="apiserver")
        self._ready.wait()
        if self._app is None:
            # The thread died on its way up; joining it raises what of.
            self._group.join()

    def stop(self) -> None:
        """End the watches, then the server; returns when its thread has ended. Stopping twice does nothing."""
        if self._loop is not None and not self._loop.is_closed():
            with contextlib.suppress(RuntimeError):  # the loop has closed meanwhile: nothing is left to stop
                self._loop.call_soon_threadsafe(self._shut_down)
        self._group.stop()
        self._group.join(timeout=2 * _STOP_SECONDS)

    @property
    def certificates(self) -> ServingCertificates:
        """What the server shows, and gives its clients, to be renewed or replaced; with TLS, once it runs."""
        assert self._certificates is not None, "the server has been started with TLS"
        return self._certificates

    @property
    def ca(self) -> bytes | None:
        """The certificate (PEM) of the authority that trusts the server, if it has TLS and runs."""
        return self._certificates.ca if self._certificates is not None else None

    def client_certificate(self, name: str, *groups: str) -> tuple[bytes, bytes]:
        """A certificate and its key (PEM) by which a client is the user `name`, a member of these groups."""
        return self.certificates.client(name, groups)

    def add_user(self, token: str, user: User) -> None:
        """Take this bearer token for that user from now on."""
        self._options.tokens[token] = user

    def remove_user(self, token: str) -> None:
        """Take this bearer token no longer: who shows it is answered 401. It need not be known."""
        self._options.tokens.pop(token, None)

    def backup(self, folder: Path) -> None:
        """Write all that is stored now into a new data directory: a server started on it is restored from a backup.

        Raises:
            DataUnusable: the directory can't be written, or is in use.
        """
        self.run(lambda api: write_backup(api.state.store, folder))
        kept(folder, _TOKEN_KEY, lambda: self._options.token_key)
        if self._certificates is not None:
            self._certificates.keep(folder)

    def run(self, call: Callable[[Api], Any]) -> Any:
        """Run `call(api)` on the server's loop and return what it returns; for tests that look inside."""
        assert self._loop is not None, "the server has not been started"

        async def on_loop() -> Any:
            return call(self.api)

        return asyncio.run_coroutine_threadsafe(on_loop(), self._loop).result()

    def requests(self, *, verb: str = "", resource: str = "", subresource: str | None = None) -> int:
        """How many requests were answered, of this verb (POST, PUT, LIST, ...) and resource; empty counts all."""

        def count(api: Api) -> int:
            return sum(
                number
                for call, number in api.state.calls.items()
                if verb in ("", call.verb)
                and resource in ("", call.resource)
                and (subresource is None or subresource == call.subresource)
            )

        return int(self.run(count))

    def _require_protection(self) -> None:
        if ipaddress.ip_address(self._host).is_loopback:
            return
        if not self._tls or (self._options.anonymous and self._options.authorization == "AlwaysAllow"):
            raise ConfigError(f"the API server can listen on {self._host} only with TLS and authentication")

    def _run(self, listener: socket.socket) -> None:
        connection = TlsConnection if self._tls else Connection
        config = uvicorn.Config(
            self._serve,
            interface="asgi3",
            proxy_headers=False,
            http=partial(connection, patience=self._options.stall_seconds),  # type: ignore[arg-type]
            loop="auto",
            lifespan="off",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_STOP_SECONDS,
            timeout_keep_alive=300,
            ws="none",
        )
        config.load()
        config.ssl = self._certificates.context if self._certificates is not None else None
        self._server = uvicorn.Server(config)
        try:
            with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
                runner.run(self._main(listener))
        finally:
            listener.close()
            self._close_files()
            self._ready.set()

    def _open_files(self) -> None:
        sink = self._audit
        if isinstance(sink, Path):
            sink = self._audit_file = AuditFile(sink)
        if sink is not None:
            self._options = replace(self._options, audit=sink)
        if self._data_dir is not None:
            key = kept(self._data_dir, _TOKEN_KEY, lambda: self._options.token_key)
            self._options = replace(self._options, token_key=key)
        try:
            self._journal = SqliteJournal(self._data_dir) if self._data_dir is not None else None
        except DataUnusable:
            self._close_files()
            raise

    def _close_files(self) -> None:
        if self._journal is not None:
            self._journal.close()
        if self._audit_file is not None:
            self._audit_file.close()

    async def _main(self, listener: socket.socket) -> None:
        assert self._server is not None, "made before the loop"
        self._loop = asyncio.get_running_loop()
        clock = self.faults.clock
        build_on = partial(build, self._loop, self._options, simulate=self._simulate, clock=clock)
        api = build_on(journal=self._journal, commit_together=True)
        reach = Reach(api.state.store, self._disconnect)
        self.faults.bind(lambda act: self.run(lambda _: act(reach)))
        if self._enable_faults:
            # Those who ask over HTTP are on the loop already, and wait for an answer.
            later = partial(self._loop.call_later, _ANSWER_SECONDS, self._disconnect)
            api.extra[NAME] = FaultsApi(self.faults, Reach(api.state.store, later)).answer
        self._app = App(api, self.faults)
        self._loop.call_soon(self._ready.set)
        await self._server.serve(sockets=[listener])
        api.state.store.commit()

    def _serve(self, scope: Any, receive: Any, send: Any) -> Awaitable[None]:
        assert self._app is not None, "made before the first request"
        return self._app(scope, receive, send)

    def _disconnect(self) -> None:
        if self._server is not None:
            for connection in list(self._server.server_state.connections):
                connection.transport.abort()

    def _shut_down(self) -> None:
        if self._app is not None:
            self._app.api.state.ready = False
            self._app.close_streams()
            self._app.api.state.carrier.close()
        if self._server is not None:
            self._server.should_exit = True


def _reached(host: str) -> str:
    """The address by which this machine reaches what listens there."""
    address = ipaddress.ip_address(host)
    if address.is_unspecified:
        return "127.0.0.1" if address.version == 4 else "[::1]"
    return host if address.version == 4 else f"[{host}]"


def build(
    scheduler: Scheduler,
    options: Options,
    *,
    simulate: bool = True,
    clock: Clock = SYSTEM_CLOCK,
    journal: Journal | None = None,
    commit_together: bool = False,
) -> Api:
    """A server's inside, controllers and all, on this scheduler (an asyncio loop, or a `ManualScheduler`).

    The journal keeps each write before `Api.answer` returns; with `commit_together`, those of one turn of the scheduler
    at once, and whoever sends answers waits for that (see `Store.when_committed`).
    """
    later = scheduler.call_soon if commit_together else None
    state = State(scheduler, clock, options, store=Store(history=options.history, journal=journal, later=later))
    create_initial(state)
    if options.authorization == "RBAC":
        create_initial_roles(state)
    api = Api(state)
    DefinitionController(state).start()
    NamespaceController(state).start()
    AggregationController(state).start()
    internal = Internal(api)
    GarbageCollector(internal).start()
    QuotaController(internal).start()
    if simulate:
        DeploymentSimulation(internal, ready_seconds=options.ready_seconds).start()
        JobSimulation(internal, ready_seconds=options.ready_seconds).start()
        DisruptionSimulation(internal).start()
        if options.replica_sets:
            ReplicaSetSimulation(internal).start()
    return api
