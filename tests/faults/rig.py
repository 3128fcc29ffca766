"""Test rig: the whole controller in this process, over real HTTP through a proxy, with instrumentation.

The controller is `controller.program`'s; a wrapper counts its requests and checks that no two workers process one Foo.
The test itself connects to the server directly, not through the proxy.
"""

import logging
import re
import threading
import urllib.request
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from clientgo.cache.informer import SharedInformer
from clientgo.cache.state import InformerState
from clientgo.clock import SYSTEM_CLOCK
from clientgo.envtest import BundledServer, Environment
from clientgo.errors import ClientGoError
from clientgo.kubernetes.clientset import Clientset as Kubernetes
from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.log import TextFormatter
from clientgo.meta import ObjectMeta
from clientgo.metrics import NoMetrics, set_provider
from clientgo.rest import RESTClient
from clientgo.rest.request import EventStream, Request
from clientgo.serving import Diagnostics, serve_diagnostics
from clientgo.stop.lifecycle import Group
from clientgo.testing.eventually import ConditionTimeout, eventually
from clientgo_apiserver.server import ApiServer
from controller.api.v1alpha1 import Foo, FooSpec
from controller.options import Options, parse
from controller.program import control, diagnostics_for
from generated.clientset import Clientset
from tests.faults.proxy import Proxy
from tests.faults.serverprocess import ServerProcess

CRDS = Path(__file__).parent.parent.parent / "artifacts" / "crd"
PLACE = "default"
SECONDS = 2.0
"""How long the server may be silent during one of the controller's requests; by default 75 s."""

_WRITES = frozenset(("create", "update", "patch", "delete"))


class Lines(logging.Handler):
    """Handler for the controller's log: formatted lines, and unexpected exceptions."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(TextFormatter())
        self.lines: list[str] = []
        self.unhandled: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Store the line, unless it is the server's."""
        if record.name.startswith(("clientgo.envtest", "uvicorn", "asyncio")):
            return
        line = self.format(record)
        self.lines.append(line.partition("\n")[0])
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not isinstance(error, ClientGoError):
            self.unhandled.append(line)

    def find(self, pattern: str, first: int = 0) -> str:
        """Return the first line, from number `first` on, that matches the pattern, or ""."""
        check = re.compile(pattern)
        return next((line for line in self.lines[first:] if check.search(line)), "")


class Watched:
    """Wrapper of the controller's client that records lists, and the Foo each thread writes about."""

    def __init__(self, client: RESTClient) -> None:
        self._client = client
        self._lock = threading.Lock()
        self._at: dict[tuple[str, str], int] = {}
        self.supports_watch_list = client.supports_watch_list
        self.lists: list[tuple[float, str]] = []
        self.count: Counter[str] = Counter()
        self.together: list[str] = []

    def do(self, request: Request) -> bytes:
        """Forward the request."""
        self._note(request, request.verb == "list")
        about = _foo_of(request)
        if about is None:
            return self._client.do(request)
        me = threading.get_ident()
        with self._lock:
            if self._at.setdefault(about, me) != me:
                self.together.append(f"{request.verb} {about}")
        try:
            return self._client.do(request)
        finally:
            with self._lock:
                self._at.pop(about, None)

    def watch(self, request: Request) -> EventStream:
        """Forward the request."""
        self._note(request, "sendInitialEvents" in request.query)
        return self._client.watch(request)

    def _note(self, request: Request, listing: bool) -> None:
        with self._lock:
            self.count[request.verb] += 1
            if listing:
                self.lists.append((SYSTEM_CLOCK.now(), request.resource.resource))


def _foo_of(request: Request) -> tuple[str, str] | None:
    if request.verb not in _WRITES or request.resource.resource not in ("foos", "deployments"):
        return None
    name = request.name or msgspec.json.decode(request.body or b"{}")["metadata"]["name"]
    return request.namespace, name


class Rig:
    """Server, proxy and, once started, controller."""

    def __init__(
        self,
        folder: Path,
        *flags: str,
        secure: bool = False,
        silence: float = 85.0,
        bookmarks: float = 60.0,
        data: bool = False,
        process: bool = False,
        location: str = "127.0.0.1",
    ) -> None:
        self.folder = folder
        self.trail = folder / "audit.log"
        self.bookmarks = bookmarks
        self.environment: Environment | ServerProcess = ServerProcess(folder, CRDS, f"--bookmark-interval={bookmarks}")
        if not process:
            stored = folder / "data" if data else None
            self.environment = Environment(
                crd_paths=[CRDS],
                server=BundledServer(
                    secure=secure, audit_log=self.trail, data_dir=stored, host=location, bookmark_interval=bookmarks
                ),
            )
        self.admin_config = self.environment.start()
        self.host = self.admin_config.host
        self.client = RESTClient(self.admin_config)
        self.foos_api, self.kube = Clientset(self.client), Kubernetes(self.client)
        self.proxy = Proxy(self.host)
        self.proxy.start()
        self.config = replace(
            self.admin_config,
            host=f"{self.host.partition('://')[0]}://127.0.0.1:{self.proxy.port}",
            timeout=SECONDS,
            watch_idle_timeout=silence,
        )
        self.options: Options = parse(["--resync-period=0", "--metrics-bind-address=127.0.0.1:0", *flags])
        self.stop = threading.Event()
        self.group = Group(stop=self.stop)
        self.log = Lines()
        self.diagnostics = Diagnostics(parse([]), component="foos")
        self.watched: Watched | None = None
        self.wanted: dict[tuple[str, str], int] = {}
        self.named: set[tuple[str, str]] = set()  # all that were ever wanted
        self._log_level = logging.getLogger().level

    def reach(self, host: str = "", **credentials: Any) -> None:
        """Set the controller's server or credentials; before it is started."""
        self.config = replace(self.config, host=host or self.config.host, **credentials)

    def administer(self, **credentials: Any) -> None:
        """Use these credentials for the test's own requests."""
        self.client.close()
        self.admin_config = replace(self.admin_config, **credentials)
        self.client = RESTClient(self.admin_config)
        self.foos_api, self.kube = Clientset(self.client), Kubernetes(self.client)

    @property
    def server(self) -> ApiServer:
        """Current server."""
        assert isinstance(self.environment.server, ApiServer)
        return self.environment.server

    @property
    def process(self) -> ServerProcess:
        """Server that runs as a process."""
        assert isinstance(self.environment, ServerProcess)
        return self.environment

    @property
    def requests(self) -> Watched:
        """Recorder of the controller's requests."""
        assert self.watched is not None, "it has been started"
        return self.watched

    @property
    def informers(self) -> list[SharedInformer[Foo] | SharedInformer[Deployment]]:
        """Informers of the controller."""
        return [informer for informer in self.diagnostics.informers if isinstance(informer, SharedInformer)]

    def start(self) -> None:
        """Start the controller with the current configuration; return when it syncs."""
        logging.getLogger().addHandler(self.log)
        logging.getLogger().setLevel(logging.INFO)
        self.group.start(self._run, name="program")
        self.until(lambda: bool(self.log.find("starting workers")), 15)
        if self.bookmarks < 60.0:  # the idle timeout applies from the first one on
            self.until(lambda: all(self._has_bookmark(informer.state()) for informer in self.informers), 15)

    def _has_bookmark(self, state: InformerState) -> bool:
        # Nothing else arrives before the first Foo is made.
        opened, last = state.watching_since, state.last_event
        return opened is not None and last is not None and last - opened > self.bookmarks / 2

    def end(self) -> None:
        """Stop everything; raise the controller's exception, if any."""
        try:
            self.stop.set()
            self.group.join(15)
        finally:
            logging.getLogger().removeHandler(self.log)
            logging.getLogger().setLevel(self._log_level)
            set_provider(NoMetrics())
            self.client.close()
            self.proxy.stop()
            self.environment.stop()

    def create(self, name: str, replicas: int = 1, location: str = PLACE) -> None:
        """Create a Foo, and expect it."""
        self.wanted[location, name] = replicas
        self.named.add((location, name))
        self.foos_api.samplecontroller_v1alpha1.foos(location).create(
            Foo(ObjectMeta(name=name, namespace=location), FooSpec(name, replicas)), field_manager="test"
        )

    def scale(self, name: str, replicas: int, location: str = PLACE) -> None:
        """Scale a Foo, and expect the size."""
        self.wanted[location, name] = replicas
        self.foos_api.samplecontroller_v1alpha1.foos(location).patch(name, {"spec": {"replicas": replicas}})

    def delete(self, name: str, location: str = PLACE) -> None:
        """Delete a Foo, and expect its absence."""
        del self.wanted[location, name]
        self.foos_api.samplecontroller_v1alpha1.foos(location).delete(name)

    def metric(self, pattern: str) -> float:
        """Scrape; return the sum of samples whose name and labels match the pattern."""
        check = re.compile(pattern)
        with urllib.request.urlopen(f"{self.diagnostics.urls['metrics']}/metrics", timeout=10) as page:
            text: str = page.read().decode()
        return sum(float(line.rpartition(" ")[2]) for line in text.splitlines() if check.match(line))

    def sent(self) -> float:
        """Return the number of requests sent, including retries."""
        return self.metric(f'rest_client_requests_total.*host="{re.escape(urlsplit(self.config.host).netloc)}"')

    def until(self, what: Callable[[], bool], seconds: float) -> float:
        """Poll until `what()` is true and return the seconds; raise a crash of the controller at once."""
        began = SYSTEM_CLOCK.now()

        def look() -> bool:
            self.group.raise_crash()
            return what()

        try:
            eventually(look, seconds=seconds, every=0.02)
        except ConditionTimeout as error:
            log = "\n".join(self.log.lines[-25:])
            raise AssertionError(f"{error}; the log ends in\n{log}") from error
        return SYSTEM_CLOCK.now() - began

    def _run(self) -> None:
        # What controller.program.run does, with ears.
        self.diagnostics = diagnostics_for(self.options, self.config)
        with serve_diagnostics(self.diagnostics, self.stop), closing(RESTClient(self.config, stop=self.stop)) as client:
            self.watched = Watched(client)
            control(self.config, self.watched, self.options, self.diagnostics, self.stop)
