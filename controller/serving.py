"""What the controller serves, and when: probes for the kubelet, metrics, pages for whoever debugs it.

Servers start first and end last: probes answer while the API server is waited for, and readiness is seen to fail while
workers still finish.
"""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from clientgo.lifecycle import Group
from clientgo.rest import Config
from clientgo.serving import Server, probe_routes
from controller.exhibits import Exhibits
from controller.options import Options

END_SECONDS = 5.0
"""How long answers that are under way may take when the program ends."""


@contextmanager
def showing(options: Options, config: Config, stop: threading.Event) -> Iterator[Exhibits]:
    """Serve what the flags ask for as long as the block lasts; metrics are counted by what is made in it.

    Raises:
        ConfigError: an address is taken, or a certificate can't be used.
    """
    exhibits, serving = Exhibits(stop), options.serving
    probes = {**probe_routes(exhibits.alive), **probe_routes(exhibits.ready, path="/readyz")}
    with ExitStack() as stack:
        # Threads of its own, which the program's stop must not end.
        group = stack.enter_context(Group().ending_within(END_SECONDS))
        servers = exhibits.servers
        servers.append(Server(serving.health_probe_bind_address, probes, name="probes"))
        if serving.metrics_bind_address is not None:
            # Loaded here: metrics cost a tenth of a second and ten megabytes, and who tries the controller has none.
            from controller.metrics import metrics_server  # noqa: PLC0415

            served = metrics_server(serving.metrics_bind_address, options, config, exhibits)
            servers.append(stack.enter_context(served))
        for server in servers:
            server.start(group)
            stack.callback(server.stop)
        yield exhibits
