"""A server that shows what is not for everybody: by HTTPS, and to whom the cluster allows it.

The token of each request is reviewed, and its bearer needs the verb `get` on the path. On loopback, where only this
machine can ask, neither is needed.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace

from clientgo.flags import Address
from clientgo.kubernetes.clientset import Clientset
from clientgo.rest.config import Config
from clientgo.serving.authorization import TokenAuthorizer
from clientgo.serving.certificates import serving_certificate
from clientgo.serving.routing import Handler
from clientgo.serving.server import Server

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
