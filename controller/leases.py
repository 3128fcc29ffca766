"""Turns that depend on Leases: this replica leads the others, or has a share of the Foos. Loaded if it is not alone."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from clientgo.errors import ConfigError
from clientgo.kubernetes.clientset import Clientset
from clientgo.leaderelection import LeaseLock, Lock, config_for_lock, new_identity
from clientgo.record import EventRecorder
from clientgo.rest import Config
from controller.leadership import Leading
from controller.options import ElectionOptions, Options
from controller.sharing import Sharing
from controller.turns import Turn


@contextmanager
def leased_turn(options: Options, config: Config, recorder: EventRecorder) -> Iterator[Turn]:
    """What the flags ask for, with connections of its own as long as the block lasts.

    Raises:
        ConfigError: their times can't work together.
    """
    election = options.election
    namespace = election.leader_elect_resource_namespace or config.namespace
    with closing(Clientset(config_for_lock(config, renew_deadline=election.leader_elect_renew_deadline))) as leases:
        if options.shard_count:
            yield Sharing(leases, namespace, options)
        else:
            lock = LeaseLock(leases, namespace, election.leader_elect_resource_name, new_identity(), recorder=recorder)
            yield _leading(lock, election)


def _leading(lock: Lock, options: ElectionOptions) -> Leading:
    try:
        return Leading(
            lock,
            lease_duration=options.leader_elect_lease_duration,
            renew_deadline=options.leader_elect_renew_deadline,
            retry_period=options.leader_elect_retry_period,
            name=options.leader_elect_resource_name,
        )
    except ValueError as error:
        raise ConfigError(f"the --leader-elect-... times can't work together: {error}") from error
