"""HTTP(S) servers of a controller: probes, metrics and debug pages.

    stop, servers = threading.Event(), Group()
    ready = {"informers": informers_synced(informers), "shutdown": not_shutting_down(stop)}
    Server(":8081", {**probe_routes({}), **probe_routes(ready, path="/readyz")}, name="probes").start(servers)

Programs that need them import metrics from `clientgo.serving.prometheus`, which loads prometheus-client, and access by
token from `clientgo.serving.authorization`, which loads Kubernetes' types.
"""

from typing import TYPE_CHECKING

from clientgo.internal.exports import on_demand

if TYPE_CHECKING:
    from clientgo.serving.checks import (
        Check,
        Unhealthy,
        informers_alive,
        informers_synced,
        keys_not_stuck,
        not_shutting_down,
        ping,
        threads_alive,
    )
    from clientgo.serving.connection import Limits
    from clientgo.serving.diagnostics import Diagnostics, ServingOptions, serve_diagnostics
    from clientgo.serving.message import Response, ServingRequest
    from clientgo.serving.probes import probe_routes
    from clientgo.serving.routing import Access, Authorizer, Handler, Route
    from clientgo.serving.server import Server, TLSSource
else:
    # A program that serves nothing has checks, and needs no server.
    __getattr__ = on_demand(
        __name__,
        {
            "checks": "Check Unhealthy informers_alive informers_synced keys_not_stuck not_shutting_down ping"
            " threads_alive",
            "connection": "Limits",
            "diagnostics": "Diagnostics ServingOptions serve_diagnostics",
            "message": "Response ServingRequest",
            "probes": "probe_routes",
            "routing": "Access Authorizer Handler Route",
            "server": "Server TLSSource",
        },
    )

__all__ = [
    "Diagnostics", "ServingOptions", "serve_diagnostics",
    "Server", "Limits", "TLSSource",
    "Route", "Access", "Authorizer", "Handler", "Response", "ServingRequest",
    "Check", "Unhealthy", "probe_routes",
    "ping", "informers_synced", "informers_alive", "threads_alive", "keys_not_stuck", "not_shutting_down",
]  # fmt: skip
