"""Metrics for Prometheus and pages for whoever debugs a manager, and who may see them.

Loaded only if they are wanted. Beyond loopback they are served by HTTPS, and only to whom the cluster allows it: the
token of each request is reviewed, and its bearer needs the verb `get` on the path.
"""

from collections.abc import Callable
from contextlib import ExitStack

from clientgo.errors import ConfigError
from clientgo.manager.options import Options
from clientgo.manager.serving import Exhibits
from clientgo.metrics import set_provider
from clientgo.rest.config import Config
from clientgo.serving import Handler, Server
from clientgo.serving.introspection import caches_route, queue_route
from clientgo.serving.listening import address_of
from clientgo.serving.loglevel import log_level_route
from clientgo.serving.prometheus import PrometheusProvider, metrics_route
from clientgo.serving.protected import needs_protection, protected_server
from clientgo.serving.stacks import stacks_route


def metrics_server(options: Options, config: Config | None, exhibits: Exhibits) -> Callable[[ExitStack], Server]:
    """Count from now on; the result makes the server, whose connections the stack closes.

    Raises:
        ConfigError: HTTPS is wanted, and there is no cluster that could say who may see metrics.
    """
    address = address_of(options.metrics_bind_address)
    secure = needs_protection(address, options.metrics_secure)
    if secure and config is None:
        raise ConfigError("metrics by HTTPS need a Config: the cluster is asked who may see them")
    kept = PrometheusProvider()
    set_provider(kept)

    def make(stack: ExitStack) -> Server:
        routes: dict[str, Handler] = {"/metrics": metrics_route(kept.registry), **_pages(exhibits)}
        if not secure or config is None:
            return Server(address, routes, name="metrics")
        server = protected_server(address, routes, config, cert_dir=options.metrics_cert_dir, name="metrics")
        return stack.enter_context(server)

    return make


def _pages(exhibits: Exhibits) -> dict[str, Handler]:
    return {
        "/debug/queue": queue_route(exhibits.queues),
        "/debug/caches": caches_route(exhibits.informers),
        "/debug/stacks": stacks_route(),
        "/debug/flags/v": log_level_route(),
    }
