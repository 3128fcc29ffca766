"""Coordination of a program's replicas: a single replica, one elected leader, or objects shared among all of them.

    with coordinator_for(LeaderElectionOptions(id="foo-controller"), config, recorder=recorder) as coordinator:
        writer = FencedRequester(client, coordinator.may_write)
        coordinator.run(work, stop)

The controller asks its `Coordinator` the same questions in each case; only the options differ.
"""

from clientgo.coordination.coordinator import Coordinator, Work
from clientgo.coordination.factory import coordinator_for
from clientgo.coordination.options import (
    LeaderElectionOptions,
    ShardingOptions,
    coordination_options,
    leader_election_options,
)

__all__ = [
    "Coordinator", "Work", "coordinator_for",
    "LeaderElectionOptions", "ShardingOptions", "coordination_options", "leader_election_options",
]  # fmt: skip
