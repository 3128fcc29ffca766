"""Server of Prometheus metrics and debug pages; loaded only by programs that serve metrics.

Unless bound to loopback, it uses HTTPS and lets the cluster authenticate and authorize each request: the token's user
needs the verb `get` on the path.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace

from prometheus_client import REGISTRY

from clientgo.errors import ConfigError
from clientgo.internal.hosts import is_loopback
from clientgo.kubernetes.clientset import Clientset
from clientgo.metrics import set_provider
from clientgo.program.flags import Address
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.serving.authorization import TokenAuthorizer
from clientgo.serving.certificates import serving_certificate
from clientgo.serving.checks import Queue
from clientgo.serving.dashboard import Counters, Dashboard
from clientgo.serving.introspection import caches_route, queue_route, stacks_route
from clientgo.serving.prometheus import PrometheusProvider, metrics_route
from clientgo.serving.routing import Handler
from clientgo.serving.server import Server
from clientgo.serving.zpages import flagz_route, log_level_route, statusz_route
from clientgo.version import VERSION

REVIEW_SECONDS = 5.0
"""Time limit for the API server's review of a request."""


def metrics_server(
    address: Address,
    config: Config | None,
    pages: Callable[[PrometheusProvider], Mapping[str, Handler]],
    *,
    secure: bool | None,
    cert_dir: str | None,
) -> Callable[[ExitStack], Server]:
    """Set the metrics provider, and return a function that creates the server and registers its cleanup with the stack.

    The server also exports the default registry of prometheus-client, in which programs register their own metrics.

    That function raises `ConfigError` if the certificate in `cert_dir` is invalid, or if there is none and none can be
    created.

    Raises:
        ConfigError: HTTPS is required, and no cluster authorizes access.
    """
    protected = secure if secure is not None else not is_loopback(address.host)
    if protected and config is None:
        raise ConfigError("metrics over HTTPS need a Config: the cluster authorizes access to them")
    metrics = PrometheusProvider()
    set_provider(metrics)

    def create(stack: ExitStack) -> Server:
        routes: dict[str, Handler] = {"/metrics": metrics_route(metrics.registry, REGISTRY), **pages(metrics)}
        if not protected or config is None:
            return Server(address, routes, name="metrics")
        certificate = serving_certificate(cert_dir)
        # Reviews are no writes: a stop does not wait for them.
        client = stack.enter_context(closing(RESTClient(replace(config, timeout=REVIEW_SECONDS), stop_grace=0.0)))
        cluster = Clientset(client)
        authorizer = TokenAuthorizer(
            cluster.authentication_v1.token_reviews().create,
            cluster.authorization_v1.subject_access_reviews().create,
        )
        return Server(address, routes, tls=certificate, authorizer=authorizer, name="metrics")

    return create


def debug_routes(
    dashboard: Dashboard, counters: Counters, *, flags: Mapping[str, object], queues: Sequence[Queue]
) -> dict[str, Handler]:
    """Return the routes of all pages of a program, the dashboard's among them."""
    informers, clock = dashboard.informers, dashboard.clock
    routes: dict[str, Handler] = {
        "/debug/queue": queue_route(queues),
        "/debug/caches": caches_route(informers, clock=clock),
        "/debug/stacks": stacks_route(),
        "/debug/flags/v": log_level_route(),
        "/flagz": flagz_route(dashboard.component, flags),
    }

    def paths() -> list[str]:
        return ["/metrics", *routes]

    routes["/statusz"] = statusz_route(
        dashboard.component,
        version=VERSION,
        informers=informers,
        queues=queues,
        paths=paths,
        facts=dashboard.facts,
        clock=clock,
    )
    routes |= dashboard.routes(counters, paths)
    return routes
