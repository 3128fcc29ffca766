"""The bundled API server on a port: an event loop in its own thread, started and stopped from any other.

uvicorn serves HTTP. The socket is bound before the thread starts, so that the address is known and a port in use fails
in the caller. Watches are ended before the server is stopped, because it would wait for them.
"""

import asyncio
import contextlib
import ipaddress
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ConfigError
from clientgo.internal.keywords import keywords_of
from clientgo.meta.manifests import read_documents
from clientgo.stop.lifecycle import Group
from clientgo_apiserver.admission.namespaces import create_initial
from clientgo_apiserver.api.users import User
from clientgo_apiserver.audit import AuditFile
from clientgo_apiserver.bootstrap import create_cluster_objects
from clientgo_apiserver.cluster.cluster import start_controllers
from clientgo_apiserver.cluster.stages import Stage, read_stages
from clientgo_apiserver.faults import NAME, Faults
from clientgo_apiserver.handlers.dispatch import Api
from clientgo_apiserver.releases.release import release_of
from clientgo_apiserver.serving.app import App
from clientgo_apiserver.serving.certificates import ServingCertificates
from clientgo_apiserver.serving.stepping import ClockScheduler
from clientgo_apiserver.serving.watchdog import Watchdog
from clientgo_apiserver.serving.wire import Connection, TlsConnection
from clientgo_apiserver.state import Scheduler, ServerOptions, State
from clientgo_apiserver.storage.sqlite import DataUnusable, SqliteJournal, load_or_store_random, write_backup
from clientgo_apiserver.storage.store import Store
from clientgo_apiserver.storage.stored import Journal

_BACKLOG = 2048
_STOP_SECONDS = 5
_ANSWER_SECONDS = 0.05
_TOKEN_KEY = "token.key"  # nosec B105  # a file's name


class ApiServer:
    """Serves the Kubernetes API on 127.0.0.1 between `start` and `stop`; port 0 takes any free port.

    Raises:
        ConfigError: `host` is not loopback, and the server has no TLS and authentication; a file of stages cannot be
            used; or the version or a feature gate is not supported.
    """

    @keywords_of(ServerOptions)
    def __init__(self, **keywords: Any) -> None:
        """Configure a server by the fields of `ServerOptions`; nothing is opened before `start`.

        With TLS the server creates a certificate authority, whose certificate is `ca` once it runs, and accepts the
        client certificates of `client_certificate`. `faults` injects faults.
        """
        options = ServerOptions(**keywords)
        if options.secure:
            options = replace(options, tls=True, authorization="RBAC")
        open_to_all = not options.tls or (options.anonymous and options.authorization == "AlwaysAllow")
        if open_to_all and not ipaddress.ip_address(options.host).is_loopback:
            raise ConfigError(f"the API server can listen on {options.host} only with TLS and authentication")
        self._options = options
        self._release = release_of(options.version, options.feature_gates)
        self._data_dir = Path(options.data_dir) if options.data_dir else None
        self._stages = read_stages(read_documents(map(Path, options.stages)))
        self._audit_file: AuditFile | None = None
        self._certificates: ServingCertificates | None = None
        self._journal: SqliteJournal | None = None
        self.faults = Faults(options.clock)
        self._clock_scheduler: ClockScheduler | None = None
        self._group = Group()
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: uvicorn.Server | None = None
        self._app: App | None = None
        self._address = ""

    def __repr__(self) -> str:
        return f"<ApiServer {self._address or 'not started'}>"

    def __enter__(self) -> "ApiServer":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """URL of the server, `http://127.0.0.1:port` or https; empty before `start`."""
        return self._address

    @property
    def api(self) -> Api:
        """Request handler, for use on the server's loop (see `run`)."""
        assert self._app is not None, "the server has not been started"
        return self._app.api

    def start(self) -> None:
        """Start serving; return when requests are answered.

        Raises:
            OSError: the port is in use, or the audit file cannot be written.
            DataUnusable: the data directory cannot be read or written, or is in use.
        """
        if self._options.tls and self._certificates is None:
            names = dict.fromkeys(("localhost", "127.0.0.1", "::1", socket.gethostname(), self._options.host))
            self._certificates = ServingCertificates(names, self._data_dir)
            self._options = replace(self._options, root_ca=self._certificates.ca.decode())
        listener = socket.socket(socket.AF_INET6 if ":" in self._options.host else socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((self._options.host, self._options.port))
            self._open_files()
        except (OSError, DataUnusable):
            self._close_files()
            listener.close()
            raise
        listener.listen(_BACKLOG)
        scheme = "https" if self._options.tls else "http"
        self._address = f"{scheme}://{_reachable_host(self._options.host)}:{listener.getsockname()[1]}"
        self._group.start(self._run, listener, name="apiserver")
        self._ready.wait()
        if self._app is None:
            # The thread failed during start-up; joining it raises the error.
            self._group.join()

    def stop(self) -> None:
        """End the watches, then the server; return when its thread has ended. Stopping twice does nothing."""
        if self._loop is not None and not self._loop.is_closed():
            with contextlib.suppress(RuntimeError):  # the loop is closed already
                self._loop.call_soon_threadsafe(self._shut_down)
        self._group.stop()
        if self._clock_scheduler is not None:
            self._clock_scheduler.wake()
        self._group.join(timeout=2 * _STOP_SECONDS)

    @property
    def certificates(self) -> ServingCertificates:
        """Certificates of the server and its clients, which can be renewed or replaced; with TLS, once it runs."""
        assert self._certificates is not None, "the server has been started with TLS"
        return self._certificates

    @property
    def ca(self) -> bytes | None:
        """Certificate (PEM) of the authority that signs the server's certificate; None without TLS."""
        return self._certificates.ca if self._certificates is not None else None

    def client_certificate(self, name: str, *groups: str) -> tuple[bytes, bytes]:
        """Return a certificate and key (PEM) that authenticate a client as the user `name` in these groups."""
        return self.certificates.client(name, groups)

    def add_user(self, token: str, user: User) -> None:
        """Accept this bearer token for that user."""
        self._options.tokens[token] = user

    def remove_user(self, token: str) -> None:
        """Reject this bearer token with 401 from now on; it may be unknown."""
        self._options.tokens.pop(token, None)

    def backup(self, folder: Path) -> None:
        """Write all objects into a new data directory: a server started on it is restored from a backup.

        Raises:
            DataUnusable: the directory cannot be written, or is in use.
        """
        self.run(lambda api: write_backup(api.state.store, folder))
        load_or_store_random(folder, _TOKEN_KEY, self._options.token_key)
        if self._certificates is not None:
            self._certificates.keep(folder)

    def run(self, call: Callable[[Api], Any]) -> Any:
        """Run `call(api)` on the server's loop and return its result; for tests that inspect the server."""
        assert self._loop is not None, "the server has not been started"

        async def on_loop() -> Any:
            return call(self.api)

        return asyncio.run_coroutine_threadsafe(on_loop(), self._loop).result()

    def advance(self, seconds: float) -> None:
        """Step the server's clock by `seconds`, and do what is due meanwhile, in order.

        It does not wait for clients, which see the same clock if they have it. Only with a clock that can be stepped.
        """
        assert self._clock_scheduler is not None, "started, with a clock that can be stepped"
        self._clock_scheduler.advance(seconds)

    def requests(self, *, verb: str = "", resource: str = "", subresource: str | None = None) -> int:
        """Return the number of requests of this verb (POST, PUT, LIST, ...) and resource; empty counts all."""
        return sum(
            number
            for call, number in self.run(lambda api: dict(api.state.calls)).items()
            if verb in ("", call.verb) and resource in ("", call.resource) and subresource in (None, call.subresource)
        )

    def _run(self, listener: socket.socket) -> None:
        self._release.activate()
        connection = TlsConnection if self._options.tls else Connection
        config = uvicorn.Config(
            lambda scope, receive, send: self._app(scope, receive, send),  # type: ignore[misc]  # made before requests
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
            ws=_web_socket if self._options.simulate else None,  # type: ignore[arg-type]  # called as a class is
            ws_per_message_deflate=False,
            ws_ping_interval=None,
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
        if self._options.audit_log:
            self._audit_file = AuditFile(Path(self._options.audit_log))
            self._options = replace(self._options, audit=self._audit_file)
        if self._data_dir is not None:
            key = load_or_store_random(self._data_dir, _TOKEN_KEY, self._options.token_key)
            self._options = replace(self._options, token_key=key)
            self._journal = SqliteJournal(self._data_dir)

    def _close_files(self) -> None:
        for file in (self._journal, self._audit_file):
            if file is not None:
                file.close()

    async def _main(self, listener: socket.socket) -> None:
        assert self._server is not None, "made before the loop"
        self._loop = asyncio.get_running_loop()
        scheduler: Scheduler = self._loop
        if self._options.clock is not SYSTEM_CLOCK:
            scheduler = self._clock_scheduler = ClockScheduler(self._loop, self._options.clock, self._group)
        api = build(
            scheduler,
            self._options,
            clock=self.faults.clock,
            journal=self._journal,
            commit_together=True,
            port=listener.getsockname()[1],
            stages=self._stages,
        )
        api.state.start_task = self._loop.create_task
        self.faults.bind(api.state.store, self._disconnect, lambda call: self.run(lambda _: call()))
        if self._options.enable_faults:
            later = partial(self._loop.call_later, _ANSWER_SECONDS)
            api.extra[NAME] = partial(self.faults.answer, later)
        self._app = App(api, self.faults)
        watchdog = Watchdog(self._loop, self._app.requests, SYSTEM_CLOCK)
        self._group.start(watchdog.run, self._group.stop_event, name="watchdog")
        self._loop.call_soon(self._ready.set)
        await self._server.serve(sockets=[listener])
        api.state.store.commit()

    def _disconnect(self) -> None:
        if self._server is not None:
            for connection in list(self._server.server_state.connections):
                connection.transport.abort()

    def _shut_down(self) -> None:
        if self._app is not None:
            self._app.api.state.ready = False
            self._app.close_streams()
            self._app.api.state.webhooks.close()
        if self._server is not None:
            self._server.should_exit = True


def _web_socket(**arguments: Any) -> asyncio.Protocol:
    # Imported here, 60 ms: few clients open a WebSocket, and only those of pods.
    from clientgo_apiserver.serving.websockets import WebSocketConnection  # noqa: PLC0415

    return WebSocketConnection(**arguments)


def _reachable_host(host: str) -> str:
    """Return the address by which this machine reaches a listener on `host`."""
    address = ipaddress.ip_address(host)
    if address.is_unspecified:
        host = "127.0.0.1" if address.version == 4 else "::1"
    return host if address.version == 4 else f"[{host}]"


def build(
    scheduler: Scheduler,
    options: ServerOptions,
    *,
    clock: Clock = SYSTEM_CLOCK,
    journal: Journal | None = None,
    commit_together: bool = False,
    port: int = 6443,
    stages: Sequence[Stage] = (),
    store: Store | None = None,
) -> Api:
    """Build a server without HTTP, with all controllers, on this scheduler, an asyncio loop or a fake.

    The journal commits each write before `Api.answer` returns; with `commit_together`, the writes of one turn of the
    scheduler together, and responses wait for that (see `Store.when_committed`). A `store` may have objects.
    """
    release = release_of(options.version, options.feature_gates)
    release.activate()
    later = scheduler.call_soon if commit_together else None
    store = store or Store(history=options.history, journal=journal, later=later)
    state = State(scheduler, clock, options, release, store=store)
    create_initial(state)
    if options.authorization == "RBAC":
        create_cluster_objects(state, port)
    api = Api(state)
    start_controllers(api, simulate=options.simulate, stages=stages)
    return api
