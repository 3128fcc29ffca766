"""What a member counts."""

from clientgo.metrics import provider


class ShardingMetrics:
    """How many share the work, which part is this process', how often parts moved; by the provider of its making."""

    def __init__(self, name: str) -> None:
        labels = {"name": name}
        self._members = provider().gauge(
            "sharding_members", "Replicas that share the work, as this one sees it", labels
        )
        self._slot = provider().gauge("sharding_slot", "Number of the slot this process holds, -1 for none", labels)
        self._moves = provider().counter(
            "sharding_moves_total", "Times that keys came to this process, or may have gone from it", labels
        )
        self.stand(slot=-1, members=0)

    def stand(self, *, slot: int, members: int) -> None:
        """How things stand."""
        self._slot.set(float(slot))
        self._members.set(float(members))

    def moved(self) -> None:
        """What this process owns has changed."""
        self._moves.inc()
