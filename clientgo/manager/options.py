"""What a manager is to be like; times are seconds, addresses `HOST:PORT` or `:PORT`, and None is off."""

import math
from dataclasses import dataclass, field

from clientgo.coordination.options import LeaderElectionOptions
from clientgo.errors import ConfigError
from clientgo.flags import Address
from clientgo.manager.cacheoptions import CacheOptions
from clientgo.manager.fieldvalidation import FieldValidation
from clientgo.meta.scheme import Scheme


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """How a program has to do with one cluster.

    `name` is what the program calls itself there: as a field manager, in events, in its informers' metrics. Objects of
    a class of `Unstructured` are cached only with `cache_unstructured`. `field_validation` is what the server does
    about fields that it does not know in what is written; None leaves that to the server.
    """

    name: str
    scheme: Scheme = field(default_factory=Scheme)
    cache: CacheOptions = field(default_factory=CacheOptions)
    cache_unstructured: bool = False
    field_validation: FieldValidation | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise ConfigError("a manager needs a name for each cluster: its writes, events and metrics carry it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(ClusterOptions):
    """What a manager is to be like. Nothing listens, and nobody is elected, unless it is asked for.

    Metrics are served by HTTPS, and to whom the cluster allows it, beyond loopback or as `metrics_secure` says; with
    the certificate in `metrics_cert_dir` (tls.crt, tls.key) or one of its own. `graceful_shutdown_timeout` is how long
    all of it may take to end: 0 for no time, -1 for all the time it takes.
    """

    name: str = "manager"
    leader_election: LeaderElectionOptions | None = None
    metrics_bind_address: Address | str | None = None
    metrics_secure: bool | None = None
    metrics_cert_dir: str | None = None
    health_probe_bind_address: Address | str | None = None
    graceful_shutdown_timeout: float = 30.0

    @property
    def grace(self) -> float:
        """Seconds that ending may take; infinity for all the time it takes."""
        return math.inf if self.graceful_shutdown_timeout < 0 else self.graceful_shutdown_timeout
