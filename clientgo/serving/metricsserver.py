"""Server of Prometheus metrics and debug pages; loaded only for programs that serve metrics.

Beyond loopback it uses HTTPS and asks the cluster to authenticate and authorize each request: the token's user needs
the verb `get` on the path.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace

from clientgo.errors import ConfigError
from clientgo.flags import Address
from clientgo.kubernetes.clientset import Clientset
from clientgo.metrics import set_provider
from clientgo.rest.config import Config
from clientgo.serving.authorization import TokenAuthorizer
from clientgo.serving.certificates import serving_certificate
from clientgo.serving.prometheus import PrometheusProvider, metrics_route
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


REVIEW_SECONDS = 5.0
"""How long a request may wait for the API server to say whether it may."""


def needs_protection(address: Address | None, wished: bool | None) -> bool:
    """What was wished for; without a wish, everything but loopback is to be protected."""
    return wished if wished is not None else address is None or not address.is_loopback


@contextmanager
def protected_server(
    address: Address | None, routes: Mapping[str, Handler], config: Config, *, cert_dir: str | None, name: str
) -> Iterator[Server]:
    """The server, not yet started, with connections to the cluster of `config` for as long as the block lasts.

    Raises:
        ConfigError: the certificate in `cert_dir` can't be used, or none is given and none can be made.
    """
    certificate = serving_certificate(cert_dir)
    with closing(Clientset(replace(config, timeout=REVIEW_SECONDS))) as cluster:
        authorizer = TokenAuthorizer(
            cluster.authentication_v1.token_reviews().create,
            cluster.authorization_v1.subject_access_reviews().create,
        )
        yield Server(address, routes, tls=certificate, authorizer=authorizer, name=name)
