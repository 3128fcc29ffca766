"""Several replicas share the objects of one controller: each object is worked on by exactly one of them at a time.

    shards = Shards(clientset, namespace="default", lease_prefix="sample-controller", count=3, on_change=enqueue_all)
    group.start(shards.run, stop, name="shards")
    ...
    with shards.owning(foo.metadata.uid) as mine:
        if mine:
            sync(foo)

Members are known by their leases, as leaders are; an object goes to the member that wins its lottery (rendezvous
hashing of its uid). A member that dies is followed within one lease duration, and its objects alone move.
"""

from clientgo.sharding.shards import NotRenewed, Shards

__all__ = ["Shards", "NotRenewed"]
