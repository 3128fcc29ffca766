"""The bundled API server on a loopback port: its own event loop in its own thread, started and stopped from any other.

uvicorn carries the HTTP. The socket is bound before the thread starts, so that the address is known and a port that is
taken is an error of the caller's. Watches are ended before the server is asked to stop: it would wait for them.
"""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Any

import uvicorn

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.envtest.apiserver.api import Api
from clientgo.envtest.apiserver.app import App
from clientgo.envtest.apiserver.crds import DefinitionController
from clientgo.envtest.apiserver.gc import GarbageCollector
from clientgo.envtest.apiserver.internal import Internal
from clientgo.envtest.apiserver.namespacecontroller import NamespaceController
from clientgo.envtest.apiserver.namespaces import create_initial
from clientgo.envtest.apiserver.simulation.deployments import DeploymentSimulation
from clientgo.envtest.apiserver.state import Options, Scheduler, State
from clientgo.envtest.apiserver.store import Store
from clientgo.lifecycle import Group

_BACKLOG = 2048
_STOP_SECONDS = 5


class BundledServer:
    """Serves Kubernetes' API on 127.0.0.1 between `start` and `stop`; port 0 takes any free one.

    Raises:
        OSError: the port is taken (from `start`).
    """

    def __init__(
        self, *, port: int = 0, options: Options | None = None, simulate: bool = True, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        """`simulate` lets the Deployments of the cluster become available, as its controllers would."""
        self._port = port
        self._simulate = simulate
        self._options = options if options is not None else Options()
        self._clock = clock
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
        """Where it is reached: `http://127.0.0.1:port`; empty before `start`."""
        return self._address

    @property
    def api(self) -> Api:
        """The front end, for use on the server's loop (see `run`)."""
        assert self._app is not None, "the server has not been started"
        return self._app.api

    def start(self) -> None:
        """Serve from now on; returns when requests are answered.

        Raises:
            OSError: the port is taken.
        """
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", self._port))
        except OSError:
            listener.close()
            raise
        listener.listen(_BACKLOG)
        self._address = f"http://127.0.0.1:{listener.getsockname()[1]}"
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

    def _run(self, listener: socket.socket) -> None:
        config = uvicorn.Config(
            self._serve,
            interface="asgi3",
            proxy_headers=False,
            http="httptools",
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
        self._server = uvicorn.Server(config)
        try:
            with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
                runner.run(self._main(listener))
        finally:
            listener.close()
            self._ready.set()

    async def _main(self, listener: socket.socket) -> None:
        assert self._server is not None, "made before the loop"
        self._loop = asyncio.get_running_loop()
        self._app = App(build(self._loop, self._options, simulate=self._simulate, clock=self._clock))
        self._loop.call_soon(self._ready.set)
        await self._server.serve(sockets=[listener])

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        assert self._app is not None, "made before the first request"
        await self._app(scope, receive, send)

    def _shut_down(self) -> None:
        if self._app is not None:
            self._app.api.state.ready = False
            self._app.close_streams()
        if self._server is not None:
            self._server.should_exit = True


def build(scheduler: Scheduler, options: Options, *, simulate: bool = True, clock: Clock = SYSTEM_CLOCK) -> Api:
    """A server's inside, controllers and all, on this scheduler (an asyncio loop, or a `ManualScheduler`)."""
    state = State(scheduler, clock, options, store=Store(history=options.history))
    create_initial(state)
    api = Api(state)
    DefinitionController(state).start()
    NamespaceController(state).start()
    internal = Internal(api)
    GarbageCollector(internal).start()
    if simulate:
        DeploymentSimulation(internal, ready_seconds=options.ready_seconds).start()
    return api
