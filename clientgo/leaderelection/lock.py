"""Where the record is kept: a Lease object, written as client-go writes it, so that both can stand for one lease.

Only leases are left of client-go's lock kinds; whoever still locks on Endpoints or ConfigMaps has to migrate there
first. What decides between two who write at once is the object's resourceVersion, and nothing else.
"""

import socket
import uuid
from collections.abc import Mapping
from copy import copy
from dataclasses import replace as replace_config
from typing import Protocol

from clientgo.errors import ClientGoError
from clientgo.kubernetes.clients.coordination_v1 import CoordinationV1
from clientgo.kubernetes.types.coordination_v1 import Lease
from clientgo.leaderelection.record import LeaderElectionRecord
from clientgo.meta.codec import replace
from clientgo.meta.names import ObjectName
from clientgo.meta.objects import EMPTY_MAP, ObjectMeta
from clientgo.rest.client import default_user_agent
from clientgo.rest.config import Config
from clientgo.rest.request import Requester
from clientgo.typed.clientset import BaseClientset


class LeaseNotRead(ClientGoError):
    """The lease can't be updated before it was read or created: only then is it known what would be replaced."""


class Lock(Protocol):
    """Keeps one record for all candidates. `get`, `create` and `update` raise `ApiError` and `ConnectionFailed`."""

    @property
    def identity(self) -> str:
        """Who this candidate is; no two candidates are the same."""

    def get(self) -> LeaderElectionRecord:
        """The record as it is; `NotFound` if there is none."""

    def create(self, record: LeaderElectionRecord) -> None:
        """Keep the first record; `AlreadyExists` if there is one."""

    def update(self, record: LeaderElectionRecord) -> None:
        """Replace the record as it was last read or written; `Conflict` if another changed it since."""

    def record_event(self, message: str) -> None:
        """Let people see that something happened to this candidate; never waits."""

    def describe(self) -> str:
        """What the lock is called in logs."""

    def fork(self) -> "Lock":
        """Another for the same candidate and lease that has read what this one has; what one does, the other forgets.

        Calls that may be given up are made by one of these, so that their late ends go unnoticed.
        """


class LeaseEventRecorder(Protocol):
    """Event recorder, as far as a lock needs it; `clientgo.record.EventRecorder` has this method."""

    def event(self, obj: object, event_type: str, reason: str, message: str) -> None:
        """Record that `reason` happened to `obj`."""


class LeaseLock:
    """The lock that is the Lease `namespace/name`. Implements `Lock`.

    `labels` are set on the lease with every write; others that it has stay. Without a `recorder` no events are made.
    """

    def __init__(
        self,
        target: BaseClientset | Requester,
        namespace: str,
        name: str,
        identity: str,
        *,
        labels: Mapping[str, str] = EMPTY_MAP,
        recorder: LeaseEventRecorder | None = None,
    ) -> None:
        requester = target.requester if isinstance(target, BaseClientset) else target
        self._leases = CoordinationV1(requester).leases(namespace)
        self._name = ObjectName(namespace, name)
        self._identity = identity
        self._labels = labels
        self._recorder = recorder
        # The lease as last read or written. What is decided upon is decided upon this one, so nothing else may set it:
        # were it newer than what was read, the next update would replace another's record, and not be a Conflict.
        self._lease: Lease | None = None

    def __repr__(self) -> str:
        return f"<LeaseLock {self.describe()} for {self._identity}>"

    @property
    def identity(self) -> str:
        """Who this candidate is."""
        return self._identity

    def get(self) -> LeaderElectionRecord:
        """The lease's record as the server has it; raises `NotFound`, other `ApiError`s and `ConnectionFailed`."""
        lease = self._leases.get(self._name.name)
        self._lease = lease
        return LeaderElectionRecord.from_spec(lease.spec)

    def create(self, record: LeaderElectionRecord) -> None:
        """Create the lease; raises `AlreadyExists`, other `ApiError`s and `ConnectionFailed`."""
        meta = ObjectMeta(name=self._name.name, namespace=self._name.namespace, labels=self._labels)
        self._lease = self._leases.create(Lease(metadata=meta, spec=record.to_spec()))

    def update(self, record: LeaderElectionRecord) -> None:
        """Replace the record in the lease as it was last read or written.

        Raises:
            LeaseNotRead: it was neither read nor created yet.
            Conflict: another has changed it since.
            ApiError, ConnectionFailed: as with every write.
        """
        lease = self._lease
        if lease is None:
            raise LeaseNotRead(f"lease {self.describe()} can't be updated: get or create it first")
        meta = lease.metadata
        if self._labels:
            meta = replace(meta, labels={**meta.labels, **self._labels})
        self._lease = self._leases.update(replace(lease, metadata=meta, spec=record.to_spec()))

    def record_event(self, message: str) -> None:
        """Record `<identity> <message>` on the lease, if there is a recorder."""
        if self._recorder is None:
            return
        meta = ObjectMeta(name=self._name.name, namespace=self._name.namespace)
        lease = self._lease if self._lease is not None else Lease(metadata=meta)
        self._recorder.event(lease, "Normal", "LeaderElection", f"{self._identity} {message}")

    def describe(self) -> str:
        """`namespace/name`."""
        return str(self._name)

    def fork(self) -> "LeaseLock":
        """Another that has read the same lease."""
        return copy(self)


def new_identity() -> str:
    """A name no other candidate has: this host's, for people, and a random part, because hosts may run two."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


def request_timeout(renew_deadline: float) -> float:
    """Seconds one request may take: half the deadline (at least 1), so that a dead connection leaves a second try."""
    return max(1.0, renew_deadline / 2)


def config_for_lock(config: Config, *, renew_deadline: float = 10.0) -> Config:
    """`config` for connections of the lock's own, which the rest of the program can't keep busy.

    Requests end within `request_timeout(renew_deadline)` seconds; the server's logs tell them by their user agent.
    """
    return replace_config(
        config,
        timeout=request_timeout(renew_deadline),
        user_agent=f"{config.user_agent or default_user_agent()}/leader-election",
    )
