"""`--metrics-bind-address`: metrics for Prometheus, pages for whoever debugs the controller, and who may see them.

Loaded only if they are wanted. Beyond loopback they are served by HTTPS, and only to whom the cluster allows it: the
token of each request is reviewed, and its bearer needs the verb `get` on the path (artifacts/rbac/metrics_reader_role).
"""

from collections.abc import Iterator
from contextlib import contextmanager

from clientgo.flags import Address
from clientgo.metrics import set_provider
from clientgo.rest import Config
from clientgo.serving import Handler, Server
from clientgo.serving.introspection import caches_route, queue_route
from clientgo.serving.loglevel import log_level_route
from clientgo.serving.prometheus import PrometheusProvider, metrics_route
from clientgo.serving.protected import needs_protection, protected_server
from clientgo.serving.stacks import stacks_route
from clientgo.serving.zpages import flagz_route, statusz_route
from clientgo.version import VERSION
from controller.component import COMPONENT
from controller.exhibits import Exhibits
from controller.options import Options, as_flags


@contextmanager
def metrics_server(address: Address, options: Options, config: Config, exhibits: Exhibits) -> Iterator[Server]:
    """The server, not yet started; everything made in the block counts with its metrics."""
    kept = PrometheusProvider()
    set_provider(kept)
    routes: dict[str, Handler] = {"/metrics": metrics_route(kept.registry), **pages(exhibits, options)}
    serving = options.serving
    if not needs_protection(address, serving.metrics_secure):
        yield Server(address, routes, name="metrics")
        return
    with protected_server(address, routes, config, cert_dir=serving.metrics_cert_dir, name="metrics") as server:
        yield server


def pages(exhibits: Exhibits, options: Options) -> dict[str, Handler]:
    """What is shown to this machine, and to whom the cluster allows it."""
    routes: dict[str, Handler] = {
        "/debug/queue": queue_route(exhibits.queues),
        "/debug/caches": caches_route(exhibits.informers),
        "/debug/stacks": stacks_route(),
        "/debug/flags/v": log_level_route(),
        "/flagz": flagz_route(COMPONENT, as_flags(options)),
    }
    routes["/statusz"] = statusz_route(
        COMPONENT,
        version=VERSION,
        informers=exhibits.informers,
        queues=exhibits.queues,
        paths=lambda: ["/metrics", *routes],
        facts={"Turn": lambda: exhibits.turn()},
    )
    return routes
