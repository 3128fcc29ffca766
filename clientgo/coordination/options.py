"""Options of leader election and of sharding. All times are seconds, as client-go's leader election defines them."""

from collections.abc import Mapping
from dataclasses import dataclass

from clientgo.errors import ConfigError
from clientgo.meta.objects import EMPTY_MAP
from clientgo.program.commandline import LeaderElectionFlags, ShardingFlags


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderElectionOptions:
    """The Lease by which replicas elect a leader: `id` is its name; the namespace defaults to the program's own."""

    id: str
    namespace: str = ""
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    labels: Mapping[str, str] = EMPTY_MAP

    def __post_init__(self) -> None:
        if not self.id:
            raise ConfigError("leader election needs an id, the name of the Lease that replicas share")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardingOptions:
    """The Leases `lease_prefix`-0, -1, ... by which up to `count` replicas share the objects of one controller."""

    count: int
    lease_prefix: str
    namespace: str = ""
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0


def coordination_options(flags: ShardingFlags) -> LeaderElectionOptions | ShardingOptions | None:
    """Return the options that the flags ask for; None for a single replica."""
    if flags.shard_count:
        return ShardingOptions(
            count=flags.shard_count,
            lease_prefix=flags.shard_lease_prefix,
            namespace=flags.leader_elect_resource_namespace,
            lease_duration=flags.leader_elect_lease_duration,
            renew_deadline=flags.leader_elect_renew_deadline,
            retry_period=flags.leader_elect_retry_period,
        )
    return leader_election_options(flags, flags.leader_elect_resource_name)


def leader_election_options(flags: LeaderElectionFlags, name: str) -> LeaderElectionOptions | None:
    """Return the options that the flags ask for, with `name` for the Lease by default; None without an election."""
    if not flags.leader_elect:
        return None
    return LeaderElectionOptions(
        id=flags.leader_elect_resource_name or name,
        namespace=flags.leader_elect_resource_namespace,
        lease_duration=flags.leader_elect_lease_duration,
        renew_deadline=flags.leader_elect_renew_deadline,
        retry_period=flags.leader_elect_retry_period,
    )
