"""What a controller shows of itself over HTTP(S): probes, metrics, and pages for whoever debugs it.

    stop, servers = threading.Event(), Group()
    ready = {"informers": informers_synced(informers), "shutdown": not_shutting_down(stop)}
    Server(":8081", {**probe_routes({}), **probe_routes(ready, path="/readyz")}, name="probes").start(servers)

Metrics are in `clientgo.serving.prometheus`, which loads prometheus-client, and access by token is in
`clientgo.serving.authorization`, which loads Kubernetes' types: a program imports them if it wants them.
"""

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

__all__ = [
    "Diagnostics", "ServingOptions", "serve_diagnostics",
    "Server", "Limits", "TLSSource",
    "Route", "Access", "Authorizer", "Handler", "Response", "ServingRequest",
    "Check", "Unhealthy", "probe_routes",
    "ping", "informers_synced", "informers_alive", "threads_alive", "keys_not_stuck", "not_shutting_down",
]  # fmt: skip
