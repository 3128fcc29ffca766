"""Server of Prometheus metrics and debug pages; loaded only for programs that serve metrics.

Beyond loopback it uses HTTPS and asks the cluster to authenticate and authorize each request: the token's user needs
the verb `get` on the path.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack

from clientgo.errors import ConfigError
from clientgo.flags import Address
from clientgo.metrics import set_provider
from clientgo.rest.config import Config
from clientgo.serving.prometheus import PrometheusProvider, metrics_route
from clientgo.serving.protected import needs_protection, protected_server
from clientgo.serving.routing import Handler
from clientgo.serving.server import Server


def metrics_server(
    address: Address,
    config: Config | None,
    pages: Callable[[], Mapping[str, Handler]],
    *,
    secure: bool | None,
    cert_dir: str | None,
) -> Callable[[ExitStack], Server]:
    """Set the metrics provider, and return a function that creates the server and closes its connections by the stack.

    Raises:
        ConfigError: HTTPS is required, and there is no cluster that authorizes access.
    """
    protected = needs_protection(address, secure)
    if protected and config is None:
        raise ConfigError("metrics over HTTPS need a Config: the cluster authorizes access to them")
    metrics = PrometheusProvider()
    set_provider(metrics)

    def create(stack: ExitStack) -> Server:
        routes: dict[str, Handler] = {"/metrics": metrics_route(metrics.registry), **pages()}
        if not protected or config is None:
            return Server(address, routes, name="metrics")
        return stack.enter_context(protected_server(address, routes, config, cert_dir=cert_dir, name="metrics"))

    return create
